"""Windows over columns: what `window` finds for one record, found for every record of a history in a few steps.

plan + history in order of time -> an Answer for each row, or None where arrays could not be exact
Sums are of integers: where every number of a metric is a whole number of the same power of ten, the sum of 64-bit
integers is the sum of the decimals. Where that, or anything else, cannot be had exactly, rows are judged one by one.
"""

from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

from assay.verdicts.columns import NOBODY, Codes, Column, Columns, Kind
from assay.verdicts.columns_compare import Answer, Bounds, bounds_of
from assay.verdicts.graph.obligation_type import ObligationType
from assay.verdicts.window_fact import WindowKind, span_seconds
from assay.verdicts.window_plan import WindowPlan

if TYPE_CHECKING:
    from numpy import ndarray

# Products and sums stay below this, so that they never leave 64 bits.
_ROOM = 2**62
# A decimal of at most 15 digits is the only one that its binary64 stands for.
_DIGITS = 10**15
_PLACES = range(13)
_MICROSECONDS = 1_000_000
_LONGEST = 10**18


@dataclass(frozen=True, slots=True)
class History:
    """Rows by subject, then by time: `order` are their numbers, `first` the places at which their subjects begin.

    The rows themselves must be in order of time: of two at one moment, the one with the lesser name is the earlier.
    """

    order: "ndarray"
    first: "ndarray"
    moments: "ndarray"

    def begin(self, span: int) -> "ndarray":
        """For each place, that of the subject's earliest row which is less than `span` before it."""
        import numpy as np  # noqa: PLC0415  numpy is loaded with the first columns, not with the package

        begins = np.empty_like(self.first)
        starts = np.flatnonzero(self.first == np.arange(len(self.first)))
        for start, end in zip(starts, [*starts[1:], len(self.first)], strict=True):
            moments = self.moments[start:end]
            begins[start:end] = start + np.searchsorted(moments, moments - span, side="right")
        # Of no length at all, a window does not even hold its own row.
        bounded: ndarray = np.minimum(begins, np.arange(len(begins)) + 1)
        return bounded


def order_history(columns: Columns) -> History:
    import numpy as np  # noqa: PLC0415  see above

    order = np.argsort(columns.subjects, kind="stable")
    subjects, places = columns.subjects[order], np.arange(len(order))
    is_first = np.ones(len(order), bool)
    is_first[1:] = subjects[1:] != subjects[:-1]
    return History(order, np.maximum.accumulate(np.where(is_first, places, 0)), columns.moments[order])


def window_answers(plan: WindowPlan, column: Column, history: History, units: Codes) -> "ndarray | None":
    """Whether each row's window meets its demand; the order is that of the rows."""
    import numpy as np  # noqa: PLC0415  see above

    if plan.conversions or plan.requires_unit:
        return None
    ordered = column.at(history.order)
    unit = NOBODY if plan.unit is None else units[plan.unit]
    if plan.kind is WindowKind.AGE:
        found = _age(plan, ordered, history)
    elif plan.kind is WindowKind.RUN:
        found = _run(plan, ordered, history, unit)
    else:
        found = _aggregate(plan, ordered, history, unit)
    if found is None:
        return None
    answers = np.empty_like(found)
    answers[history.order] = found
    return answers


def _age(plan: WindowPlan, column: Column, history: History) -> "ndarray | None":
    import numpy as np  # noqa: PLC0415  see above

    bounds = bounds_of(plan.demand, plan.operand)
    if bounds is None or (plan.is_freshness and bool((column.kinds == Kind.TEXT).any())):
        return None  # a text may state the instant of older evidence
    is_evidence = column.kinds != Kind.MISSING
    if plan.is_freshness:
        is_evidence &= column.kinds != Kind.FALSE
    latest = _before(is_evidence)
    is_found = latest >= history.first
    answers = _answers(bounds, (history.moments - history.moments[latest]) / _MICROSECONDS)
    nothing = Answer.NO if plan.is_freshness else Answer.UNKNOWN
    return np.where(is_found, answers, np.uint8(nothing))


def _run(plan: WindowPlan, column: Column, history: History, unit: int) -> "ndarray | None":
    import numpy as np  # noqa: PLC0415  see above

    kept = None if plan.kept is None else bounds_of(*plan.kept)
    lasting = bounds_of(plan.demand, plan.operand)
    if kept is None or lasting is None:
        return None
    is_there = column.kinds != Kind.MISSING
    if unit == NOBODY and _named_units(column, is_there) > 1:
        return None
    is_unsure = is_there & ((column.kinds != Kind.NUMBER) | column.is_foreign(unit))
    is_stop = is_there & (is_unsure | ((column.numbers >= kept.low) & (column.numbers <= kept.high)))
    before = _before(is_there)
    is_start = is_there & ~is_stop & ((before < history.first) | is_stop[before])
    stop, start = _latest(is_stop), _latest(is_start)
    is_running = (start > stop) & (start >= history.first)
    length = np.where(is_running, history.moments - history.moments[start], 0)
    answers = _answers(lasting, length / _MICROSECONDS)
    # What is in doubt could only have made a run longer, and one that is long enough needs no more.
    is_open = ~is_running | (answers == Answer.YES)
    answers[(stop >= history.first) & is_unsure[stop] & is_open] = Answer.UNKNOWN
    answers[~is_there] = Answer.UNKNOWN
    return answers


def _aggregate(plan: WindowPlan, column: Column, history: History, unit: int) -> "ndarray | None":
    begins = history.begin(_reach(plan.seconds or 0))
    if plan.kind is WindowKind.COUNT:
        bounds = bounds_of(plan.demand, plan.operand)
        return None if bounds is None else _answers(bounds, _total(column.kinds != Kind.MISSING, begins))
    is_there = column.kinds != Kind.MISSING
    if unit == NOBODY and _named_units(column, is_there) > 1:
        return None
    is_number, is_foreign = column.kinds == Kind.NUMBER, column.is_foreign(unit)
    if plan.kind is WindowKind.MAXIMUM:
        answers = _maximum(plan, column, is_number & ~is_foreign, begins)
    else:
        answers = _sum(plan, column, begins)
    if answers is None:
        return None
    is_unsure = _total(is_there & (is_foreign | ~is_number), begins) > 0
    if plan.kind is WindowKind.MAXIMUM:
        is_unsure &= answers != Answer.NO  # one number of its own unit that is too much stays so beside anything
    answers[is_unsure | (_total(is_number, begins) == 0)] = Answer.UNKNOWN
    return answers


def _maximum(plan: WindowPlan, column: Column, is_counted: "ndarray", begins: "ndarray") -> "ndarray | None":
    """Of two overlapping stretches, each a power of two long, that cover the window together."""
    import numpy as np  # noqa: PLC0415  see above

    bounds = bounds_of(plan.demand, plan.operand)
    if bounds is None:
        return None
    highest = np.where(is_counted, column.numbers, -inf)
    ends = np.arange(len(begins)) + 1
    found, size = np.full(len(begins), -inf), 1
    while True:
        rows = np.flatnonzero((ends - begins >= size) & (ends - begins < 2 * size))
        found[rows] = np.maximum(highest[begins[rows]], highest[ends[rows] - size])
        if len(begins) < 2 * size:
            return _answers(bounds, found)
        highest, size = np.maximum(highest[: len(highest) - size], highest[size:]), 2 * size


def _sum(plan: WindowPlan, column: Column, begins: "ndarray") -> "ndarray | None":
    """Decided by total * q <= weight * p for a limit p / q: in integers, or not at all."""
    import numpy as np  # noqa: PLC0415  see above

    limits = _limits(plan)
    scaled = _scaled(column)
    if limits is None or scaled is None:
        return None
    whole, scale = scaled
    total = _total(whole, begins)
    counted = _total(column.kinds == Kind.NUMBER, begins)
    weight = counted if plan.kind is WindowKind.AVERAGE else np.ones_like(total)
    is_met = np.ones(len(total), bool)
    for limit, side in limits:
        ours = max(1, int(np.abs(total).max(initial=0))) * limit.denominator
        theirs = max(1, int(weight.max(initial=0))) * scale * abs(limit.numerator)
        if max(ours, theirs) >= _ROOM:
            return None
        difference = total * limit.denominator - weight * (limit.numerator * scale)
        is_met &= _SIDES[side](difference)
    return np.where(is_met, np.uint8(Answer.YES), np.uint8(Answer.NO))


_SIDES = {
    "<=": lambda difference: difference <= 0,
    ">=": lambda difference: difference >= 0,
    "<": lambda difference: difference < 0,
    ">": lambda difference: difference > 0,
    "==": lambda difference: difference == 0,
}
_DEMANDS = {
    ObligationType.MUST_NOT_EXCEED: "<=",
    ObligationType.MUST_BE_AT_LEAST: ">=",
    ObligationType.MUST_BE_BELOW: "<",
    ObligationType.MUST_BE_ABOVE: ">",
    ObligationType.MUST_EQUAL: "==",
}


def _limits(plan: WindowPlan) -> list[tuple[Fraction, str]] | None:
    exact = plan.exact
    if isinstance(exact, tuple):
        ends = [end for end in exact if isinstance(end, Fraction)]
        return list(zip(ends, (">=", "<="), strict=True))
    side = _DEMANDS.get(plan.demand)
    return None if side is None or not isinstance(exact, Fraction) else [(exact, side)]


def _scaled(column: Column) -> "tuple[ndarray, int] | None":
    """Every number times one power of ten, as integers; None where there is no such power, or sums could overflow."""
    import numpy as np  # noqa: PLC0415  see above

    numbers = np.where(column.kinds == Kind.NUMBER, column.numbers, 0.0)
    room = min(_DIGITS, _ROOM // (len(numbers) + 1))
    for places in _PLACES:
        scale = 10**places
        # Numbers beyond the room are refused just below.
        with np.errstate(over="ignore"):
            whole = np.rint(numbers * scale)
        if not (np.abs(whole) < room).all():
            return None
        # Dividing rounds correctly, so that this holds only for the decimal that the number stands for.
        if (whole / scale == numbers).all():
            return whole.astype(np.int64), scale
    return None


def _total(values: "ndarray", begins: "ndarray") -> "ndarray":
    """The sum over each window, its own row included."""
    import numpy as np  # noqa: PLC0415  see above

    sums = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=sums[1:])
    totals: ndarray = sums[1:] - sums[begins]
    return totals


def _answers(bounds: Bounds, numbers: "ndarray") -> "ndarray":
    import numpy as np  # noqa: PLC0415  see above

    is_met = (numbers >= bounds.low) & (numbers <= bounds.high)
    return np.where(is_met, np.uint8(Answer.YES), np.uint8(Answer.NO))


def _latest(marked: "ndarray") -> "ndarray":
    """The last marked place up to each, or NOBODY."""
    import numpy as np  # noqa: PLC0415  see above

    found: ndarray = np.maximum.accumulate(np.where(marked, np.arange(len(marked)), NOBODY))
    return found


def _before(marked: "ndarray") -> "ndarray":
    """The last marked place before each, or NOBODY."""
    import numpy as np  # noqa: PLC0415  see above

    found: ndarray = np.concatenate([[NOBODY], _latest(marked)[:-1]])
    return found


def _named_units(column: Column, is_there: "ndarray") -> int:
    import numpy as np  # noqa: PLC0415  see above

    return len(np.unique(column.units[is_there & (column.units != NOBODY)]))


def _reach(seconds: float) -> int:
    """The least number of microseconds that is not inside a window of so many seconds, as `window` decides it."""
    span = max(0, min(int(Fraction(seconds) * _MICROSECONDS), _LONGEST))
    while span > 0 and not _is_inside(span - 1, seconds):
        span -= 1
    while span < _LONGEST and _is_inside(span, seconds):
        span += 1
    return span


def _is_inside(span: int, seconds: float) -> bool:
    return span_seconds(timedelta(microseconds=span)) < seconds
