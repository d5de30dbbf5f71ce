"""What another knowledge graph would have made of the past: every recorded record judged by it, and what changes.

history -> columns -> the verifier's own verdict for each record and rule -> against the one that was computed then
The model is not asked: what changes is what the rules say. Nothing is recorded.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from msgspec import Struct

from assay.flows.identity.admit_principal import admit_principal
from assay.flows.tools import Tools
from assay.flows.verdicts.graph_history import HistoryReader, JudgedHistory
from assay.flows.verdicts.review_graph import open_candidate
from assay.identity.principal import BuiltInRole
from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.verdicts.columns import Vocabulary, instant_at
from assay.verdicts.columns_change import Changes, find_changes
from assay.verdicts.columns_groups import metrics_of
from assay.verdicts.columns_judge import NO_RULE, VERDICTS, ColumnJudge
from assay.verdicts.envelope import Verdict
from assay.verdicts.graph.index import build_index
from assay.verdicts.graph.open import OpenGraph
from assay.verdicts.window_plan import is_windowed

_MAY = (BuiltInRole.OPERATOR, BuiltInRole.AUDITOR, BuiltInRole.REVIEWER)
_BYTE = 256
# Of each rule and move; a person looks at a few, and asks for more by `limit`.
_EXAMPLES = 3


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


def graph_impact(
    tools: Tools,
    document: bytes,
    *,
    credential: str,
    at: Instant,
    first: int = 1,
    last: int | None = None,
    limit: int = 1000,
) -> GraphImpact:
    """What a candidate graph would change, for an operator, auditor or reviewer; it need not be signed yet.

    History is read in batches of columns, and kept as a whole only where the candidate's windows must look back at it.
    """
    principal = tools.database.read(lambda unit: admit_principal(unit, credential, any_of=_MAY, at=at))
    opened, _ = open_candidate(tools, document, None)
    return tools.database.read(
        lambda unit: _weigh(unit, principal.tenant_id, opened, first=first, last=last, limit=limit)
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
