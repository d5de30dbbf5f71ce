"""Windows: what earlier records of a subject say, computed once, stored with the entry and never looked up again.

obligation -> plan_window -> WindowPlan; plans + record + earlier records -> window_facts -> WindowFact for each
The clock is the record's timestamp (SKI 12, `as_of`), and a window is (as_of - w, as_of]. Records later than `as_of`
are not looked at, so a late record takes its place in time. Freshness and `since_last` leave the current record out.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from enum import StrEnum
from fractions import Fraction
from typing import TypeAlias

from msgspec import Struct

from assay.kernel.errors import TypeFormError
from assay.kernel.instant import Instant, parse_instant
from assay.verdicts.comparison import (
    COMPARED,
    Comparison,
    ExactOperand,
    PlainOperand,
    comparison_of,
    exact_operand,
    is_number,
    nfc,
    plain_number,
    plain_operand,
)
from assay.verdicts.graph.condition import Operand
from assay.verdicts.graph.obligation import FlatPredicate, Obligation, PredicateName, has_fitting_type, window_of
from assay.verdicts.graph.obligation_type import ObligationType
from assay.verdicts.telemetry import Reading, Telemetry, find_reading

__all__ = [
    "BufferState",
    "BufferedRecord",
    "WindowDoubt",
    "WindowFact",
    "WindowKind",
    "WindowPlan",
    "buffer_record",
    "exact_value",
    "facts_at",
    "is_windowed",
    "plan_window",
    "span_seconds",
    "window_facts",
]

# Wide enough for any sum of numbers that binary64 keeps; rounding would be an error of ours, so it raises.
_EXACT = Context(prec=1000, Emin=-1_000_000, Emax=1_000_000, traps=[Inexact, InvalidOperation, Overflow])
# What is shown of an average: as many digits as always survive binary64.
_SHOWN = Context(prec=15, traps=[InvalidOperation, Overflow])


class WindowKind(StrEnum):
    """Which number a window comes to."""

    AVERAGE = "average"
    SUM = "sum"
    COUNT = "count"
    MAXIMUM = "maximum"
    AGE = "age"  # seconds since the latest evidence before this record
    RUN = "run"  # for how many seconds the comparison has failed without a break


class WindowDoubt(StrEnum):
    """Why a window cannot be trusted to be whole; the names are those of `Doubt`."""

    KIND = "kind"
    UNIT = "unit"
    WINDOW = "window"  # records that belong to it were dropped


class WindowFact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a window came to; everything that decides is in here.

    `shown` is the number that the model is told and that an assertion calls observed. `total` is the exact sum, as
    text, for sums and averages: these are decided by it and `records`, never by the rounded number.
    """

    obligation_id: str
    kind: WindowKind
    metric: str
    window_seconds: int | float | None
    records: int
    shown: int | float | None = None
    total: str | None = None
    oldest_at: Instant | None = None
    newest_at: Instant | None = None
    doubt: WindowDoubt | None = None


class BufferedRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is kept of a record for the windows of later ones; per tenant and subject."""

    telemetry_id: str
    timestamp: Instant
    readings: dict[str, Reading]


class BufferState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The telemetry buffer of one subject, as Level 2 asks to see it (SKI 9.2)."""

    subject: str
    records: int
    oldest_at: Instant | None
    newest_at: Instant | None
    dropped_until: Instant | None
    keep_seconds: int | float


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """How one obligation looks at earlier records, and the tests of what it finds: on the number shown, and exactly.

    `kept` is, for a run, the demand that must fail without a break, and `failing` its test.
    """

    obligation_id: str
    kind: WindowKind
    metric: str
    unit: str | None
    seconds: int | float | None
    demand: ObligationType
    operand: PlainOperand
    test: Comparison
    exact: ExactOperand
    exact_test: Comparison
    is_freshness: bool = False
    kept: tuple[ObligationType, PlainOperand] | None = None
    failing: Comparison | None = None


def plan_window(obligation: Obligation) -> WindowPlan | None:
    """None where the obligation looks at the record alone, or lacks what it needs to be judged."""
    predicate, kind, window = obligation.predicate, obligation.kind, window_of(obligation)
    if obligation.metric is None or not has_fitting_type(obligation):
        return None
    if predicate is not None and predicate.name in _FLAT_KINDS:
        return _plan_flat(obligation, predicate)
    if kind not in _KINDS or window is None:
        return None
    if kind is ObligationType.MUST_BE_RECORDED_WITHIN:
        return _plan(obligation, WindowKind.AGE, (kind, window), window, is_freshness=True)
    return _plan(obligation, _KINDS[kind], (kind, obligation.value), window)


def is_windowed(obligation: Obligation) -> bool:
    """Whether an obligation can only be judged with a plan."""
    predicate = obligation.predicate
    return obligation.kind in _KINDS or (predicate is not None and predicate.name in _FLAT_KINDS)


def window_facts(
    plans: Iterable[WindowPlan],
    telemetry: Telemetry,
    earlier: Sequence[BufferedRecord],
    *,
    dropped_until: Instant | None = None,
) -> dict[str, WindowFact]:
    """One fact for each plan, by obligation.

    `earlier` are the subject's kept records in any order; those after `as_of` and a copy of this very record are passed
    over. `dropped_until` is up to when records may have been dropped: a window that reaches back there is in doubt.
    """
    return facts_at(plans, buffer_record(telemetry), earlier, dropped_until=dropped_until)


def facts_at(
    plans: Iterable[WindowPlan],
    now: BufferedRecord,
    earlier: Sequence[BufferedRecord],
    *,
    dropped_until: Instant | None = None,
    is_cautious: bool = False,
) -> dict[str, WindowFact]:
    """The same for a record of which no more is known than what is kept of it.

    `is_cautious` keeps every doubt, also one that can no longer matter: so facts were once found, and stored.
    """
    before = [
        record for record in earlier if record.timestamp <= now.timestamp and record.telemetry_id != now.telemetry_id
    ]
    before.sort(key=lambda record: (record.timestamp, record.telemetry_id))
    return {plan.obligation_id: _fact(plan, now, before, dropped_until, is_cautious=is_cautious) for plan in plans}


def exact_value(fact: WindowFact) -> Fraction | None:
    """The sum or average that decides; None for a fact whose shown number is exact."""
    if fact.total is None:
        return None
    total = Fraction(Decimal(fact.total))
    return total / fact.records if fact.kind is WindowKind.AVERAGE else total


def buffer_record(telemetry: Telemetry) -> BufferedRecord:
    return BufferedRecord(
        telemetry_id=telemetry.telemetry_id, timestamp=telemetry.timestamp, readings=telemetry.readings
    )


_KINDS = {
    ObligationType.MUST_BE_RECORDED_WITHIN: WindowKind.AGE,
    ObligationType.MUST_AVERAGE_WITHIN: WindowKind.AVERAGE,
    ObligationType.MUST_NOT_EXCEED_IN_WINDOW: WindowKind.MAXIMUM,
}
_FLAT_KINDS = {
    PredicateName.WINDOW_COUNT: WindowKind.COUNT,
    PredicateName.WINDOW_SUM: WindowKind.SUM,
    PredicateName.WINDOW_AVG: WindowKind.AVERAGE,
    PredicateName.SINCE_LAST: WindowKind.AGE,
    PredicateName.DEBOUNCE: WindowKind.RUN,
}
# How a date begins in ISO 8601, and two ways in which RFC 3339 is finer than an instant of ours.
_DATED = re.compile(r"\s*\d{4}-?\d\d-?\d\d(?:[Tt\s-]|\s*\Z)", re.ASCII)
_LEAP = re.compile(r"(\A\d{4}-\d\d-\d\d[Tt]\d\d:\d\d):60(?:\.\d+)?([Zz+-])", re.ASCII)
_FINER = re.compile(r"(\.\d{6})\d+(?=[Zz+-])", re.ASCII)
_MICROSECOND = timedelta(microseconds=1)
_MICROSECONDS = Decimal(1_000_000)
_Demand: TypeAlias = tuple[ObligationType, Operand]


def _plan(
    obligation: Obligation,
    kind: WindowKind,
    demand: _Demand | None,
    window: Decimal | None,
    *,
    is_freshness: bool = False,
    kept: tuple[ObligationType, PlainOperand] | None = None,
) -> WindowPlan | None:
    if demand is None:
        return None
    operand = plain_operand(demand[1])
    test = comparison_of(demand[0], operand)
    exact = exact_operand(demand[1])
    exact_test = comparison_of(demand[0], exact)
    if test is None or exact_test is None:
        return None
    return WindowPlan(
        obligation_id=obligation.id,
        kind=kind,
        metric=obligation.metric or "",
        unit=None if kind is WindowKind.AGE or obligation.unit is None else nfc(obligation.unit),
        seconds=None if window is None else plain_number(window),
        demand=demand[0],
        operand=operand,
        test=test,
        exact=exact,
        exact_test=exact_test,
        is_freshness=is_freshness,
        kept=kept,
        failing=None if kept is None else comparison_of(*kept),
    )


def _plan_flat(obligation: Obligation, predicate: FlatPredicate) -> WindowPlan | None:
    kind, seconds = _FLAT_KINDS[predicate.name], predicate.seconds
    if kind is WindowKind.AGE:
        limit = seconds if predicate.value_seconds is None else predicate.value_seconds
        compared = None if predicate.op is None or limit is None else (COMPARED[predicate.op], limit)
        return _plan(obligation, kind, compared, None)
    if seconds is None:
        return None
    if kind is not WindowKind.RUN:
        return _plan(obligation, kind, _flat_demand(predicate), seconds)
    demand = _flat_demand(predicate)
    kept = None if demand is None else (demand[0], plain_operand(demand[1]))
    is_judged = kept is not None and comparison_of(*kept) is not None
    lasting = (ObligationType.MUST_BE_BELOW, seconds) if is_judged else None
    return _plan(obligation, kind, lasting, seconds, kept=kept)


def _flat_demand(predicate: FlatPredicate) -> _Demand | None:
    low, high = predicate.min, predicate.max
    if predicate.op is not None and predicate.value is not None:
        return COMPARED[predicate.op], predicate.value
    if low is not None and high is not None:
        return ObligationType.MUST_BE_WITHIN, (low, high)
    if low is not None:
        return ObligationType.MUST_BE_AT_LEAST, low
    return None if high is None else (ObligationType.MUST_NOT_EXCEED, high)


def _fact(
    plan: WindowPlan,
    now: BufferedRecord,
    before: Sequence[BufferedRecord],
    dropped_until: Instant | None,
    *,
    is_cautious: bool,
) -> WindowFact:
    if plan.kind is WindowKind.AGE:
        return _age_fact(plan, now, before, dropped_until, is_cautious=is_cautious)
    if plan.kind is WindowKind.RUN:
        return _run_fact(plan, (*before, now), dropped_until)
    return _aggregate_fact(plan, (*before, now), dropped_until, is_cautious=is_cautious)


def _age_fact(
    plan: WindowPlan,
    now: BufferedRecord,
    before: Sequence[BufferedRecord],
    dropped_until: Instant | None,
    *,
    is_cautious: bool,
) -> WindowFact:
    """The current record is left out: its own instant is no evidence, only one before it that its value states.

    Lost records could only add evidence: where the record itself states an instant in the window, they are not missed.
    """
    evidence = [moment for record in before if (moment := _evidence_at(plan, record)) is not None]
    stated = _stated_instant(plan, now)
    if stated is not None and stated < now.timestamp:
        evidence.append(stated)
    latest = max(evidence, default=None)
    is_unsure = (
        dropped_until is not None
        and (latest is None or latest <= dropped_until)
        and (plan.seconds is None or span_seconds(now.timestamp - dropped_until) < plan.seconds)
        and (is_cautious or not _is_recent(plan, latest, now.timestamp))
    )
    return WindowFact(
        obligation_id=plan.obligation_id,
        kind=plan.kind,
        metric=plan.metric,
        window_seconds=plan.seconds,
        records=len(evidence),
        shown=None if latest is None or is_unsure else span_seconds(now.timestamp - latest),
        newest_at=latest,
        doubt=WindowDoubt.WINDOW if is_unsure else None,
    )


def _is_recent(plan: WindowPlan, latest: Instant | None, as_of: Instant) -> bool:
    """Whether it is recent enough already: what is missing could only be later."""
    is_bounded = plan.is_freshness or plan.demand in (ObligationType.MUST_NOT_EXCEED, ObligationType.MUST_BE_BELOW)
    return is_bounded and latest is not None and plan.test(span_seconds(as_of - latest)) is True


def _evidence_at(plan: WindowPlan, record: BufferedRecord) -> Instant | None:
    """When there was evidence, by a record; `since_last` asks for the record alone, whatever it says.

    `inspected: false` says that there is none. A record tells of no later time than its own: that would be a plan. A
    text that begins as a date and names no instant leaves open when it was.
    """
    reading = find_reading(record.readings, plan.metric)
    if reading is None or reading.value is None:
        return None
    if not plan.is_freshness:
        return record.timestamp
    if reading.value is False:
        return None
    stated = _stated_instant(plan, record)
    if stated is not None:
        return stated if stated <= record.timestamp else None
    return None if isinstance(reading.value, str) and _DATED.match(reading.value) else record.timestamp


def _stated_instant(plan: WindowPlan, record: BufferedRecord) -> Instant | None:
    """The instant in a text, to the microsecond below; a leap second is the last microsecond before it ends."""
    reading = find_reading(record.readings, plan.metric)
    if not plan.is_freshness or reading is None or not isinstance(reading.value, str):
        return None
    text = _FINER.sub(r"\1", _LEAP.sub(r"\1:59.999999\2", reading.value))
    try:
        return parse_instant(text)
    except TypeFormError:
        return None


def _aggregate_fact(
    plan: WindowPlan, records: Sequence[BufferedRecord], dropped_until: Instant | None, *, is_cautious: bool
) -> WindowFact:
    as_of, seconds = records[-1].timestamp, plan.seconds or 0
    inside = [record for record in records if span_seconds(as_of - record.timestamp) < seconds]
    found = [
        (record.timestamp, reading)
        for record in inside
        if (reading := find_reading(record.readings, plan.metric)) is not None and reading.value is not None
    ]
    readings = [reading for _, reading in found]
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


def _is_certain(plan: WindowPlan, readings: Sequence[Reading]) -> bool:
    """Whether what is there decides, whatever would be found in place of what is in doubt."""
    if plan.kind is WindowKind.COUNT:
        return _is_over(plan, len(readings)) or _is_reached(plan, len(readings))
    return plan.kind is WindowKind.MAXIMUM and any(
        plan.test(reading.value) is False for reading in _counted(plan, readings)
    )


def _counted(plan: WindowPlan, readings: Sequence[Reading]) -> Sequence[Reading]:
    """Those that the number is made of; a maximum that is exceeded for certain leaves out what cannot be compared."""
    if plan.kind is WindowKind.COUNT:
        return readings
    numbers = [one for one in readings if is_number(one.value)]
    if plan.kind is WindowKind.MAXIMUM and plan.unit is not None:
        return [one for one in numbers if one.unit is None or one.unit == plan.unit]
    return [] if _unit_doubt(plan, {one.unit for one in readings}) else numbers


def _doubt(plan: WindowPlan, readings: Sequence[Reading]) -> WindowDoubt | None:
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
    if plan.unit is not None:
        return WindowDoubt.UNIT if named - {plan.unit} else None
    # Without a unit in the graph the records must at least agree among themselves to be compared or added up.
    return WindowDoubt.UNIT if len(named) > 1 else None


def _aggregate(plan: WindowPlan, readings: Sequence[Reading]) -> tuple[int | float | None, str | None]:
    if plan.kind is WindowKind.COUNT:
        return len(readings), None
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


def _run_fact(plan: WindowPlan, records: Sequence[BufferedRecord], dropped_until: Instant | None) -> WindowFact:
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
        truth = None if plan.failing is None else plan.failing(reading.value)
        count += 1
        units.add(reading.unit)
        doubt = _doubt(plan, [reading]) or (WindowDoubt.KIND if truth is None else _unit_doubt(plan, units))
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


def span_seconds(span: timedelta) -> int | float:
    return plain_number(Decimal(span // _MICROSECOND) / _MICROSECONDS)
