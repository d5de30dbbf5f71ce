"""What a check of a service says: one finding for every rule that was asked, and a report that cannot pass empty."""

from enum import StrEnum

from msgspec import Struct


class Severity(StrEnum):
    """An ERROR fails the profile; a WARNING is for the operator to read."""

    ERROR = "error"
    WARNING = "warning"


class Fetched(Struct, frozen=True, kw_only=True):
    """A response as it came."""

    status: int
    content: bytes


class Finding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one rule found; `where` is the document, and the JSON pointer in it where there is one."""

    rule: str
    passed: bool
    severity: Severity
    where: str
    message: str


class Report(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every rule of a profile that was asked, in order; a warning does not fail a service."""

    profile: str
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Nothing asked is nothing shown: an empty report has not passed."""
        return bool(self.findings) and not self.failures

    @property
    def failures(self) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if not one.passed and one.severity is Severity.ERROR)


def outcome(holds: bool, rule: str, where: str, message: str) -> Finding:  # noqa: FBT001  a condition, read as a sentence
    return yes(rule, where, "holds") if holds else no(rule, where, message)


def yes(rule: str, where: str, message: str) -> Finding:
    return Finding(rule=rule, passed=True, severity=Severity.ERROR, where=where, message=message)


def no(rule: str, where: str, message: str, *, severity: Severity = Severity.ERROR) -> Finding:
    return Finding(rule=rule, passed=False, severity=severity, where=where, message=message)
