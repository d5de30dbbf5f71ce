"""Rows of knowledge graphs, telemetry and verdicts, as a flow would add them beside their entries."""

from typing import Any

from msgspec.structs import replace

from assay.kernel.digest import digest_of
from assay.kernel.ids import KeyId, PrincipalId
from assay.kernel.instant import Instant
from assay.ports.graph_store import GraphActivation, GraphVersion, RecordedReview, ReviewChoice
from assay.ports.telemetry_store import BufferedText, KnownTelemetry, TelemetryDrop
from assay.ports.verdict_store import CoveredSubject, StableRule, VerdictRow
from tests.contract._kit import AT

__all__ = ["activation", "buffered", "covered", "drop", "judged", "known", "review", "stable", "version"]

_KEY = KeyId("sha256:" + "ab" * 32)
_OPERATOR = PrincipalId("user:olga")


def version(text: str = '{"rules":[] }', *, number: int = 1, content: str = "a", signed: bool = True) -> GraphVersion:
    return GraphVersion(
        document_hash=digest_of(text.encode()),
        content_hash=digest_of(content.encode()),
        form="flat",
        signed_by=_KEY if signed else None,
        document=text,
        added_at=AT,
        by=_OPERATOR,
        sequence_number=number,
    )


def review(by: str = "user:rita", *, content: str = "a", ticket: str = "tkt_1", number: int = 2) -> RecordedReview:
    return RecordedReview(
        content_hash=digest_of(content.encode()),
        ticket_id=ticket,
        by=PrincipalId(by),
        choice=ReviewChoice.ACCEPT,
        note="read clause by clause: é",
        reviewed_at=AT,
        sequence_number=number,
    )


def activation(number: int = 3, *, downgrade_reason: str | None = None) -> GraphActivation:
    return GraphActivation(
        sequence_number=number,
        document_hash=version().document_hash,
        content_hash=version().content_hash,
        kg_version_hash=version().content_hash,
        mode="strict",
        reviewers=1,
        downgrade_reason=downgrade_reason,
        by=_OPERATOR,
        activated_at=AT,
    )


def known(name: str = "t-1", *, number: int = 4) -> KnownTelemetry:
    return KnownTelemetry(
        telemetry_id=name, telemetry_hash=digest_of(name.encode()), subject="stack", as_of=AT, sequence_number=number
    )


def buffered(name: str = "t-1", *, subject: str = "stack", at: Instant = AT) -> BufferedText:
    return BufferedText(subject=subject, as_of=at, telemetry_id=name, text='{"so2":1}')


def drop(number: int = 5, *, until: Instant = AT, subject: str = "stack") -> TelemetryDrop:
    return TelemetryDrop(subject=subject, dropped_until=until, records=2, dropped_at=AT, sequence_number=number)


def judged(number: int = 6, **changes: Any) -> VerdictRow:  # noqa: ANN401 - any field of a row
    row = VerdictRow(
        sequence_number=number,
        telemetry_id="t-1",
        rule_id="rule",
        subject="stack",
        as_of=AT,
        standing="final",
        verdict="CLEAR",
        status="AGREED",
        tier="low",
        path=None,
        kg_version_hash=digest_of(b"a"),
        recorded_at=AT,
    )
    return replace(row, **changes)


def covered(subject: str = "unknown", text: str = "{}") -> CoveredSubject:
    return CoveredSubject(subject=subject, text=text)


def stable(rule_id: str = "rule", count: int = 1) -> StableRule:
    return StableRule(rule_id=rule_id, pattern=digest_of(b"pattern"), count=count)
