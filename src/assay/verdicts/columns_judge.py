"""Many records against a whole graph, column by column: the verifier's own verdicts, with no model and no prompt.

columns -> the group of each row -> steps, each one shape of check over all rows that have it -> for each row and rule
the verdict that `judge` and `expected_verdict` come to for that record alone
What is known of groups is kept from call to call; a check that columns cannot judge exactly is judged row by row.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from assay.verdicts.columns import NOBODY, Column, Columns, Vocabulary
from assay.verdicts.columns_check import (
    ANY_NUMBER,
    ColumnCheck,
    ColumnWaiver,
    Severity,
    Shape,
    severities,
    waived,
)
from assay.verdicts.columns_compare import Bounds, within
from assay.verdicts.columns_groups import GroupRule, Groups
from assay.verdicts.columns_row import RowReader, judge_row
from assay.verdicts.columns_window import History, order_history, window_answers
from assay.verdicts.envelope import Verdict
from assay.verdicts.graph.index import GraphIndex

if TYPE_CHECKING:
    from numpy import ndarray

# The verdict for each number in `JudgedColumns.verdicts`.
VERDICTS = tuple(Verdict)
NO_RULE = 255
_UNMAPPED = len(Severity)
_OF_SEVERITY = {
    Severity.SATISFIED: Verdict.CLEAR,
    Severity.EXEMPT: Verdict.CLEAR,
    Severity.UNFOLLOWED: Verdict.DISCRETIONARY,
    Severity.UNDETERMINED: Verdict.DISCRETIONARY,
    Severity.STALE: Verdict.NULL_STALE,
    Severity.DOUBTFUL: Verdict.DISCRETIONARY,
    Severity.BREACHED: Verdict.FLAG,
    Severity.HUMAN: Verdict.DISCRETIONARY,
}
# With more steps than this, rows are sorted by group once instead of being looked for in every step.
_FEW_STEPS = 64
# A shape that so many of the groups have is judged for all rows: finding those that have it would take longer.
_MOST = 4


@dataclass(frozen=True, slots=True)
class JudgedColumns:
    """`verdicts[place][row]` is that of the rule `rules[groups[row]][place]`, and NO_RULE where there is none."""

    groups: "ndarray"
    rules: Sequence[tuple[str, ...]]
    verdicts: "Sequence[ndarray]"


@dataclass(frozen=True, slots=True)
class _Step:
    """One shape of check at one place among a group's rules; `members` are the groups that have it, as a column."""

    place: int
    check: ColumnCheck
    groups: "ndarray"
    members: "ndarray"
    low: "ndarray"
    high: "ndarray"
    has_low: bool
    has_high: bool
    waiver_ids: "ndarray"
    waivers: tuple[tuple[ColumnWaiver, ...], ...]

    @property
    def is_common(self) -> bool:
        return len(self.groups) * _MOST > len(self.members)


@dataclass(frozen=True, slots=True)
class _Program:
    """What to do with rows: for each place the severity that a group starts from, and the steps."""

    groups: int
    rules: tuple[tuple[str, ...], ...]
    base: "Sequence[ndarray]"
    steps: tuple[tuple[_Step, ...], ...]

    @property
    def size(self) -> int:
        return sum(map(len, self.steps))


class _Sheet:
    """One call's columns with their groups, and what is found out about them only when somebody asks."""

    def __init__(self, columns: Columns, groups: "ndarray", program: _Program) -> None:
        self.columns = columns
        self.groups = groups
        self._program = program

    @cached_property
    def history(self) -> History:
        return order_history(self.columns)

    @cached_property
    def _sorted(self) -> "tuple[ndarray, ndarray]":
        import numpy as np  # noqa: PLC0415  numpy is loaded with the first columns, not with the package

        order = np.argsort(self.groups, kind="stable")
        return order, np.searchsorted(self.groups[order], np.arange(self._program.groups + 1))

    def rows(self, step: _Step) -> "ndarray":
        import numpy as np  # noqa: PLC0415  see above

        if self._program.size <= _FEW_STEPS:
            return np.flatnonzero(step.members.take(self.groups))
        order, starts = self._sorted
        return np.concatenate([order[starts[group] : starts[group + 1]] for group in step.groups.tolist()])


class ColumnJudge:
    """For one graph; it may be called again and again with columns of one vocabulary.

    Where a rule looks back, the columns must be the whole history in order of time and name: see `order_history`.
    """

    def __init__(self, index: GraphIndex, vocabulary: Vocabulary) -> None:
        self._groups = Groups(index, vocabulary)
        self._vocabulary = vocabulary
        self._program = _Program(groups=0, rules=(), base=(), steps=())

    def judge(self, columns: Columns) -> JudgedColumns:
        groups = self._groups.of(columns)
        rules = self._groups.rules
        if len(rules) != self._program.groups:
            self._program = _compile(rules)
        sheet, left = _Sheet(columns, groups, self._program), set[int]()
        verdicts = [self._place(place, sheet, left) for place in range(len(self._program.base))]
        self._row_by_row(sheet, verdicts, left)
        return JudgedColumns(groups, self._program.rules, verdicts)

    def _place(self, place: int, sheet: _Sheet, left: set[int]) -> "ndarray":
        found = self._program.base[place].take(sheet.groups)
        for step in self._program.steps[place]:
            if not self._apply(step, sheet, found):
                left.update(step.groups.tolist())
        return _verdict_numbers().take(found)

    def _apply(self, step: _Step, sheet: _Sheet, found: "ndarray") -> bool:
        """Raise `found` to what this step comes to; False where columns cannot say it exactly."""
        column = sheet.columns.metrics[step.check.shape.metric]
        if step.is_common and _is_plain(step.check, column):
            _apply_bounds(step, column, sheet, found)
            return True
        rows = sheet.rows(step)
        answers = self._answers(step, column, rows, sheet)
        if answers is None:
            return False
        told = severities(step.check, column.at(rows), answers)
        _waive(step, sheet, rows, told)
        found[rows] = _greatest(found[rows], told)
        return True

    def _answers(self, step: _Step, column: Column, rows: "ndarray", sheet: _Sheet) -> "ndarray | None":
        check = step.check
        if check.plan is not None:
            known = window_answers(check.plan, column, sheet.history, self._vocabulary.units)
            return None if known is None else known[rows]
        if check.bounds is not None:
            groups = sheet.groups[rows]
            return within(Bounds(step.low[groups], step.high[groups]), column.at(rows))
        return None if check.test is None else check.test(column.at(rows))

    def _row_by_row(self, sheet: _Sheet, verdicts: "list[ndarray]", left: set[int]) -> None:
        import numpy as np  # noqa: PLC0415  see above

        if not left:
            return
        reader = RowReader(sheet.columns, self._vocabulary)
        for row in np.flatnonzero(np.isin(sheet.groups, list(left))).tolist():
            for place, rule in enumerate(self._groups.rules[sheet.groups[row]]):
                verdict = judge_row(reader, row, rule.checks, is_mapped=rule.is_mapped, doubt=rule.doubt)
                verdicts[place][row] = VERDICTS.index(verdict)


def _is_plain(check: ColumnCheck, column: Column) -> bool:
    """Nothing but numbers, and none in a unit that is not the check's."""
    is_own = check.shape.unit == NOBODY or column.the_unit in (NOBODY, check.shape.unit)
    return check.bounds is not None and column.is_plain and is_own


def _apply_bounds(step: _Step, column: Column, sheet: _Sheet, found: "ndarray") -> None:
    """For all rows at once: where a group has no such check, any number meets it."""
    import numpy as np  # noqa: PLC0415  see above

    is_unmet = np.zeros(len(found), bool)
    if step.has_high:
        np.greater(column.numbers, step.high.take(sheet.groups), out=is_unmet)
    if step.has_low:
        is_unmet |= column.numbers < step.low.take(sheet.groups)
    told = is_unmet.view(np.uint8) * np.uint8(step.check.shape.unmet)
    if step.waivers:
        rows = np.flatnonzero(is_unmet)
        waived_rows = told[rows]
        _waive(step, sheet, rows, waived_rows)
        told[rows] = waived_rows
    np.maximum(found, told, out=found)


def _waive(step: _Step, sheet: _Sheet, rows: "ndarray", told: "ndarray") -> None:
    """Put what exemptions make of it in the place of what is not satisfied."""
    import numpy as np  # noqa: PLC0415  see above

    if not step.waivers:
        return
    ids = np.where(told == Severity.SATISFIED, NOBODY, step.waiver_ids.take(sheet.groups.take(rows)))
    for number, waivers in enumerate(step.waivers):
        places = np.flatnonzero(ids == number)
        told[places] = waived(waivers, sheet.columns, rows[places], told[places])


def _greatest(one: "ndarray", other: "ndarray") -> "ndarray":
    import numpy as np  # noqa: PLC0415  see above

    greatest: ndarray = np.maximum(one, other)
    return greatest


@lru_cache(maxsize=1)
def _verdict_numbers() -> "ndarray":
    import numpy as np  # noqa: PLC0415  see above

    numbers = np.full(256, NO_RULE, np.uint8)
    for severity, verdict in _OF_SEVERITY.items():
        numbers[severity] = VERDICTS.index(verdict)
    numbers[_UNMAPPED] = VERDICTS.index(Verdict.NULL_UNMAPPED)
    return numbers


def _compile(rules: Sequence[tuple[GroupRule, ...]]) -> _Program:
    import numpy as np  # noqa: PLC0415  see above

    places = max(map(len, rules), default=0)
    base = [np.full(len(rules), NO_RULE, np.uint8) for _ in range(places)]
    found: list[dict[tuple[Shape, int], dict[int, ColumnCheck]]] = [{} for _ in range(places)]
    for group, of_group in enumerate(rules):
        for place, rule in enumerate(of_group):
            base[place][group] = _start(rule)
            _sort_checks(rule, group, found[place])
    steps = tuple(
        tuple(_step(place, members, len(rules)) for members in at_place.values())
        for place, at_place in enumerate(found)
    )
    names = tuple(tuple(rule.rule_id for rule in of_group) for of_group in rules)
    return _Program(groups=len(rules), rules=names, base=base, steps=steps)


def _start(rule: GroupRule) -> int:
    if not rule.is_mapped:
        return _UNMAPPED
    start = Severity.SATISFIED if rule.doubt is None else Severity.DOUBTFUL
    return max([start, *(check.settled for check in rule.columns if check.settled is not None)])


def _sort_checks(rule: GroupRule, group: int, found: dict[tuple[Shape, int], dict[int, ColumnCheck]]) -> None:
    """The second check of one shape in one rule is another step."""
    seen: defaultdict[Shape, int] = defaultdict(int)
    for check in rule.columns:
        if check.settled is None:
            found.setdefault((check.shape, seen[check.shape]), {})[group] = check
            seen[check.shape] += 1


def _step(place: int, members: dict[int, ColumnCheck], count: int) -> _Step:
    import numpy as np  # noqa: PLC0415  see above

    low, high = np.full(count, ANY_NUMBER.low), np.full(count, ANY_NUMBER.high)
    is_member, waiver_ids = np.zeros(count, bool), np.full(count, NOBODY, np.int32)
    waivers: dict[str, tuple[int, tuple[ColumnWaiver, ...]]] = {}
    for group, check in members.items():
        is_member[group] = True
        low[group], high[group] = check.bounds or ANY_NUMBER
        if check.waivers:
            waiver_ids[group] = waivers.setdefault(check.waivers_key, (len(waivers), check.waivers))[0]
    return _Step(
        place=place,
        check=next(iter(members.values())),
        groups=np.array(list(members)),
        members=is_member,
        low=low,
        high=high,
        has_low=bool((low != ANY_NUMBER.low).any()),
        has_high=bool((high != ANY_NUMBER.high).any()),
        waiver_ids=waiver_ids,
        waivers=tuple(part for _, part in waivers.values()),
    )
