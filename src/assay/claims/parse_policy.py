"""A policy of the gates from its YAML text: everything wrong with it is told at once.

text -> plain values -> members -> what must fit together -> ClaimsPolicy
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from msgspec import Struct

from assay.claims._read import Members, Reader
from assay.claims._yaml_text import read_yaml
from assay.claims.bundle import ClaimType, Recommendation, UncertaintyMethod
from assay.claims.errors import ClaimsPolicyError
from assay.claims.passage import SupportResult
from assay.claims.policy import (
    DEFER_SHARE,
    LEAST_CONFIDENCE,
    STATEMENT,
    ApprovalNeed,
    ApprovalPolicy,
    ClaimsPolicy,
    EvidencePolicy,
    MethodThresholds,
    Mode,
    Rate,
    SupportRule,
    Thresholds,
    TierNeeds,
    UncertaintyPolicy,
)
from assay.claims.problem import ClaimProblem, ClaimProblemCode
from assay.identity.problem import NAME_FORM, shortened
from assay.identity.risk import RiskTier

_NAME = 128
_QUESTION = 2000
_MAX_LIST = 1000
_LEAST_SHARE = 0.01
_YEARS = 100 * 366 * 86_400
_ALWAYS_HUMAN = (RiskTier.DELETE, RiskTier.PRIVILEGE)


class PolicyFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The policy is there exactly when there are no problems."""

    policy: ClaimsPolicy | None
    problems: tuple[ClaimProblem, ...]


def parse_policy(text: str) -> ClaimsPolicy:
    """The policy, or a `ClaimsPolicyError` with every problem in it."""
    finding = check_policy(text)
    if finding.policy is None:
        raise ClaimsPolicyError(finding.problems)
    return finding.policy


def check_policy(text: str) -> PolicyFinding:
    """As `parse_policy`, with problems as values."""
    reader = Reader()
    value = read_yaml(reader, text)
    policy = _read_policy(reader, value) if not reader.problems else None
    problems = tuple(sorted(reader.problems, key=lambda problem: (problem.pointer, problem.code)))
    return PolicyFinding(policy=None if problems else policy, problems=problems)


def _read_policy(reader: Reader, value: object) -> ClaimsPolicy | None:
    members = reader.members(value, "", ClaimsPolicy.__struct_fields__)
    if members is None:
        return None
    fields: dict[str, Any] = {
        "id": members.text("id", longest=_NAME),
        "version": members.text("version", longest=_NAME),
    }
    if members.has("mode"):
        fields["mode"] = members.choice("mode", Mode)
    if members.has("threat_above"):
        fields["threat_above"] = members.number("threat_above")
    blocks = {
        "evidence": _read_evidence,
        "uncertainty": _read_uncertainty,
        "rate": _read_rate,
        "approvals": _read_approvals,
    }
    for name, read in blocks.items():
        if members.has(name):
            fields[name] = read(reader, members.raw(name), members.at(name))
    return None if reader.problems else ClaimsPolicy(**fields)


def _read_evidence(reader: Reader, value: object, pointer: str) -> EvidencePolicy | None:
    members = reader.members(value, pointer, EvidencePolicy.__struct_fields__)
    if members is None:
        return None
    fields: dict[str, Any] = {}
    if members.has("least_confidence"):
        fields["least_confidence"] = members.number("least_confidence", low=LEAST_CONFIDENCE)
    if members.has("max_age_seconds") and members.raw("max_age_seconds") is not None:
        fields["max_age_seconds"] = members.whole("max_age_seconds", low=1, high=_YEARS)
    for name in ("allow", "deny"):
        if members.has(name):
            fields[name] = members.items(name, _read_pattern, most=_MAX_LIST)
    if members.has("require_content"):
        fields["require_content"] = members.flag("require_content")
    if members.has("support"):
        fields["support"] = members.items("support", _read_support, most=_MAX_LIST)
    return None if None in fields.values() else EvidencePolicy(**fields)


def _read_support(reader: Reader, value: object, pointer: str) -> SupportRule | None:
    members = reader.members(value, pointer, SupportRule.__struct_fields__)
    if members is None:
        return None
    before = len(reader.problems)
    fields: dict[str, Any] = {
        "result": members.choice("result", SupportResult),
        "recommendation": members.choice("recommendation", Recommendation),
    }
    for name, kind in (("claim_types", ClaimType), ("tiers", RiskTier)):
        if members.has(name):
            fields[name] = members.items(name, _choice_of(kind), most=_NAME)
    return SupportRule(**fields) if len(reader.problems) == before else None


def _choice_of(kind: type[StrEnum]) -> Callable[[Reader, object, str], StrEnum | None]:
    def read(reader: Reader, value: object, pointer: str) -> StrEnum | None:
        found = {str(one): one for one in kind}.get(value) if isinstance(value, str) else None
        if found is None:
            message = f"expected one of {', '.join(kind)}, got `{shortened(value)}`"
            reader.tell(pointer, ClaimProblemCode.CHOICE, message)
        return found

    return read


def _read_pattern(reader: Reader, value: object, pointer: str) -> str | None:
    if isinstance(value, str) and value.strip(" *") and value not in ("host:", "host:*"):
        return value
    message = f"expected `host:NAME`, a source, or a beginning of one and `*`, got `{shortened(value)}`"
    reader.tell(pointer, ClaimProblemCode.FORM, message)
    return None


def _read_uncertainty(reader: Reader, value: object, pointer: str) -> UncertaintyPolicy | None:
    members = reader.members(value, pointer, UncertaintyPolicy.__struct_fields__)
    if members is None:
        return None
    fields: dict[str, Any] = {}
    if members.has("thresholds"):
        fields["thresholds"] = _read_thresholds(reader, members.raw("thresholds"), members.at("thresholds"))
    if members.has("by_method"):
        fields["by_method"] = _read_by_method(reader, members)
    if members.has("require_computed"):
        fields["require_computed"] = members.flag("require_computed")
    if members.has("question"):
        fields["question"] = _read_question(reader, members)
    if members.has("defer_share"):
        fields["defer_share"] = members.number("defer_share", low=_LEAST_SHARE, high=DEFER_SHARE)
    return None if None in fields.values() else UncertaintyPolicy(**fields)


def _read_question(reader: Reader, members: Members) -> str | None:
    question = members.text("question", longest=_QUESTION)
    if question is None or STATEMENT in question:
        return question
    message = f"expected a question with `{STATEMENT}` in it, got `{shortened(question)}`"
    reader.tell(members.at("question"), ClaimProblemCode.FORM, message)
    return None


def _read_by_method(reader: Reader, members: Members) -> tuple[MethodThresholds, ...] | None:
    inner = reader.members(members.raw("by_method"), members.at("by_method"), UncertaintyMethod)
    if inner is None:
        return None
    found = {
        method: _read_thresholds(reader, inner.raw(method), inner.at(method))
        for method in UncertaintyMethod
        if inner.has(method)
    }
    whole = ((method, thresholds) for method, thresholds in found.items() if thresholds is not None)
    return tuple(MethodThresholds(method=method, thresholds=thresholds) for method, thresholds in whole)


def _read_thresholds(reader: Reader, value: object, pointer: str) -> Thresholds | None:
    members = reader.members(value, pointer, Thresholds.__struct_fields__)
    if members is None:
        return None
    explain, defer = members.number("explain_above"), members.number("defer_above")
    if explain is None or defer is None:
        return None
    if explain > defer:
        message = f"expected explain_above <= defer_above, got {explain:g} and {defer:g}"
        reader.tell(pointer, ClaimProblemCode.ORDER, message)
        return None
    return Thresholds(explain_above=explain, defer_above=defer)


def _read_rate(reader: Reader, value: object, pointer: str) -> Rate | None:
    members = reader.members(value, pointer, Rate.__struct_fields__)
    if members is None:
        return None
    bundles = members.whole("bundles", low=1, high=10**9)
    seconds = members.whole("window_seconds", low=1, high=_YEARS)
    return None if bundles is None or seconds is None else Rate(bundles=bundles, window_seconds=seconds)


def _read_approvals(reader: Reader, value: object, pointer: str) -> ApprovalPolicy | None:
    members = reader.members(value, pointer, ApprovalPolicy.__struct_fields__)
    if members is None:
        return None
    fields: dict[str, Any] = {}
    if members.has("by_tier"):
        fields["by_tier"] = _read_by_tier(reader, members)
    if members.has("valid_for_seconds"):
        fields["valid_for_seconds"] = members.whole("valid_for_seconds", low=1, high=_YEARS)
    if members.has("distinct_people"):
        fields["distinct_people"] = members.flag("distinct_people")
    return None if None in fields.values() else ApprovalPolicy(**fields)


def _read_by_tier(reader: Reader, members: Members) -> tuple[TierNeeds, ...] | None:
    inner = reader.members(members.raw("by_tier"), members.at("by_tier"), RiskTier)
    if inner is None:
        return None
    found = {tier: inner.items(tier, _read_need, most=_NAME) for tier in RiskTier if inner.has(tier)}
    for tier in _ALWAYS_HUMAN:
        if not found.get(tier, ()):
            message = f"expected at least one role, since {tier} requires people, got none"
            reader.tell(inner.at(tier), ClaimProblemCode.REQUIRED, message)
    return tuple(TierNeeds(tier=tier, needs=needs) for tier, needs in found.items() if needs)


def _read_need(reader: Reader, value: object, pointer: str) -> ApprovalNeed | None:
    members = reader.members(value, pointer, ApprovalNeed.__struct_fields__)
    if members is None:
        return None
    role = members.text("role", longest=_NAME)
    people = members.whole("people", low=1, high=_NAME) if members.has("people") else 1
    if role is None or people is None:
        return None
    if NAME_FORM.fullmatch(role) is None:
        reader.tell(members.at("role"), ClaimProblemCode.FORM, f"expected a name of a role, got `{shortened(role)}`")
        return None
    return ApprovalNeed(role=role, people=people)
