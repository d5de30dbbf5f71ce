"""Rows of knowledge graphs, telemetry and verdicts, as a flow would add them beside their entries."""

from typing import Any

from msgspec.structs import replace

from assay.kernel.digest import digest_of
from assay.kernel.ids import KeyId, PrincipalId
from assay.kernel.instant import Instant
from assay.ports.graph_store import GraphActivation, GraphVersion
from assay.ports.telemetry_store import TelemetryDrop
from assay.ports.verdict_store import EgressNote, VerdictRow
from tests.contract._kit import AT

__all__ = ["activation", "drop", "judged", "note", "version"]

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


def note(number: int = 5, attempts: int = 2) -> EgressNote:
    return EgressNote(sequence_number=number, attempts=attempts, noted_at=AT)
