"""What records may know of those before them: from the database for new ones, from the entries alone for replays.

entries in order -> LedgerMemory: the buffer of each subject, what left it, how stable each rule was
rows of the buffer -> compared with their entries -> VerdictMemory of one round: of -> expect -> ... -> note
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from assay.flows.tools import Tools
from assay.flows.verdicts.reason import Memory
from assay.flows.verdicts.verdict_entry import PreparedVerdict, stability_of
from assay.flows.verdicts.verdict_rows import ForgedRowError, JudgedEntry, find_judged, find_known_record
from assay.kernel.canonical import canonical_json
from assay.kernel.digest import Digest
from assay.kernel.entry import parse_entry
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, instant_before
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.ledger_store import StoredEntry
from assay.ports.telemetry_store import BufferedText
from assay.verdicts.docket import UNRULED, Docket
from assay.verdicts.envelope import VerifierStatus
from assay.verdicts.fastpath import Stability, note_evaluation, recorded_pattern
from assay.verdicts.graph.node import RiskTier
from assay.verdicts.telemetry import Telemetry, parse_telemetry
from assay.verdicts.window_fact import BufferedRecord, WindowKind, buffer_record

_JUDGED = frozenset({EntryKind.VERDICT, EntryKind.VERDICT_HELD, EntryKind.VERDICT_V2})


class _Drop(Struct, frozen=True):
    subject: str
    dropped_until: Instant


@dataclass(frozen=True, slots=True)
class KeptRecord:
    """A record in the buffer, and the entry of its first verdict."""

    sequence_number: int
    record: BufferedRecord

    def is_held_by(self, row: BufferedText) -> bool:
        """Whether an entry holds this row, by values: a row has its readings as they came, an entry sorts them."""
        try:
            told = msgspec.json.decode(row.text, type=BufferedRecord)
        except msgspec.MsgspecError:
            return False
        is_placed = (row.as_of, row.telemetry_id) == (self.record.timestamp, self.record.telemetry_id)
        return is_placed and canonical_json(told) == canonical_json(self.record)


@dataclass(slots=True)
class LedgerMemory:
    """After the entries that were taken, in their order."""

    kept: dict[str, dict[str, KeptRecord]] = field(default_factory=dict)
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
        return tuple(one.record for one in self.kept.get(subject, {}).values())

    def _drop(self, drop: _Drop) -> None:
        records = self.kept.get(drop.subject, {})
        self.kept[drop.subject] = {
            name: one for name, one in records.items() if one.record.timestamp > drop.dropped_until
        }
        before = self.dropped.get(drop.subject)
        self.dropped[drop.subject] = drop.dropped_until if before is None else max(before, drop.dropped_until)

    def _keep(self, judged: JudgedEntry) -> None:
        """Once for a record: all its verdicts are of one commit, with no other record's between them."""
        row = judged.row
        if row.telemetry_id == self._latest:
            return
        self._latest = row.telemetry_id
        record = buffer_record(parse_telemetry(judged.telemetry))
        self.kept.setdefault(row.subject, {})[row.telemetry_id] = KeptRecord(row.sequence_number, record)

    def _note_stability(self, judged: JudgedEntry) -> None:
        read, rule_id = judged.read, judged.row.rule_id
        if read is None or judged.ruling.tier is not RiskTier.LOW or rule_id == UNRULED:
            return
        envelope = read.envelope
        pattern = recorded_pattern(rule_id, read.body.judgements, envelope.model_provenance)
        status = envelope.verifier_result.status
        self.stable[rule_id] = note_evaluation(self.stable.get(rule_id), rule_id, pattern, status)


def vouch_buffer(unit: Unit, tools: Tools, tenant_id: TenantId, rows: Sequence[BufferedText]) -> None:
    """Raise `verdict.row_differs` for the first record that no entry holds so; each is compared once in a process.

    A row that was taken away is not missed here: an audit and every replay walk the entries themselves.
    """
    unseen = [row for row in tools.vouched.unseen(tenant_id, rows) if isinstance(row, BufferedText)]
    for row in unseen:
        if not _is_recorded(unit, tenant_id, row):
            named = ascii(row.telemetry_id)[1:-1][:80]
            raise ForgedRowError(f"expected `{named}` in `telemetry_buffer` as its entry has it, got another")
    if unseen:
        tools.vouched.add(tenant_id, unseen)


def _is_recorded(unit: Unit, tenant_id: TenantId, row: BufferedText) -> bool:
    known = find_known_record(unit, tenant_id, row.telemetry_id)
    stored = None if known is None else unit.ledger.find_entry(tenant_id, known.sequence_number)
    try:
        judged = None if stored is None else find_judged(stored)
        if judged is None or judged.row.subject != row.subject:
            return False
        kept = KeptRecord(judged.row.sequence_number, buffer_record(parse_telemetry(judged.telemetry)))
    except Error:
        return False
    return kept.is_held_by(row)


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
    dropped_until: Instant | None = None
    ends: tuple[Instant, Instant] | None = None
    is_dropping: bool = False

    def add(self, record: BufferedRecord, keep_seconds: int) -> None:
        at = record.timestamp
        oldest, newest = self.ends or (at, at)
        self.ends = oldest, newest = min(oldest, at), max(newest, at)
        self.earlier.append(record)
        # As `note_record` will find: when this one is on record, others leave the buffer.
        self.is_dropping = oldest <= instant_before(newest, keep_seconds)


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
        known = [unit.verdicts.find_stability(self._tenant_id, rule_id) for rule_id in low]
        self.stable = {one.rule_id: stability_of(one) for one in known if one is not None}
        for subject, (since, until) in spans.items():
            rows = unit.telemetry.buffered(self._tenant_id, subject, since=since, until=until)
            vouch_buffer(unit, self._tools, self._tenant_id, rows)
            self._pasts[subject] = _Past(
                earlier=[msgspec.json.decode(row.text, type=BufferedRecord) for row in rows],
                dropped_until=unit.telemetry.dropped_until(self._tenant_id, subject),
                ends=unit.telemetry.find_ends(self._tenant_id, subject),
            )

    def knows(self, place: Place) -> bool:
        """Whether what this record may know follows from what was looked up: not after a drop that is still to come."""
        past = self._pasts.get(place.subject)
        return past is None or not past.is_dropping

    def of(self, place: Place) -> Memory:
        past = self._pasts.get(place.subject)
        if past is None:
            return Memory()
        return Memory(earlier=tuple(past.earlier), dropped_until=past.dropped_until)

    def expect(self, place: Place) -> None:
        """The record will be on record before those that are asked about from now on."""
        past = self._pasts.get(place.subject)
        if past is not None:
            past.add(buffer_record(place.telemetry), self._tools.ski.keep_seconds)

    def note(self, prepared: Iterable[PreparedVerdict]) -> None:
        """What came of it counts for those after it."""
        for one in prepared:
            status = VerifierStatus(one.row.status)
            if one.row.path is None:
                self._statuses.append(status)
            if one.stable is not None:
                before, pattern = self.stable.get(one.row.rule_id), Digest(one.stable.pattern)
                self.stable[one.row.rule_id] = note_evaluation(before, one.row.rule_id, pattern, status)

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
