"""A check made ready for columns: its shape, which many subjects share, apart from its numbers, which they do not.

Check -> column_check -> ColumnCheck: shape, bounds, waivers; columns + rows -> severities
What an obligation comes to is a number, so that a rule's verdict follows from the greatest of its obligations'.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from assay.verdicts.columns import NOBODY, Column, Columns, Kind, Vocabulary
from assay.verdicts.columns_compare import Answer, Bounds, ColumnTest, bounds_of, column_test
from assay.verdicts.graph.obligation_type import ObligationType
from assay.verdicts.predicate import Check, Doubt, Outcome, Waiver
from assay.verdicts.window_plan import WindowPlan

if TYPE_CHECKING:
    from numpy import ndarray

ANY_NUMBER = Bounds(-inf, inf)


class Severity(IntEnum):
    """In the order in which they decide a verdict; `verify.expected_verdict` says the same of judgements."""

    SATISFIED = 0
    EXEMPT = 1
    UNFOLLOWED = 2
    UNDETERMINED = 3
    STALE = 4
    DOUBTFUL = 5  # a jurisdiction in doubt: at best DISCRETIONARY
    BREACHED = 6
    HUMAN = 7  # a person's to say, whatever the others come to


class Shape(NamedTuple):
    """Checks of one shape are judged together, whatever their bounds; `detail` tells apart what has none."""

    metric: str
    unit: int
    unmet: Severity
    is_presence: bool
    detail: str


class ColumnWaiver(NamedTuple):
    """The conditions of an exemption; None where a person must judge."""

    conditions: tuple[tuple[str, int, ColumnTest | None], ...] | None


@dataclass(frozen=True, slots=True)
class ColumnCheck:
    """`settled` is set where no record can change what the check comes to; then nothing else counts.

    `bounds` are set where a number alone can meet it; otherwise `test` decides, or the window of `plan`.
    """

    shape: Shape
    settled: Severity | None = None
    bounds: Bounds | None = None
    test: ColumnTest | None = None
    plan: WindowPlan | None = None
    waivers: tuple[ColumnWaiver, ...] = ()
    waivers_key: str = ""


_TYPES = {kind.value: kind for kind in ObligationType}
_UNMET = {
    Outcome.BREACHED: Severity.BREACHED,
    Outcome.STALE: Severity.STALE,
    Outcome.UNFOLLOWED: Severity.UNFOLLOWED,
}
_HUMAN = frozenset({Doubt.DISCRETIONARY, Doubt.UNKNOWN_TYPE})


def column_check(check: Check, vocabulary: Vocabulary) -> ColumnCheck:
    """The same rule for columns as `check` is for one record."""
    unit = NOBODY if check.unit is None else vocabulary.units[check.unit]
    unmet = _UNMET[check.breached.outcome]
    if check.doubt is not None:
        settled = Severity.HUMAN if check.doubt in _HUMAN else Severity.UNDETERMINED
        return ColumnCheck(Shape(check.metric, unit, unmet, check.is_presence, ""), settled=settled)
    kind = _TYPES[check.predicate]
    # What a unit becomes, or that none is named, is found row by row.
    is_plain = check.plan is None and not check.conversions and not check.requires_unit
    bounds = bounds_of(kind, check.value) if is_plain else None
    # Written out, since Python takes `True` and 1 for the same.
    detail = "" if bounds is not None else f"{check.predicate} {check.value!r} {_plan_key(check.plan)}"
    return ColumnCheck(
        shape=Shape(check.metric, unit, unmet, check.is_presence, detail),
        bounds=bounds,
        test=column_test(kind, check.value, vocabulary.texts) if is_plain else None,
        plan=check.plan,
        waivers=tuple(_waiver(waiver, vocabulary) for waiver in check.waivers),
        waivers_key=repr([_key(waiver) for waiver in check.waivers]) if check.waivers else "",
    )


def severities(check: ColumnCheck, column: Column, answers: "ndarray") -> "ndarray":
    """What rows come to by the answers to their test, exemptions aside."""
    import numpy as np  # noqa: PLC0415  numpy is loaded with the first columns, not with the package

    told = answers.copy()
    if check.plan is None:
        told[column.is_foreign(check.shape.unit)] = Answer.UNKNOWN
        told[column.kinds == Kind.MISSING] = Answer.NO if check.shape.is_presence else Answer.UNKNOWN
    found: ndarray = np.array([check.shape.unmet, Severity.UNDETERMINED, Severity.SATISFIED], np.uint8)[told]
    return found


def waived(waivers: Sequence[ColumnWaiver], columns: Columns, rows: "ndarray", unmet: "ndarray") -> "ndarray":
    """What unmet rows come to with exemptions: one that holds is enough, failing that one that a person must judge."""
    import numpy as np  # noqa: PLC0415  see above

    holds = np.zeros(len(rows), np.uint8)
    for waiver in waivers:
        np.maximum(holds, _holds(waiver, columns, rows), out=holds)
    return np.where(
        holds == Answer.YES,
        np.uint8(Severity.EXEMPT),
        np.where(holds == Answer.UNKNOWN, np.uint8(Severity.UNDETERMINED), unmet),
    )


def _holds(waiver: ColumnWaiver, columns: Columns, rows: "ndarray") -> "ndarray":
    import numpy as np  # noqa: PLC0415  see above

    if waiver.conditions is None:
        return np.full(len(rows), Answer.UNKNOWN, np.uint8)
    holds = np.full(len(rows), Answer.YES, np.uint8)
    for metric, unit, test in waiver.conditions:
        column = columns.metrics[metric].at(rows)
        answers = np.full(len(rows), Answer.UNKNOWN, np.uint8) if test is None else test(column)
        answers[column.is_foreign(unit)] = Answer.UNKNOWN
        answers[column.kinds == Kind.MISSING] = Answer.NO
        np.minimum(holds, answers, out=holds)
    return holds


def _waiver(waiver: Waiver, vocabulary: Vocabulary) -> ColumnWaiver:
    if waiver.conditions is None:
        return ColumnWaiver(None)
    return ColumnWaiver(
        tuple(
            (
                one.metric,
                NOBODY if one.unit is None else vocabulary.units[one.unit],
                column_test(one.predicate, one.value, vocabulary.texts),
            )
            for one in waiver.conditions
        )
    )


def _plan_key(plan: WindowPlan | None) -> str:
    if plan is None:
        return ""
    return f"{plan.kind} {plan.unit!r} {plan.seconds} {plan.demand} {plan.operand!r} {plan.kept!r} {plan.is_freshness}"


def _key(waiver: Waiver) -> object:
    if waiver.conditions is None:
        return None
    return [(one.metric, one.predicate.value, one.value, one.unit) for one in waiver.conditions]
