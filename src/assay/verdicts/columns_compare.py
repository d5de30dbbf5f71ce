"""Comparisons for whole columns: the same obligation types as in `comparison`, the same answers, row by row.

obligation type + operand -> bounds_of | column_test -> an Answer for each row
A demand on a number is a closed interval of binary64: below a limit is at most the number next to it. What is not a
number, or of no kind among the operands, is unknown, never compliant.
"""

from collections.abc import Callable
from enum import IntEnum
from math import inf, nextafter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from assay.verdicts.columns import Codes, Column, Kind
from assay.verdicts.comparison import PlainOperand
from assay.verdicts.graph.obligation_type import ObligationType
from assay.verdicts.telemetry import Scalar

if TYPE_CHECKING:
    from numpy import ndarray


class Answer(IntEnum):
    """Ordered so that `and` is the least of several, `or` the greatest, and `not` the distance to YES."""

    NO = 0
    UNKNOWN = 1
    YES = 2


class Bounds(NamedTuple):
    """Both ends included."""

    low: float
    high: float


ColumnTest: TypeAlias = Callable[[Column], "ndarray"]


def bounds_of(kind: ObligationType, operand: PlainOperand) -> Bounds | None:
    """The numbers that meet a demand, where these are an interval and nothing but a number can meet it."""
    if kind in _RANGES:
        return _between(operand) if isinstance(operand, tuple) else None
    maker = _BOUNDS.get(kind)
    # Not `bool`: a switch is no number.
    return maker(float(operand)) if maker is not None and type(operand) in _NUMBERS else None  # type: ignore[arg-type]  # a number


def column_test(kind: ObligationType, operand: PlainOperand, texts: Codes) -> ColumnTest | None:
    """None exactly where `comparison_of` has none; `texts` numbers the texts of columns and operands alike."""
    bounds = bounds_of(kind, operand)
    if bounds is not None:
        return lambda column: within(bounds, column)
    wanted, is_negated = _MEMBERSHIP.get(kind, (None, False))
    test = None if wanted is None else wanted(operand, texts)
    return _negated(test) if test is not None and is_negated else test


def within(bounds: Bounds, column: Column) -> "ndarray":
    import numpy as np  # noqa: PLC0415  numpy is loaded with the first columns, not with the package

    is_inside = (column.numbers >= bounds.low) & (column.numbers <= bounds.high)
    answers = np.where(is_inside, np.uint8(Answer.YES), np.uint8(Answer.NO))
    answers[column.kinds != Kind.NUMBER] = Answer.UNKNOWN
    return answers


_NUMBERS = frozenset({int, float})
_RANGES = frozenset({ObligationType.MUST_BE_WITHIN, ObligationType.MUST_AVERAGE_WITHIN})
_TWO = 2


def _between(operand: tuple[Scalar, ...]) -> Bounds | None:
    ends = [float(end) for end in operand if type(end) in _NUMBERS]  # type: ignore[arg-type]  # a number
    return Bounds(*ends) if len(ends) == len(operand) == _TWO else None


def _at_most(limit: float) -> Bounds:
    return Bounds(-inf, limit)


def _at_least(limit: float) -> Bounds:
    return Bounds(limit, inf)


def _below(limit: float) -> Bounds:
    return Bounds(-inf, nextafter(limit, -inf))


def _above(limit: float) -> Bounds:
    return Bounds(nextafter(limit, inf), inf)


def _exactly(wanted: float) -> Bounds:
    return Bounds(wanted, wanted)


_BOUNDS: dict[ObligationType, Callable[[float], Bounds]] = {
    ObligationType.MUST: _exactly,
    ObligationType.SHOULD: _exactly,
    ObligationType.MUST_EQUAL: _exactly,
    ObligationType.MUST_NOT_EXCEED: _at_most,
    ObligationType.MUST_BE_AT_LEAST: _at_least,
    ObligationType.MUST_BE_BELOW: _below,
    ObligationType.MUST_BE_ABOVE: _above,
    ObligationType.MUST_NOT_EXCEED_IN_WINDOW: _at_most,
    ObligationType.MUST_BE_RECORDED_WITHIN: _below,
}


def _one_of(operand: PlainOperand, texts: Codes) -> ColumnTest | None:
    if not isinstance(operand, tuple) or not operand:
        return None
    numbers = [float(member) for member in operand if type(member) in _NUMBERS]  # type: ignore[arg-type]  # a number
    codes = [texts[member] for member in operand if isinstance(member, str)]
    switches = [member for member in operand if isinstance(member, bool)]
    other = Answer.NO if switches else Answer.UNKNOWN
    by_kind = {
        Kind.FALSE: Answer.YES if False in switches else other,
        Kind.TRUE: Answer.YES if True in switches else other,
        Kind.NUMBER: Answer.NO if numbers else Answer.UNKNOWN,
        Kind.TEXT: Answer.NO if codes else Answer.UNKNOWN,
    }

    of_kind = _by_kind(by_kind)

    def test(column: Column) -> "ndarray":
        import numpy as np  # noqa: PLC0415  see above

        answers = of_kind(column)
        if numbers:
            answers[np.isin(column.numbers, numbers)] = Answer.YES
        if codes:
            answers[np.isin(column.texts, codes)] = Answer.YES
        return answers

    return test


def _equal(operand: PlainOperand, texts: Codes) -> ColumnTest | None:
    return None if operand is None or isinstance(operand, tuple) else _one_of((operand,), texts)


def _must(operand: PlainOperand, texts: Codes) -> ColumnTest | None:
    if operand is None:
        return _by_kind(_NOT_FALSE)
    return _one_of(operand, texts) if isinstance(operand, tuple) else _equal(operand, texts)


_NOT_FALSE = {
    Kind.FALSE: Answer.NO,
    Kind.TRUE: Answer.YES,
    Kind.NUMBER: Answer.YES,
    Kind.TEXT: Answer.YES,
}
_MEMBERSHIP: dict[ObligationType, tuple[Callable[[PlainOperand, Codes], ColumnTest | None], bool]] = {
    ObligationType.MUST: (_must, False),
    ObligationType.SHOULD: (_must, False),
    ObligationType.MUST_NOT: (_must, True),
    ObligationType.MUST_BE_ONE_OF: (_one_of, False),
    ObligationType.MUST_NOT_BE_ONE_OF: (_one_of, True),
    ObligationType.MUST_EQUAL: (_equal, False),
    ObligationType.MUST_NOT_EQUAL: (_equal, True),
}


def _by_kind(answers: dict[Kind, Answer]) -> ColumnTest:
    import numpy as np  # noqa: PLC0415  see above

    table = np.array([answers.get(kind, Answer.UNKNOWN) for kind in Kind], np.uint8)
    return lambda column: table.take(column.kinds)


def _negated(test: ColumnTest) -> ColumnTest:
    return lambda column: Answer.YES - test(column)
