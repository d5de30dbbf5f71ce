"""Averages, sums, counts and maxima of a window, and runs: exact where they decide, else in doubt."""

import math
from collections.abc import Sequence
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from fractions import Fraction
from typing import NamedTuple

from assay.kernel.instant import Instant
from assay.verdicts.comparison import exact_number, is_number, plain_number, shown_fraction
from assay.verdicts.graph.obligation_type import ObligationType
from assay.verdicts.telemetry import Reading, Scalar, find_reading
from assay.verdicts.window_fact import BufferedRecord, WindowDoubt, WindowFact, WindowKind, span_seconds
from assay.verdicts.window_plan import WindowPlan

# Wide enough for any sum of numbers that binary64 keeps; rounding would be an error of ours, so it raises.
_EXACT = Context(prec=1000, Emin=-1_000_000, Emax=1_000_000, traps=[Inexact, InvalidOperation, Overflow])
# What is shown of an average: as many digits as always survive binary64.
_SHOWN = Context(prec=15, traps=[InvalidOperation, Overflow])


def aggregate_fact(
    plan: WindowPlan, records: Sequence[BufferedRecord], dropped_until: Instant | None, *, is_cautious: bool
) -> WindowFact:
    as_of, seconds = records[-1].timestamp, plan.seconds or 0
    inside = [record for record in records if span_seconds(as_of - record.timestamp) < seconds]
    found = [
        (record.timestamp, reading)
        for record in inside
        if (reading := find_reading(record.readings, plan.metric)) is not None and reading.value is not None
    ]
    readings = [_own(plan, reading) for _, reading in found]
    is_cut = dropped_until is not None and span_seconds(as_of - dropped_until) < seconds
    # First what cannot be compared at all: records that are missing may still leave a certain breach, a unit never.
    doubt = _doubt(plan, readings) or (WindowDoubt.WINDOW if is_cut else None)
    if not is_cautious and doubt is not None and _is_certain(plan, readings):
        doubt = None
    shown, total = _aggregate(plan, readings if doubt is not None else _counted(plan, readings))
    return WindowFact(
        obligation_id=plan.obligation_id,
        kind=plan.kind,
        metric=plan.metric,
        window_seconds=plan.seconds,
        records=len(found),
        shown=shown,
        total=total,
        oldest_at=found[0][0] if found else None,
        newest_at=found[-1][0] if found else None,
        doubt=doubt,
    )


class _Value(NamedTuple):
    """A reading in the unit of its window, where that is declared: an exact number then."""

    value: Scalar | Fraction
    unit: str | None


def _own(plan: WindowPlan, reading: Reading) -> _Value:
    conversion = None if reading.unit is None or reading.unit == plan.unit else plan.conversions.get(reading.unit)
    if conversion is None or isinstance(reading.value, bool) or not isinstance(reading.value, int | float):
        return _Value(reading.value, reading.unit)
    return _Value(conversion.convert(reading.value), plan.unit)


def _test(plan: WindowPlan, value: Scalar | Fraction) -> bool | None:
    return plan.exact_test(value) if isinstance(value, Fraction) else plan.test(value)


def _is_certain(plan: WindowPlan, readings: Sequence[_Value]) -> bool:
    """Whether what is there decides, whatever would be found in place of what is in doubt."""
    if plan.kind is WindowKind.COUNT:
        return _is_over(plan, len(readings)) or _is_reached(plan, len(readings))
    return plan.kind is WindowKind.MAXIMUM and any(
        _test(plan, reading.value) is False for reading in _counted(plan, readings)
    )


def _counted(plan: WindowPlan, readings: Sequence[_Value]) -> Sequence[_Value]:
    """Those that the number is made of; a maximum that is exceeded for certain leaves out what cannot be compared."""
    if plan.kind is WindowKind.COUNT:
        return readings
    numbers = [one for one in readings if is_number(one.value)]
    if plan.kind is WindowKind.MAXIMUM and plan.unit is not None:
        return [one for one in numbers if one.unit == plan.unit or (one.unit is None and not plan.requires_unit)]
    return [] if _unit_doubt(plan, {one.unit for one in readings}) else numbers


def _doubt(plan: WindowPlan, readings: Sequence[_Value]) -> WindowDoubt | None:
    if plan.kind is WindowKind.COUNT:
        return None
    if not all(is_number(reading.value) for reading in readings):
        return WindowDoubt.KIND
    return _unit_doubt(plan, {reading.unit for reading in readings})


def _is_over(plan: WindowPlan, count: int) -> bool:
    """Whether so many are too many already: records that are missing can only be more."""
    if plan.kind is not WindowKind.COUNT or plan.test(count) is not False:
        return False
    top = plan.operand[-1] if isinstance(plan.operand, tuple) else plan.operand
    is_bounded = plan.demand not in (ObligationType.MUST_BE_AT_LEAST, ObligationType.MUST_BE_ABOVE)
    return is_bounded and isinstance(top, int | float) and count >= top


def _is_reached(plan: WindowPlan, count: int) -> bool:
    """Whether so many are enough already: records that are missing can only be more."""
    is_open = plan.demand in (ObligationType.MUST_BE_AT_LEAST, ObligationType.MUST_BE_ABOVE)
    return is_open and plan.test(count) is True


def _unit_doubt(plan: WindowPlan, units: set[str | None]) -> WindowDoubt | None:
    named = units - {None}
    if plan.requires_unit and None in units:
        return WindowDoubt.UNIT
    if plan.unit is not None:
        return WindowDoubt.UNIT if named - {plan.unit} else None
    # Without a unit in the graph the records must at least agree among themselves to be compared or added up.
    return WindowDoubt.UNIT if len(named) > 1 else None


def _aggregate(plan: WindowPlan, readings: Sequence[_Value]) -> tuple[int | float | None, str | None]:
    if plan.kind is WindowKind.COUNT:
        return len(readings), None
    if any(isinstance(reading.value, Fraction) for reading in readings):
        return _aggregate_exactly(plan, readings)
    values = [reading.value for reading in readings if isinstance(reading.value, int | float)]
    values = [value for value in values if is_number(value)]
    if not values or len(values) < len(readings):
        return None, None
    if plan.kind is WindowKind.MAXIMUM:
        return max(values), None
    total = Decimal(0)
    for value in values:
        total = _EXACT.add(total, Decimal(repr(value)))
    exact = total if plan.kind is WindowKind.SUM else _SHOWN.divide(total, Decimal(len(values)))
    shown = plain_number(_SHOWN.plus(exact))
    # What no record could hold can be neither shown nor recorded: a person looks at it.
    return (shown, str(total)) if math.isfinite(shown) else (None, None)


def _aggregate_exactly(plan: WindowPlan, readings: Sequence[_Value]) -> tuple[int | float | None, str | None]:
    """As `_aggregate`, of numbers that a conversion made fractions; the text is a fraction where no decimal ends."""
    values = [one.value if isinstance(one.value, Fraction) else _fraction(one.value) for one in readings]
    numbers = [value for value in values if value is not None]
    if len(numbers) < len(readings):
        return None, None
    total = max(numbers) if plan.kind is WindowKind.MAXIMUM else sum(numbers, Fraction(0))
    shown = shown_fraction(total / len(numbers) if plan.kind is WindowKind.AVERAGE else total)
    return (None, None) if shown is None else (shown, str(total))


def _fraction(value: Scalar | Fraction) -> Fraction | None:
    return exact_number(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def run_fact(plan: WindowPlan, records: Sequence[BufferedRecord], dropped_until: Instant | None) -> WindowFact:
    """How long the comparison has failed without a break, up to the current record; 0 where it does not fail now.

    A reading that cannot be compared ends the search: what it leaves in doubt is how much longer the run is, which no
    longer matters once it is long enough.
    """
    as_of, count, start, doubt = records[-1].timestamp, 0, None, None
    is_broken, units = False, set[str | None]()
    for record in reversed(records):
        reading = find_reading(record.readings, plan.metric)
        if reading is None or reading.value is None:
            continue
        own = _own(plan, reading)
        failing = plan.exact_failing if isinstance(own.value, Fraction) else plan.failing
        truth = None if failing is None else failing(own.value)
        count += 1
        units.add(own.unit)
        doubt = _doubt(plan, [own]) or (WindowDoubt.KIND if truth is None else _unit_doubt(plan, units))
        if doubt is not None or truth:
            is_broken = True
            break
        start = record.timestamp
    current = find_reading(records[-1].readings, plan.metric)
    run = span_seconds(as_of - (start or as_of))
    is_long = start is not None and run >= (plan.seconds or 0)
    if is_long:
        doubt = None
    elif not is_broken and dropped_until is not None:
        doubt = WindowDoubt.WINDOW
    return WindowFact(
        obligation_id=plan.obligation_id,
        kind=plan.kind,
        metric=plan.metric,
        window_seconds=plan.seconds,
        records=count,
        shown=None if current is None or current.value is None else run,
        oldest_at=start,
        newest_at=as_of,
        doubt=doubt,
    )
