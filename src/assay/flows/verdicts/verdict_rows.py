"""Verdict entries as they are read back, and the rows that must be what their entries say.

entry -> envelope, body, ruling -> the row that it must have;  row | its entry -> what it says, or `verdict.row_differs`
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET, MsgspecError, Raw, Struct, UnsetType, json
from msgspec.structs import replace

from assay.flows.errors import NotFoundError
from assay.kernel.digest import Digest, digest_of
from assay.kernel.entry import Entry, parse_entry
from assay.kernel.errors import JsonError
from assay.kernel.ids import TenantId
from assay.kernel.instant import parse_foreign_instant
from assay.kernel.ledger import EntryKind
from assay.kernel.read_back import read_back
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.ledger_store import StoredEntry
from assay.ports.telemetry_store import KnownTelemetry
from assay.ports.verdict_store import VerdictRow
from assay.verdicts.envelope import Envelope, Verdict, VerifierStatus
from assay.verdicts.govern import Ruling, Standing
from assay.verdicts.graph.node import RiskTier
from assay.verdicts.predicate import Judgement
from assay.verdicts.rulings import Rulings
from assay.verdicts.slice import PlaceDoubt
from assay.verdicts.window_fact import WindowFact


class V2Body(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `verdict.v2` entry: no transcript, no provenance, no verifier result (SKI 8.3)."""

    telemetry: dict[str, Any]
    telemetry_id: str
    telemetry_hash: Digest
    subject: str
    rule_id: str
    content_hash: Digest
    kg_version_hash: Digest
    verdict: Verdict
    judgements: tuple[Judgement, ...]
    window_facts: tuple[WindowFact, ...] = ()


def read_v2_entry(text: bytes) -> tuple[Entry, V2Body]:
    """Strictly: what is not exactly such an entry of ours is damaged."""
    entry = parse_entry(text)
    try:
        return entry, read_back(entry.body, V2Body)
    except (JsonError, msgspec.MsgspecError) as error:
        raise DamagedRecordError(f"expected a verdict in entry {entry.sequence_number}: {error}") from error


class ReadBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`VerdictBody` as it is read back."""

    telemetry: dict[str, Any]
    subject: str
    is_mapped: bool
    ruling: Ruling
    judgements: tuple[Judgement, ...]
    window_facts: tuple[WindowFact, ...] = ()
    held_entry: str | None = None
    rulings: Rulings | UnsetType = UNSET
    doubt: PlaceDoubt | UnsetType = UNSET

    @property
    def judged_by(self) -> Rulings:
        """An entry that names no rulings was judged by the first."""
        return Rulings.FIRST if self.rulings is UNSET else self.rulings


class ReadEntry(Struct, frozen=True, kw_only=True):
    """A verdict entry with its parts parsed."""

    entry: Entry
    entry_hash: Digest
    envelope: Envelope
    body: ReadBody


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
        envelope = read_back(entry.llm_transcript, Envelope)
        body = read_back(entry.body, ReadBody)
    except (JsonError, msgspec.MsgspecError) as error:
        raise DamagedRecordError(f"expected a verdict in entry {entry.sequence_number}: {error}") from error
    return ReadEntry(entry=entry, entry_hash=digest_of(text), envelope=envelope, body=body)


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
