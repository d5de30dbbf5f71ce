"""Verdict entries: as they are prepared, written down with their question to a person, and read back.

judged -> drafts, with everything that costs time -> one unit of work for all rules of a record
row -> its proven entry -> envelope, body, ruling
"""

from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET, MsgspecError, Raw, Struct, UnsetType

from assay.facts.verdicts import TelemetryDropped, telemetry_dropped
from assay.flows.errors import NotFoundError
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest, digest_of
from assay.kernel.entry import Entry, parse_entry
from assay.kernel.errors import JsonError
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, instant_before
from assay.kernel.ledger import Draft, EntryKind, Event
from assay.kernel.read_back import read_back
from assay.kernel.transcript import Transcript
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.ledger_store import ProvenEntry, StoredEntry
from assay.review.ticket import Ticket
from assay.verdicts.docket import Docket
from assay.verdicts.envelope import Envelope, Verdict, VerdictPath, VerifierStatus
from assay.verdicts.govern import Ruling, Standing
from assay.verdicts.graph.node import RiskTier
from assay.verdicts.predicate import Judgement
from assay.verdicts.rulings import Rulings
from assay.verdicts.slice import PlaceDoubt
from assay.verdicts.telemetry import Telemetry
from assay.verdicts.window_fact import WindowFact

_V2_REASON = "runtime v2: the rules alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedVerdict:
    """One rule's verdict on its way. `pattern` is what makes it like others of a low rule, None for any other."""

    draft: Draft
    rule_id: str
    subject: str
    status: VerifierStatus
    path: VerdictPath | None
    ruling: Ruling
    transcript: Transcript
    pattern: Digest | None
    ticket: Ticket | None


def verdict_event(telemetry: Telemetry, docket: Docket, ruling: Ruling) -> Event:
    """A held verdict is announced as held, and never with what the model said."""
    kind = EntryKind.VERDICT_HELD if ruling.standing is Standing.HELD else EntryKind.VERDICT
    news = {
        "telemetry_id": telemetry.telemetry_id,
        "rule_id": docket.rule_id,
        "subject": telemetry.subject,
        "verdict": None if ruling.standing is Standing.HELD else ruling.verdict.value,
    }
    return Event(type=kind.value, subject=telemetry.telemetry_id, body=Raw(canonicalize(news)))


def drop_old(
    unit: Unit, tenant_id: TenantId, subject: str, keep_seconds: int, *, arrived: Instant, at: Instant
) -> None:
    """Drop records that are too old by the clock of the subject's newest; a drop is an entry of its own.

    `arrived` is the time of the record that was just recorded: one from before the last drop is dropped at once.
    """
    newest, dropped = unit.telemetry.newest(tenant_id, subject), unit.telemetry.dropped_until(tenant_id, subject)
    if newest is None:
        return
    rows = unit.telemetry.old(tenant_id, subject, until=instant_before(newest.as_of, keep_seconds))
    is_late = dropped is not None and arrived <= dropped
    times = [*(row.as_of for row in rows), *([arrived] if is_late else [])]
    if times:
        records = len({row.telemetry_id for row in rows}) + is_late
        body = TelemetryDropped(subject=subject, records=records, dropped_until=max(times))
        unit.record(telemetry_dropped(tenant_id, body, at=at))


class V2Body(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `verdict.v2` entry: no transcript, no provenance, no verifier result (SKI 8.3).

    Entries of 0.1.0 do not say the `tier`.
    """

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
    tier: RiskTier | UnsetType = UNSET


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
    ticket_id: str | UnsetType = UNSET
    settles: int | UnsetType = UNSET

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


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedEntry:
    """A verdict entry of either runtime; `read` is None for the second, `settles` the hash of a held entry."""

    entry: Entry
    entry_hash: Digest
    telemetry_id: str
    telemetry_hash: Digest
    telemetry: dict[str, Any]
    rule_id: str
    subject: str
    ruling: Ruling
    is_mapped: bool
    settles: str | None = None
    read: ReadEntry | None = None


def get_verdict_entry(unit: Unit, tenant_id: TenantId, sequence_number: int) -> ReadEntry:
    row = unit.ledger.find_entry(tenant_id, sequence_number)
    if row is None or row.llm_transcript is None:
        raise NotFoundError(f"tenant `{tenant_id}` has no verdict in entry {sequence_number}")
    if digest_of(row.text) != row.entry_hash:
        raise DamagedRecordError(f"expected entry {sequence_number} to hash to {row.entry_hash}, got another text")
    return read_entry(row.text)


def read_entry(text: bytes) -> ReadEntry:
    """Strictly: what is not exactly a verdict entry of ours is damaged."""
    return _read(ProvenEntry(parse_entry(text), digest_of(text)))


def read_v2_entry(text: bytes) -> tuple[Entry, V2Body]:
    """Strictly: what is not exactly such an entry of ours is damaged."""
    entry = parse_entry(text)
    return entry, _read_v2(entry)


def judged_entry(proven: ProvenEntry, *, tier: str = "") -> JudgedEntry:
    """Read an entry that is a verdict; `tier` is what the row of one of 0.1.0 under runtime 2 says."""
    if proven.entry.kind is EntryKind.VERDICT_V2:
        return _judged_v2(proven, tier)
    read = _read(proven)
    return JudgedEntry(
        entry=read.entry,
        entry_hash=read.entry_hash,
        telemetry_id=read.entry.telemetry_id or "",
        telemetry_hash=read.entry.telemetry_hash or Digest(""),
        telemetry=read.body.telemetry,
        rule_id=read.entry.rule_id or "",
        subject=read.body.subject,
        ruling=read.body.ruling,
        is_mapped=read.body.is_mapped,
        settles=read.body.held_entry,
        read=read,
    )


class _Carried(Struct, frozen=True):
    telemetry: Raw = Raw()


def find_judged(stored: StoredEntry) -> JudgedEntry | None:
    """None where an entry of a verdict's kind carries no record: it was not judged here, and has no rows."""
    if digest_of(stored.text) != stored.entry_hash:
        raise DamagedRecordError(f"expected entry {stored.sequence_number} to hash to {stored.entry_hash}, got another")
    entry = parse_entry(stored.text)
    try:
        carried = msgspec.json.decode(entry.body, type=_Carried)
    except MsgspecError as error:
        raise DamagedRecordError(f"entry {stored.sequence_number} cannot be read: {error}") from error
    return judged_entry(ProvenEntry(entry, Digest(stored.entry_hash))) if bytes(carried.telemetry) else None


def _read(proven: ProvenEntry) -> ReadEntry:
    entry = proven.entry
    try:
        envelope = read_back(entry.llm_transcript, Envelope)
        body = read_back(entry.body, ReadBody)
    except (JsonError, MsgspecError) as error:
        raise DamagedRecordError(f"expected a verdict in entry {entry.sequence_number}: {error}") from error
    return ReadEntry(entry=entry, entry_hash=proven.entry_hash, envelope=envelope, body=body)


def _read_v2(entry: Entry) -> V2Body:
    try:
        return read_back(entry.body, V2Body)
    except (JsonError, MsgspecError) as error:
        raise DamagedRecordError(f"expected a verdict in entry {entry.sequence_number}: {error}") from error


def _judged_v2(proven: ProvenEntry, tier: str) -> JudgedEntry:
    """A verdict of the second runtime has no envelope: no model was asked."""
    body = _read_v2(proven.entry)
    ruling = Ruling(
        standing=Standing.FINAL,
        verdict=body.verdict,
        model_verdict=body.verdict,
        tier=body.tier if body.tier is not UNSET else RiskTier(tier or RiskTier.HIGH),
        reason=_V2_REASON,
    )
    return JudgedEntry(
        entry=proven.entry,
        entry_hash=proven.entry_hash,
        telemetry_id=body.telemetry_id,
        telemetry_hash=body.telemetry_hash,
        telemetry=body.telemetry,
        rule_id=body.rule_id,
        subject=body.subject,
        ruling=ruling,
        is_mapped=body.verdict is not Verdict.NULL_UNMAPPED,
    )
