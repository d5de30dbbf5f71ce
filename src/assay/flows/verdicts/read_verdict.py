"""Verdict entries, read back: from the proven text alone.

entry -> envelope, body, ruling -> what may be served: a held verdict has none
"""

from collections.abc import Mapping

from msgspec import Struct

from assay.flows.errors import NotFoundError
from assay.flows.verdicts.verdict_row import ForgedRowError, JudgedEntry, vouch_row
from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.ledger_store import StoredEntry
from assay.ports.verdict_store import VerdictRow
from assay.verdicts.envelope import Envelope, Verdict
from assay.verdicts.govern import Overall, Ruling, Standing, strictest


class RuleVerdict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one rule came to. While it is held there is no verdict and no envelope to serve, only the ticket."""

    rule_id: str
    tier: str
    standing: Standing
    verdict: Verdict | None
    reason: str
    sequence_number: int
    entry_hash: Digest
    recorded_at: Instant
    ticket_id: str | None = None
    envelope: Envelope | None = None


class Decided(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record and its verdicts, one for each rule; `is_new` is false where they were recorded before."""

    telemetry_id: str
    telemetry_hash: Digest
    subject: str
    as_of: Instant
    overall: Overall
    verdicts: tuple[RuleVerdict, ...]
    is_new: bool = False


def decided_of(unit: Unit, tenant_id: TenantId, telemetry_id: str, *, is_new: bool = False) -> Decided:
    """What is on record for a telemetry id; what settled a held verdict stands in its place.

    Rows are believed as far as their entries say the same: one that does not is `verdict.row_differs`.
    """
    known = unit.telemetry.find_known(tenant_id, telemetry_id)
    if known is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no verdict on `{ascii(telemetry_id)[1:-1][:80]}`")
    rows = unit.verdicts.of_telemetry(tenant_id, telemetry_id)
    judged = [vouch_row(unit, tenant_id, row) for row in rows]
    if not judged or (judged[0].telemetry_hash, rows[0].sequence_number) != (
        known.telemetry_hash,
        known.sequence_number,
    ):
        raise ForgedRowError(
            f"expected a verdict on `{ascii(telemetry_id)[1:-1][:80]}` in entry {known.sequence_number}"
        )
    settled = {row.held_entry for row in rows}
    standing = [pair for pair in zip(rows, judged, strict=True) if pair[0].sequence_number not in settled]
    return Decided(
        telemetry_id=known.telemetry_id,
        telemetry_hash=known.telemetry_hash,
        subject=rows[0].subject,
        as_of=rows[0].as_of,
        overall=strictest(one.ruling for _, one in standing),
        verdicts=tuple(_rule_verdict(row, one) for row, one in standing),
        is_new=is_new,
    )


def read_verdict_row(
    unit: Unit, tenant_id: TenantId, row: VerdictRow, entries: Mapping[int, StoredEntry] | None = None
) -> tuple[Ruling, RuleVerdict]:
    """What one row stands for, from its entry; a held one has neither verdict nor envelope."""
    judged = vouch_row(unit, tenant_id, row, entries)
    return judged.ruling, _rule_verdict(row, judged)


def _rule_verdict(row: VerdictRow, judged: JudgedEntry) -> RuleVerdict:
    """A verdict of the second runtime has no envelope."""
    ruling = judged.ruling
    is_held = ruling.standing is Standing.HELD
    return RuleVerdict(
        rule_id=row.rule_id,
        tier=ruling.tier,
        standing=ruling.standing,
        verdict=None if is_held else ruling.verdict,
        reason=ruling.reason,
        sequence_number=row.sequence_number,
        entry_hash=judged.entry_hash,
        recorded_at=judged.entry.timestamp,
        ticket_id=row.ticket_id,
        envelope=None if is_held or judged.read is None else judged.read.envelope,
    )
