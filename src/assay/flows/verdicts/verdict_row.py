"""Rows that make verdicts quick to find, believed only where their entry says the same.

entry -> the row that it must have;   a row | its entry -> what it stands for, or `verdict.row_differs`
Whoever can write to the database can add a row; the entry is in a signed chain.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import MsgspecError, Raw, Struct, json
from msgspec.structs import replace

from assay.flows.verdicts.v2_entry import V2Body, read_v2_entry
from assay.flows.verdicts.verdict_text import ReadEntry, read_entry
from assay.kernel.digest import Digest, digest_of
from assay.kernel.entry import Entry, parse_entry
from assay.kernel.ids import TenantId
from assay.kernel.instant import parse_foreign_instant
from assay.kernel.ledger import EntryKind
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.ledger_store import StoredEntry
from assay.ports.telemetry_store import KnownTelemetry
from assay.ports.verdict_store import VerdictRow
from assay.verdicts.envelope import VerifierStatus
from assay.verdicts.govern import Ruling, Standing
from assay.verdicts.graph.node import RiskTier

# In the column `path` of a row whose verdict the second runtime reached.
V2_PATH = "v2"
_V2_REASON = "runtime v2: the rules alone"


class ForgedRowError(DamagedRecordError):
    """A row about verdicts is not what its entry in the ledger says: nothing is served by it."""

    code = "verdict.row_differs"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedEntry:
    """A verdict entry, and the row that it must have; `row.held_entry` and `row.ticket_id` are not in its text.

    `settles` is the hash of the held entry that it ends, `read` None for the second runtime.
    """

    entry: Entry
    entry_hash: Digest
    telemetry_hash: Digest
    telemetry: dict[str, Any]
    row: VerdictRow
    ruling: Ruling
    settles: str | None = None
    read: ReadEntry | None = None


def judged_entry(stored: StoredEntry, *, tier: str | None = None) -> JudgedEntry:
    """From the text alone; `tier` is what the row of a verdict of the second runtime says, whose entry has none."""
    if digest_of(stored.text) != stored.entry_hash:
        raise DamagedRecordError(f"expected entry {stored.sequence_number} to hash to {stored.entry_hash}, got another")
    if stored.kind == EntryKind.VERDICT_V2:
        return _judged_v2(stored, tier or RiskTier.HIGH.value)
    return _judged(read_entry(stored.text))


class _Carried(Struct, frozen=True):
    telemetry: Raw = Raw()


def find_judged(stored: StoredEntry) -> JudgedEntry | None:
    """None where an entry of a verdict's kind carries no record: it was not judged here, and has no rows."""
    try:
        carried = json.decode(parse_entry(stored.text).body, type=_Carried)
    except MsgspecError as error:
        raise DamagedRecordError(f"entry {stored.sequence_number} cannot be read: {error}") from error
    return judged_entry(stored) if bytes(carried.telemetry) else None


def vouch_row(
    unit: Unit, tenant_id: TenantId, row: VerdictRow, entries: Mapping[int, StoredEntry] | None = None
) -> JudgedEntry:
    """The entry that a row names, if the row is the one it must have; a list has read the `entries` of all its rows."""
    number = row.sequence_number
    stored = unit.ledger.find_entry(tenant_id, number) if entries is None else entries.get(number)
    if stored is None or stored.kind not in _KINDS:
        raise ForgedRowError(f"expected a verdict in entry {row.sequence_number}, got none")
    judged = judged_entry(stored, tier=row.tier)
    # A held verdict alone has a ticket, which the desk keeps; what a final one settles is found by its hash.
    ticket = row.ticket_id if judged.entry.kind is EntryKind.VERDICT_HELD else None
    expected = replace(judged.row, ticket_id=ticket, held_entry=row.held_entry)
    if row != expected or not _is_settled(unit, tenant_id, row.held_entry, judged.settles):
        raise ForgedRowError(f"expected the row of entry {row.sequence_number} as the entry says, got another")
    return judged


def find_known_record(unit: Unit, tenant_id: TenantId, telemetry_id: str) -> KnownTelemetry | None:
    """A record that was judged before; one that no verdict of it vouches for is refused, and not passed over."""
    known = unit.telemetry.find_known(tenant_id, telemetry_id)
    if known is not None:
        vouch_known(unit, tenant_id, known)
    return known


def vouch_known(unit: Unit, tenant_id: TenantId, known: KnownTelemetry) -> None:
    """Raise unless the entry that the row names is a verdict on that very record."""
    stored = unit.ledger.find_entry(tenant_id, known.sequence_number)
    if stored is None or stored.kind not in _KINDS or _named(stored) != (known.telemetry_id, known.telemetry_hash):
        raise ForgedRowError(
            f"expected a verdict on `{ascii(known.telemetry_id)[1:-1][:80]}` in entry {known.sequence_number}"
        )


_KINDS = frozenset(
    {EntryKind.VERDICT, EntryKind.VERDICT_HELD, EntryKind.VERDICT_FINAL, EntryKind.VERDICT_V2},
)


def _named(stored: StoredEntry) -> tuple[str | None, Digest | None]:
    if digest_of(stored.text) != stored.entry_hash:
        return None, None
    if stored.kind == EntryKind.VERDICT_V2:
        _, body = read_v2_entry(stored.text)
        return body.telemetry_id, body.telemetry_hash
    entry = parse_entry(stored.text)
    return entry.telemetry_id, entry.telemetry_hash


def _is_settled(unit: Unit, tenant_id: TenantId, number: int | None, settles: str | None) -> bool:
    if number is None or settles is None:
        return number is None and settles is None
    held = unit.ledger.find_entry(tenant_id, number)
    return held is not None and held.entry_hash == settles and held.kind == EntryKind.VERDICT_HELD


def _judged(read: ReadEntry) -> JudgedEntry:
    entry, envelope, ruling = read.entry, read.envelope, read.body.ruling
    token = envelope.human_attestation
    row = VerdictRow(
        sequence_number=entry.sequence_number,
        telemetry_id=entry.telemetry_id or "",
        rule_id=entry.rule_id or "",
        subject=read.body.subject,
        as_of=parse_foreign_instant(str(read.body.telemetry.get("timestamp"))),
        standing=ruling.standing.value,
        verdict=ruling.verdict.value,
        status=envelope.verifier_result.status.value,
        tier=ruling.tier.value,
        path=None if envelope.verdict_path is None else envelope.verdict_path.value,
        kg_version_hash=envelope.model_provenance.kg_version_hash,
        recorded_at=entry.timestamp,
        attestation=None if token is None else token.signature_hex,
    )
    return JudgedEntry(
        entry=entry,
        entry_hash=read.entry_hash,
        telemetry_hash=entry.telemetry_hash or Digest(""),
        telemetry=read.body.telemetry,
        row=row,
        ruling=ruling,
        settles=read.body.held_entry,
        read=read,
    )


def _judged_v2(stored: StoredEntry, tier: str) -> JudgedEntry:
    """A verdict of the second runtime has no envelope: no model was asked."""
    entry, body = read_v2_entry(stored.text)
    ruling = Ruling(
        standing=Standing.FINAL,
        verdict=body.verdict,
        model_verdict=body.verdict,
        tier=RiskTier(tier),
        reason=_V2_REASON,
    )
    return JudgedEntry(
        entry=entry,
        entry_hash=Digest(stored.entry_hash),
        telemetry_hash=body.telemetry_hash,
        telemetry=body.telemetry,
        row=_v2_row(entry, body, tier),
        ruling=ruling,
    )


def _v2_row(entry: Entry, body: V2Body, tier: str) -> VerdictRow:
    return VerdictRow(
        sequence_number=entry.sequence_number,
        telemetry_id=body.telemetry_id,
        rule_id=body.rule_id,
        subject=body.subject,
        as_of=parse_foreign_instant(str(body.telemetry.get("timestamp"))),
        standing=Standing.FINAL.value,
        verdict=body.verdict.value,
        status=VerifierStatus.UNVERIFIABLE.value,
        tier=tier,
        path=V2_PATH,
        kg_version_hash=body.kg_version_hash,
        recorded_at=entry.timestamp,
    )
