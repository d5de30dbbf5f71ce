"""What records may know of those before them: from the database for new ones, from the entries alone for replays.

entries in order -> LedgerMemory: the records of each subject, what was dropped, how stable each rule was
rows of verdicts -> VerdictMemory of one round: of -> expect -> ... -> note
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import msgspec
from msgspec import Raw, Struct

from assay.flows.tools import Tools
from assay.flows.verdicts.reason import Memory
from assay.flows.verdicts.shelves import StabilityShelf
from assay.flows.verdicts.verdict_entry import JudgedEntry, PreparedVerdict, find_judged
from assay.kernel.digest import Digest
from assay.kernel.entry import Entry, parse_entry
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, instant_before
from assay.kernel.ledger import EntryKind
from assay.kernel.read_back import read_back
from assay.ports.database import Unit
from assay.ports.ledger_store import StoredEntry
from assay.ports.telemetry_store import BufferedEntry, BufferEnds
from assay.ports.verdict_store import V2_PATH, VerdictRow
from assay.verdicts.docket import UNRULED, Docket
from assay.verdicts.envelope import ModelProvenance, VerifierStatus
from assay.verdicts.fastpath import Stability, note_evaluation, recorded_pattern
from assay.verdicts.graph.node import RiskTier
from assay.verdicts.predicate import Judgement
from assay.verdicts.telemetry import Reading, Telemetry, parse_telemetry, recorded_readings
from assay.verdicts.window_fact import BufferedRecord, WindowKind, buffer_record

_JUDGED = frozenset({EntryKind.VERDICT, EntryKind.VERDICT_HELD, EntryKind.VERDICT_V2})


class _Drop(Struct, frozen=True):
    subject: str
    dropped_until: Instant


@dataclass(slots=True)
class LedgerMemory:
    """After the entries that were taken, in their order."""

    kept: dict[str, dict[str, BufferedRecord]] = field(default_factory=dict)
    dropped: dict[str, Instant] = field(default_factory=dict)
    stable: dict[str, Stability] = field(default_factory=dict)
    taken: int = 0
    _latest: str | None = None

    def take(self, row: StoredEntry) -> JudgedEntry | None:
        """The next entry; the answer is a verdict that opens a record or adds a rule to it, or None."""
        self.taken = row.sequence_number
        if row.kind == EntryKind.TELEMETRY_DROPPED:
            self._drop(msgspec.json.decode(parse_entry(row.text).body, type=_Drop))
            return None
        if row.kind not in _JUDGED:
            return None
        judged = find_judged(row)
        if judged is None:
            return None
        self._note_stability(judged)
        self._keep(judged)
        return judged

    def earlier(self, subject: str) -> tuple[BufferedRecord, ...]:
        return tuple(self.kept.get(subject, {}).values())

    def _drop(self, drop: _Drop) -> None:
        records = self.kept.get(drop.subject, {})
        self.kept[drop.subject] = {name: one for name, one in records.items() if one.timestamp > drop.dropped_until}
        before = self.dropped.get(drop.subject)
        self.dropped[drop.subject] = drop.dropped_until if before is None else max(before, drop.dropped_until)

    def _keep(self, judged: JudgedEntry) -> None:
        """Once for a record: all its verdicts are of one commit, with no other record's between them."""
        if judged.telemetry_id == self._latest:
            return
        self._latest = judged.telemetry_id
        record = buffer_record(parse_telemetry(judged.telemetry))
        self.kept.setdefault(judged.subject, {})[judged.telemetry_id] = record

    def _note_stability(self, judged: JudgedEntry) -> None:
        read, rule_id = judged.read, judged.rule_id
        if read is None or judged.ruling.tier is not RiskTier.LOW or rule_id == UNRULED:
            return
        envelope = read.envelope
        pattern = recorded_pattern(rule_id, read.body.judgements, envelope.model_provenance)
        status = envelope.verifier_result.status
        self.stable[rule_id] = note_evaluation(self.stable.get(rule_id), rule_id, pattern, status)


class _Carried(Struct, frozen=True):
    telemetry: Raw


class _Measurement(Struct, frozen=True):
    measurement: dict[str, object]


@lru_cache(maxsize=16384)
def _readings(telemetry: bytes) -> dict[str, Reading]:
    """The readings of a record, from its canonical text; windows look at the same records again and again."""
    return recorded_readings(read_back(telemetry, _Measurement).measurement)  # type: ignore[arg-type]  # JSON


def _buffered(kept: BufferedEntry) -> BufferedRecord:
    telemetry = msgspec.json.decode(kept.body, type=_Carried).telemetry
    return BufferedRecord(
        telemetry_id=kept.row.telemetry_id, timestamp=kept.row.as_of, readings=_readings(bytes(telemetry))
    )


# Verdicts of a rule that are read at once, back from the newest, to see for how long it was stable.
_AT_ONCE = 64


class _Found(Struct, frozen=True):
    judgements: tuple[Judgement, ...]


class _Provided(Struct, frozen=True):
    model_provenance: ModelProvenance


def find_stability(
    unit: Unit, shelf: StabilityShelf, tenant_id: TenantId, rule_id: str, *, enough: int, is_committed: bool
) -> Stability | None:
    """How stable a low rule has been, from the entries of its newest verdicts; None before its first.

    Not more than about `enough` of them are read, so the count may be too small where it is larger than that. What a
    committed state shows is remembered, and the next time only later verdicts are read.
    """
    through, known = shelf.find(tenant_id, rule_id)
    found: list[tuple[int, Digest, VerifierStatus]] = []
    before: int | None = None
    is_whole = False
    while not is_whole and len(found) < enough:
        rows = unit.verdicts.of_rule(tenant_id, rule_id, after=through, before=before, limit=_AT_ONCE)
        low = [row for row in rows if row.tier == RiskTier.LOW and row.path != V2_PATH]
        found += _evaluations(unit, tenant_id, rule_id, low)
        if any(one[1:] != (found[0][1], VerifierStatus.AGREED) for one in found):
            break
        is_whole, before = len(rows) < _AT_ONCE, rows[-1].sequence_number if rows else None
    stability = known if is_whole else None
    for _, pattern, status in reversed(found):
        stability = note_evaluation(stability, rule_id, pattern, status)
    if found and is_committed:
        shelf.put(tenant_id, rule_id, found[0][0], stability)
    return stability


def _evaluations(
    unit: Unit, tenant_id: TenantId, rule_id: str, rows: Sequence[VerdictRow]
) -> Iterable[tuple[int, Digest, VerifierStatus]]:
    entries = unit.verdicts.entries(tenant_id, [row.sequence_number for row in rows])
    for row, proven in zip(rows, entries, strict=True):
        yield row.sequence_number, _pattern(rule_id, proven.entry), VerifierStatus(row.status)


def _pattern(rule_id: str, entry: Entry) -> Digest:
    judgements = msgspec.json.decode(entry.body, type=_Found).judgements
    provenance = msgspec.json.decode(entry.llm_transcript, type=_Provided).model_provenance
    return recorded_pattern(rule_id, judgements, provenance)


# These look back until they find something, however long ago.
_UNBOUNDED = frozenset({WindowKind.AGE, WindowKind.RUN})


@dataclass(frozen=True, slots=True)
class Place:
    """A record's subject, by its id in the graph, with the rules that apply; `looks_back` where any rule of it may."""

    subject: str
    telemetry: Telemetry
    dockets: tuple[Docket, ...]
    looks_back: bool


@dataclass(slots=True)
class _Past:
    """A subject's records as far as windows of this round reach, and the ends of all that are kept."""

    earlier: list[BufferedRecord] = field(default_factory=list)
    ends: BufferEnds = field(default_factory=BufferEnds)
    is_dropping: bool = False

    def add(self, record: BufferedRecord, keep_seconds: int) -> None:
        self.earlier.append(record)
        # As the commit will find: when this one is on record, others are dropped.
        self.ends, self.is_dropping = ends_with(self.ends, record.timestamp, keep_seconds)


def ends_with(ends: BufferEnds, arrived: Instant, keep_seconds: int) -> tuple[BufferEnds, bool]:
    """The ends with one more record, and whether records have to be dropped then: too old ones, or one that is late."""
    oldest, newest, dropped = ends
    oldest, newest = min(oldest or arrived, arrived), max(newest or arrived, arrived)
    is_dropping = oldest <= instant_before(newest, keep_seconds) or (dropped is not None and arrived <= dropped)
    return BufferEnds(oldest, newest, dropped), is_dropping


class VerdictMemory:
    """For one round of one tenant, on the thread that judges it."""

    def __init__(self, tools: Tools, tenant_id: TenantId) -> None:
        self._tools = tools
        self._tenant_id = tenant_id
        self._pasts: dict[str, _Past] = {}
        self._statuses: list[VerifierStatus] = []
        self.stable: dict[str, Stability] = {}

    @classmethod
    def load(cls, tools: Tools, tenant_id: TenantId, places: Sequence[Place], *, may_be_fast: bool) -> "VerdictMemory":
        """Only what these rules need: earlier records where one looks back, counts where the fast path is open."""
        memory = cls(tools, tenant_id)
        low = _low_rules(places) if may_be_fast and tools.ski.fast_path_n > 0 else ()
        spans = _spans(places)
        if low or spans:
            tools.database.read(lambda unit: memory._look(unit, low, spans))
        return memory

    def _look(self, unit: Unit, low: Iterable[str], spans: Mapping[str, tuple[Instant | None, Instant]]) -> None:
        shelf, enough = self._tools.stability, max(self._tools.ski.fast_path_n, 1)
        known = [
            find_stability(unit, shelf, self._tenant_id, rule_id, enough=enough, is_committed=True) for rule_id in low
        ]
        self.stable = {one.rule_id: one for one in known if one is not None}
        ends = unit.telemetry.find_ends(self._tenant_id, spans) if spans else {}
        for subject, (since, until) in spans.items():
            kept, dropped = unit.telemetry.buffered(self._tenant_id, subject, since=since, until=until)
            past = _Past([_buffered(one) for one in kept], ends[subject]._replace(dropped_until=dropped))
            self._pasts[subject] = past

    def knows(self, place: Place) -> bool:
        """Whether what this record may know follows from what was looked up: not after a drop that is still to come."""
        past = self._pasts.get(place.subject)
        return past is None or not past.is_dropping

    def of(self, place: Place) -> Memory:
        past = self._pasts.get(place.subject)
        if past is None:
            return Memory()
        return Memory(earlier=tuple(past.earlier), dropped_until=past.ends.dropped_until)

    def expect(self, place: Place) -> None:
        """The record will be on record before those that are asked about from now on."""
        past = self._pasts.get(place.subject)
        if past is not None:
            past.add(buffer_record(place.telemetry), self._tools.ski.keep_seconds)

    def note(self, prepared: Iterable[PreparedVerdict]) -> None:
        """What came of it counts for those after it."""
        for one in prepared:
            if one.path is None:
                self._statuses.append(one.status)
            if one.pattern is not None:
                before = self.stable.get(one.rule_id)
                self.stable[one.rule_id] = note_evaluation(before, one.rule_id, one.pattern, one.status)

    def statuses(self) -> list[VerifierStatus]:
        """What the verifier said of the latest verdicts that a model was asked for, the latest last."""
        window = self._tools.ski.agreement_window
        before = self._tools.database.read(lambda unit: unit.verdicts.statuses(self._tenant_id, window))
        return [*map(VerifierStatus, before), *self._statuses]


def _low_rules(places: Iterable[Place]) -> tuple[str, ...]:
    rules = [docket.rule_id for place in places for docket in place.dockets if docket.tier is RiskTier.LOW]
    return tuple(dict.fromkeys(rules))


def _spans(places: Iterable[Place]) -> dict[str, tuple[Instant | None, Instant]]:
    """For each subject that a rule looks back for: after when, and up to when."""
    reaching: defaultdict[str, list[tuple[Instant | None, Instant]]] = defaultdict(list)
    for place in places:
        plans = [plan for docket in place.dockets for plan in docket.plans]
        if plans:
            as_of = place.telemetry.timestamp
            reach = [None if plan.kind in _UNBOUNDED else plan.seconds for plan in plans]
            longest = None if None in reach else max(float(one) for one in reach if one is not None)
            reaching[place.subject].append((None if longest is None else instant_before(as_of, longest), as_of))
    return {subject: _joined(spans) for subject, spans in reaching.items()}


def _joined(spans: Sequence[tuple[Instant | None, Instant]]) -> tuple[Instant | None, Instant]:
    starts = [since for since, _ in spans]
    earliest = None if None in starts else min(one for one in starts if one is not None)
    return earliest, max(until for _, until in spans)
