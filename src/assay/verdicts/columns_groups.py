"""Which rules apply to which rows: rows of one subject, one jurisdiction and one stretch of time have the same ones.

columns -> a group for each row; group -> its rules, each with its checks, as the slice of any of its rows has them
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.verdicts.columns import NOBODY, Codes, Columns, Vocabulary, instant_at, moment_of
from assay.verdicts.columns_check import ColumnCheck, column_check
from assay.verdicts.docket import UNRULED, checks_of, docket_key, parts_of
from assay.verdicts.graph.graph import KnowledgeGraph
from assay.verdicts.graph.index import GraphIndex
from assay.verdicts.graph.node import Subject
from assay.verdicts.predicate import Check
from assay.verdicts.slice import PlaceDoubt, RuleSlice, Slice, slice_graph

if TYPE_CHECKING:
    from numpy import ndarray

# A look-up table as wide as this is quicker than sorting; a wider one would cost more memory than it saves time.
_WIDEST = 2**22


@dataclass(frozen=True, slots=True)
class GroupRule:
    """A rule as a group's slice has it; `rule_id` is UNRULED where none applies."""

    rule_id: str
    is_mapped: bool
    doubt: PlaceDoubt | None
    checks: tuple[Check, ...]
    columns: tuple[ColumnCheck, ...]


def metrics_of(graph: KnowledgeGraph) -> set[str]:
    """Every metric that one of its rules could ask for."""
    asked = {one.metric for one in graph.obligations if one.metric is not None}
    return asked.union(condition.metric for one in graph.exemptions for condition in one.formal or ())


class Groups:
    """Known from call to call, so that each slice is taken once; `rules` has those of each group."""

    def __init__(self, index: GraphIndex, vocabulary: Vocabulary) -> None:
        self.rules: list[tuple[GroupRule, ...]] = []
        self._index = index
        self._vocabulary = vocabulary
        self._subjects = _Nodes(vocabulary.subjects, lambda name: _id(index.find_subject(name)))
        self._places = _Nodes(vocabulary.jurisdictions, index.find_jurisdiction)
        self._cuts = _cuts(index)
        self._numbers: dict[int, int] = {}
        self._made: dict[tuple[object, ...], GroupRule] = {}
        self._table = _table((len(index.subjects) + 1) * self._stride)

    @property
    def _stride(self) -> int:
        return (len(self._index.jurisdictions) + 1) * (len(self._cuts) + 1)

    def of(self, columns: Columns) -> "ndarray":
        """The group of each row; those that were not known are known from now on."""
        import numpy as np  # noqa: PLC0415  numpy is loaded with the first columns, not with the package

        keys = self._keys(columns)
        if self._table is None:
            found, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
            known = [self._group(int(key), columns, int(row)) for key, row in zip(found, first, strict=True)]
            return np.array(known, np.intp).take(inverse)
        groups = self._table.take(keys)
        strange = np.flatnonzero(groups == NOBODY)
        if len(strange):
            found, first = np.unique(keys[strange], return_index=True)
            self._table[found] = [
                self._group(int(key), columns, int(strange[row])) for key, row in zip(found, first, strict=True)
            ]
            groups = self._table.take(keys)
        return groups

    def _keys(self, columns: Columns) -> "ndarray":
        import numpy as np  # noqa: PLC0415  see above

        keys: ndarray = (self._subjects.numbers() * self._stride)[columns.subjects]
        if (columns.jurisdictions != NOBODY).any():
            # What is not declared is the last of the table, and no place.
            keys += (self._places.numbers() * (len(self._cuts) + 1))[columns.jurisdictions]
        first, last = np.searchsorted(self._cuts, [columns.moments.min(), columns.moments.max()], side="right")
        return keys + (first if first == last else np.searchsorted(self._cuts, columns.moments, side="right"))

    def _group(self, key: int, columns: Columns, row: int) -> int:
        """Made from one of its rows: any other has the same slice, but for its moment."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.rules)
            self.rules.append(tuple(self._rules(columns, row)))
        return number

    def _rules(self, columns: Columns, row: int) -> Iterable[GroupRule]:
        declared = int(columns.jurisdictions[row])
        found = slice_graph(
            self._index,
            self._vocabulary.subjects.names[int(columns.subjects[row])],
            as_of=instant_at(int(columns.moments[row])),
            jurisdiction=None if declared == NOBODY else self._vocabulary.jurisdictions.names[declared],
        )
        for part in parts_of(found):
            key = docket_key(found, part)
            if key not in self._made:
                self._made[key] = self._rule(found, part)
            yield self._made[key]

    def _rule(self, found: Slice, part: RuleSlice | None) -> GroupRule:
        checks = () if part is None else checks_of(part)
        return GroupRule(
            rule_id=UNRULED if part is None else part.rule.id,
            is_mapped=found.subject is not None,
            doubt=None if part is None else part.doubt,
            checks=checks,
            columns=tuple(column_check(check, self._vocabulary) for check in checks),
        )


class _Nodes:
    """For each name of a vocabulary that grows, the number of the node it means: 0 for none, and last once more."""

    def __init__(self, names: Codes, find: Callable[[str], str | None]) -> None:
        self._names = names
        self._find = find
        self._nodes = Codes()
        self._numbers: list[int] = []

    def numbers(self) -> "ndarray":
        import numpy as np  # noqa: PLC0415  see above

        for code in range(len(self._numbers), len(self._names)):
            node = self._find(self._names.names[code])
            self._numbers.append(0 if node is None else self._nodes[node] + 1)
        return np.array([*self._numbers, 0], np.int64)


def _id(subject: Subject | None) -> str | None:
    return None if subject is None else subject.id


def _table(width: int) -> "ndarray | None":
    import numpy as np  # noqa: PLC0415  see above

    return np.full(width, NOBODY, np.intp) if width <= _WIDEST else None


def _cuts(index: GraphIndex) -> "ndarray":
    """The moments at which some obligation comes into force, or has been for the last time."""
    import numpy as np  # noqa: PLC0415  see above

    obligations = [part.obligation for rules in index.rules.values() for rule, _ in rules for part in rule.obligations]
    starts = {moment_of(one.effective_date_start) for one in obligations if one.effective_date_start is not None}
    ends = {moment_of(one.effective_date_end) + 1 for one in obligations if one.effective_date_end is not None}
    return np.array(sorted(starts | ends), np.int64)
