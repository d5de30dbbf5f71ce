"""What records that are judged together may know: what is on record, and those of them that came before.

load (one look at the database) -> of -> expect -> ... -> note
INVARIANT: each record is told what it would be told if all before it were on record already. Where that cannot be
known from here, `knows` says no, and whoever judges ends the round before that record.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from assay.flows.tools import Tools
from assay.flows.verdicts.judge_record import Memory
from assay.flows.verdicts.verdict_entry import PreparedVerdict, stability_of
from assay.flows.verdicts.vouch_buffer import vouch_buffer
from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, instant_before
from assay.ports.database import Unit
from assay.verdicts.docket import Docket
from assay.verdicts.envelope import VerifierStatus
from assay.verdicts.fastpath import Stability, note_evaluation
from assay.verdicts.graph.node import RiskTier
from assay.verdicts.telemetry import Telemetry
from assay.verdicts.window_fact import BufferedRecord, WindowKind, buffer_record

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
