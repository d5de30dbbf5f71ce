"""Which recorded verdicts another knowledge graph would change: every recorded record is judged by it.

entries -> columns -> the verifier's own verdict for each record and rule -> compared with the one computed then
The model is not asked: what changes is what the rules say. Nothing is recorded.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Raw, Struct

from assay.flows.request import Document, Option, Request
from assay.flows.tools import Tools
from assay.flows.verdicts.change_graphs import GraphDocument, open_candidate
from assay.identity.caller import Caller
from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, parse_instant
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.ledger_store import StoredEntry
from assay.verdicts.columns import ColumnGatherer, Columns, Vocabulary, instant_at, time_order
from assay.verdicts.columns_change import Changes, PastVerdicts, find_changes
from assay.verdicts.columns_groups import metrics_of
from assay.verdicts.columns_judge import NO_RULE, VERDICTS, ColumnJudge
from assay.verdicts.comparison import nfc
from assay.verdicts.docket import UNRULED
from assay.verdicts.envelope import Verdict
from assay.verdicts.graph.index import GraphIndex, build_index
from assay.verdicts.graph.open import OpenGraph
from assay.verdicts.predicate import Judgement
from assay.verdicts.slice import PlaceDoubt
from assay.verdicts.telemetry import recorded_readings
from assay.verdicts.verify import expected_verdict
from assay.verdicts.window_plan import is_windowed

# What settles a held verdict is no second one; what the second runtime judged has another body.
_KINDS = frozenset({EntryKind.VERDICT.value, EntryKind.VERDICT_HELD.value})
# Few enough values at a time to stay close to the processor; no fewer rows than make arrays worth while.
_VALUES = 2**20
_FEWEST, _MOST = 1024, 2**16


class PastBody(Struct, frozen=True, gc=False):
    """What is needed of a verdict's body: much is read, so no more than that."""

    telemetry: Raw
    is_mapped: bool
    judgements: tuple[Judgement, ...]
    doubt: PlaceDoubt | None = None


class _Entry(Struct, frozen=True, gc=False):
    body: PastBody


class _Told(Struct, frozen=True):
    """A record as it stands in an entry, where only one that was accepted stands."""

    timestamp: str
    subject: str
    measurement: dict[str, Any]
    jurisdiction: str | None = None


_ENTRY = msgspec.json.Decoder(_Entry)
_TOLD = msgspec.json.Decoder(_Told)


def read_body(entry: StoredEntry) -> PastBody:
    return _ENTRY.decode(entry.text).body


@dataclass(frozen=True, slots=True)
class JudgedHistory:
    columns: Columns
    past: PastVerdicts


class HistoryReader:
    """`is_whole`: one batch with everything, in order of time, since windows look back at it.

    A subject is put down by its id in `index`, where it is one: records that name it otherwise are the same one's.
    """

    def __init__(self, metrics: set[str], vocabulary: Vocabulary, index: GraphIndex, *, is_whole: bool) -> None:
        self._index = index
        self._gatherer = ColumnGatherer(metrics, vocabulary)
        self._vocabulary = vocabulary
        self._is_whole = is_whole
        self._size = max(_FEWEST, min(_MOST, _VALUES // (len(metrics) + 1)))
        self._past: list[tuple[int, int, int]] = []

    def batches(self, entries: Iterable[StoredEntry]) -> Iterator[JudgedHistory]:
        rows = (row for row in entries if row.kind in _KINDS)
        # The entries of one record follow each other.
        for _, group in groupby(rows, key=attrgetter("telemetry_id")):
            self._add(list(group))
            if not self._is_whole and len(self._gatherer) >= self._size:
                yield self._take()
        if len(self._gatherer):
            yield self._take()

    def _add(self, entries: list[StoredEntry]) -> None:
        bodies = [read_body(entry) for entry in entries]
        for entry, body in zip(entries, bodies, strict=True):
            verdict = VERDICTS.index(expected_verdict(body.judgements, is_mapped=body.is_mapped, doubt=body.doubt))
            self._past.append((len(self._gatherer), self._vocabulary.rules[entry.rule_id or UNRULED], verdict))
        told = _TOLD.decode(bodies[0].telemetry)
        self._gatherer.add(
            entries[0].telemetry_id or "",
            parse_instant(told.timestamp),
            self._subject(nfc(told.subject)),
            nfc(told.jurisdiction) if told.jurisdiction else None,
            recorded_readings(told.measurement),
        )

    def _subject(self, named: str) -> str:
        found = self._index.find_subject(named)
        return named if found is None or self._index.find_measured(named) is not None else found.id

    def _take(self) -> JudgedHistory:
        import numpy as np  # noqa: PLC0415  numpy is loaded with the first columns, not with the package

        columns, past = self._gatherer.take(), np.array(self._past, np.int64).reshape(-1, 3)
        self._past = []
        rows = past[:, 0]
        if self._is_whole:
            order = time_order(columns)
            place = np.empty_like(order)
            place[order] = np.arange(len(order))
            columns, rows = columns.at(order), place[rows]
        return JudgedHistory(columns, PastVerdicts(rows, past[:, 1], past[:, 2].astype(np.uint8)))


_BYTE = 256
# Of each rule and move; a person looks at a few, and asks for more by `limit`.
_EXAMPLES = 3


class WeighGraph(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    document: Annotated[
        bytes, Meta(description="The candidate graph."), Document(kind=GraphDocument, metavar="NEW_GRAPH", is_long=True)
    ]
    first: Annotated[int, Meta(ge=1, description="From this ledger entry on."), Option(flag="--from", metavar="N")] = 1
    last: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Up to this ledger entry."),
        Option(flag="--to", metavar="N"),
    ] = None
    limit: Annotated[int, Meta(ge=0, le=100_000, description="How many changes to list.")] = 100


class VerdictChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """None before: the rule did not apply; None after: it does not any more."""

    telemetry_id: str
    subject: str
    as_of: Instant
    rule_id: str
    before: Verdict | None
    after: Verdict | None


class RuleImpact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many verdicts of one rule would change, into what, and the first records of each move as examples."""

    rule_id: str
    changed: int
    moves: dict[str, int]
    examples: tuple[VerdictChange, ...] = ()


class SubjectImpact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many verdicts about one subject would change."""

    subject: str
    changed: int


class GraphImpact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`moves` counts changes by what they are, as `CLEAR -> FLAG`.

    `changes` lists so many of them as were asked for, in the order of records; `rules` and `subjects` so many of those
    with the most changes.
    """

    content_hash: Digest
    records: int
    verdicts: int
    changed: int
    moves: dict[str, int]
    changes: tuple[VerdictChange, ...]
    rules: tuple[RuleImpact, ...] = ()
    subjects: tuple[SubjectImpact, ...] = ()


def graph_impact(tools: Tools, caller: Caller, request: WeighGraph) -> GraphImpact:
    """Judge every recorded record again by a candidate graph, and count which verdicts would change.

    No model is asked and nothing is recorded: what changes is what the rules say. The candidate need not be signed.
    """
    opened, _ = open_candidate(tools, request.document)
    return tools.database.read(
        lambda unit: _weigh(unit, caller.tenant_id, opened, first=request.first, last=request.last, limit=request.limit)
    )


def _weigh(
    unit: Unit, tenant_id: TenantId, opened: OpenGraph, *, first: int, last: int | None, limit: int
) -> GraphImpact:
    graph, vocabulary = opened.graph, Vocabulary.empty()
    looks_back = any(is_windowed(one) for one in graph.obligations)
    index = build_index(graph)
    judge, found = ColumnJudge(index, vocabulary), _Findings(vocabulary, limit)
    reader = HistoryReader(metrics_of(graph), vocabulary, index, is_whole=looks_back)
    for batch in reader.batches(unit.ledger.entries(tenant_id, first=first, last=last)):
        judged = judge.judge(batch.columns)
        found.records += len(batch.columns)
        found.verdicts += sum(int((told != NO_RULE).sum()) for told in judged.verdicts)
        found.add(batch, find_changes(batch.past, judged, vocabulary.rules))
    return found.impact(opened.content_hash)


class _Findings:
    """Counts by rule, by subject and by move, and the first of the changes."""

    def __init__(self, vocabulary: Vocabulary, limit: int) -> None:
        self.records = self.verdicts = 0
        self._vocabulary = vocabulary
        self._limit = limit
        self._moves: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._subjects: Counter[str] = Counter()
        self._kept: list[VerdictChange] = []
        self._examples: defaultdict[tuple[int, int], list[VerdictChange]] = defaultdict(list)

    def add(self, batch: JudgedHistory, changes: Changes) -> None:
        kinds = (changes.rules * _BYTE + changes.before) * _BYTE + changes.after
        for kind, count in Counter(kinds.tolist()).items():
            rule, move = divmod(kind, _BYTE * _BYTE)
            self._moves[self._vocabulary.rules.names[rule]][_move(*divmod(move, _BYTE))] += count
        subjects = Counter(batch.columns.subjects[changes.rows].tolist())
        self._subjects.update({self._vocabulary.subjects.names[one]: count for one, count in subjects.items()})
        self._kept.extend(self._listed(batch, changes, range(min(self._limit - len(self._kept), len(changes.rows)))))
        self._show(batch, changes, kinds.tolist())

    def _show(self, batch: JudgedHistory, changes: Changes, kinds: list[int]) -> None:
        """The first records of each rule and move; most changes are like those before them."""
        wanted: defaultdict[int, list[int]] = defaultdict(list)
        for place, kind in enumerate(kinds):
            if len(wanted[kind]) < _EXAMPLES:
                wanted[kind].append(place)
        for kind, places in wanted.items():
            known = self._examples[divmod(kind, _BYTE * _BYTE)]
            known.extend(self._listed(batch, changes, places[: _EXAMPLES - len(known)]))

    def impact(self, content_hash: Digest) -> GraphImpact:
        moves = sum(self._moves.values(), Counter[str]())
        rules = [
            RuleImpact(
                rule_id=rule,
                changed=of_rule.total(),
                moves=dict(sorted(of_rule.items())),
                examples=self._examples_of(self._vocabulary.rules[rule]),
            )
            for rule, of_rule in self._moves.items()
        ]
        subjects = [SubjectImpact(subject=one, changed=count) for one, count in self._subjects.items()]
        return GraphImpact(
            content_hash=content_hash,
            records=self.records,
            verdicts=self.verdicts,
            changed=moves.total(),
            moves=dict(sorted(moves.items())),
            changes=tuple(self._kept),
            rules=tuple(sorted(rules, key=lambda one: (-one.changed, one.rule_id))[: self._limit]),
            subjects=tuple(sorted(subjects, key=lambda one: (-one.changed, one.subject))[: self._limit]),
        )

    def _examples_of(self, rule: int) -> tuple[VerdictChange, ...]:
        found = [one for (of_rule, _), kept in sorted(self._examples.items()) if of_rule == rule for one in kept]
        return tuple(sorted(found, key=lambda one: (one.as_of, one.telemetry_id)))

    def _listed(self, batch: JudgedHistory, changes: Changes, places: Iterable[int]) -> Iterator[VerdictChange]:
        columns = batch.columns
        for place in places:
            row = int(changes.rows[place])
            yield VerdictChange(
                telemetry_id=columns.names[row],
                subject=self._vocabulary.subjects.names[columns.subjects[row]],
                as_of=instant_at(int(columns.moments[row])),
                rule_id=self._vocabulary.rules.names[changes.rules[place]],
                before=_verdict(changes.before[place]),
                after=_verdict(changes.after[place]),
            )


def _verdict(number: int) -> Verdict | None:
    return None if number == NO_RULE else VERDICTS[number]


def _move(before: int, after: int) -> str:
    return f"{_verdict(before) or 'none'} -> {_verdict(after) or 'none'}"
