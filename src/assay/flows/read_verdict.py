"""Verdict entries, read back: from the proven text alone.

entry -> envelope, body, ruling -> what may be served: a held verdict has none
"""

from typing import Any

import msgspec
from msgspec import Struct

from assay.flows.errors import NotFoundError
from assay.kernel.digest import Digest, digest_of
from assay.kernel.entry import Entry, parse_entry
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.verdict_store import VerdictRow
from assay.verdicts.envelope import Envelope, Verdict
from assay.verdicts.govern import Overall, Ruling, Standing, strictest
from assay.verdicts.graph.node import RiskTier
from assay.verdicts.predicate import Judgement
from assay.verdicts.window import WindowFact

__all__ = [
    "V2_PATH",
    "Decided",
    "ReadBody",
    "ReadEntry",
    "RuleVerdict",
    "decided_of",
    "get_verdict_entry",
    "read_entry",
    "read_verdict_row",
]

# In the column `path` of a row whose verdict the second runtime reached.
V2_PATH = "v2"


class ReadBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`VerdictBody` as it is read back."""

    telemetry: dict[str, Any]
    subject: str
    is_mapped: bool
    ruling: Ruling
    judgements: tuple[Judgement, ...]
    window_facts: tuple[WindowFact, ...] = ()
    held_entry: str | None = None


class ReadEntry(Struct, frozen=True, kw_only=True):
    """A verdict entry with its parts parsed."""

    entry: Entry
    entry_hash: Digest
    envelope: Envelope
    body: ReadBody


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
    """What is on record for a telemetry id; what settled a held verdict stands in its place."""
    known = unit.telemetry.find_known(tenant_id, telemetry_id)
    if known is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no verdict on `{ascii(telemetry_id)[1:81]}`")
    rows = unit.verdicts.of_telemetry(tenant_id, telemetry_id)
    settled = {row.held_entry for row in rows}
    standing = [row for row in rows if row.sequence_number not in settled]
    read = [read_verdict_row(unit, tenant_id, row) for row in standing]
    return Decided(
        telemetry_id=known.telemetry_id,
        telemetry_hash=known.telemetry_hash,
        subject=known.subject,
        as_of=known.as_of,
        overall=strictest(ruling for ruling, _ in read),
        verdicts=tuple(verdict for _, verdict in read),
        is_new=is_new,
    )


def read_verdict_row(unit: Unit, tenant_id: TenantId, row: VerdictRow) -> tuple[Ruling, RuleVerdict]:
    """What one row stands for, from its entry; a held one has neither verdict nor envelope."""
    if row.path == V2_PATH:
        return _read_v2_row(unit, tenant_id, row)
    read = get_verdict_entry(unit, tenant_id, row.sequence_number)
    return read.body.ruling, _rule_verdict(row, read)


def _read_v2_row(unit: Unit, tenant_id: TenantId, row: VerdictRow) -> tuple[Ruling, RuleVerdict]:
    """A verdict of the second runtime has no envelope: no model was asked."""
    stored = unit.ledger.find_entry(tenant_id, row.sequence_number)
    if stored is None or digest_of(stored.text) != stored.entry_hash:
        raise DamagedRecordError(f"expected a verdict in entry {row.sequence_number}, got none that can be believed")
    verdict, reason = Verdict(row.verdict), "runtime v2: the rules alone"
    ruling = Ruling(
        standing=Standing.FINAL, verdict=verdict, model_verdict=verdict, tier=RiskTier(row.tier), reason=reason
    )
    return ruling, RuleVerdict(
        rule_id=row.rule_id,
        tier=row.tier,
        standing=Standing.FINAL,
        verdict=verdict,
        reason=reason,
        sequence_number=row.sequence_number,
        entry_hash=Digest(stored.entry_hash),
        recorded_at=row.recorded_at,
    )


def get_verdict_entry(unit: Unit, tenant_id: TenantId, sequence_number: int) -> ReadEntry:
    row = unit.ledger.find_entry(tenant_id, sequence_number)
    if row is None or row.llm_transcript is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no verdict in entry {sequence_number}")
    if digest_of(row.text) != row.entry_hash:
        raise DamagedRecordError(f"expected entry {sequence_number} to hash to {row.entry_hash}, got another text")
    return read_entry(row.text)


def read_entry(text: bytes) -> ReadEntry:
    """Strictly: what is not exactly a verdict entry of ours is damaged."""
    entry = parse_entry(text)
    try:
        envelope = msgspec.json.decode(entry.llm_transcript, type=Envelope)
        body = msgspec.json.decode(entry.body, type=ReadBody)
    except msgspec.MsgspecError as error:
        raise DamagedRecordError(f"expected a verdict in entry {entry.sequence_number}: {error}") from error
    return ReadEntry(entry=entry, entry_hash=digest_of(text), envelope=envelope, body=body)


def _rule_verdict(row: VerdictRow, read: ReadEntry) -> RuleVerdict:
    ruling = read.body.ruling
    is_held = ruling.standing is Standing.HELD
    return RuleVerdict(
        rule_id=row.rule_id,
        tier=ruling.tier,
        standing=ruling.standing,
        verdict=None if is_held else ruling.verdict,
        reason=ruling.reason,
        sequence_number=row.sequence_number,
        entry_hash=read.entry_hash,
        recorded_at=read.entry.timestamp,
        ticket_id=row.ticket_id,
        envelope=None if is_held else read.envelope,
    )
