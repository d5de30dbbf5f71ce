"""How an obligation looks at earlier records: obligation -> plan_window -> WindowPlan, if it does and can be judged."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from assay.verdicts.comparison import (
    COMPARED,
    Comparison,
    ExactOperand,
    PlainOperand,
    comparison_of,
    exact_number,
    exact_operand,
    nfc,
    plain_number,
    plain_operand,
)
from assay.verdicts.graph.condition import Operand
from assay.verdicts.graph.obligation import FlatPredicate, Obligation, PredicateName, has_fitting_type, window_of
from assay.verdicts.graph.obligation_type import ObligationType
from assay.verdicts.graph.unit import Conversion
from assay.verdicts.telemetry import Scalar
from assay.verdicts.window_fact import WindowKind

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
_Demand: TypeAlias = tuple[ObligationType, Operand]


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """How one obligation looks at earlier records, and the tests of what it finds: on the number shown, and exactly.

    `kept` is, for a run, the demand that must fail without a break, and `failing` its test. `conversions` are units
    that can become its own; `requires_unit`: every number must name its unit.
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
    exact_failing: Comparison | None = None
    conversions: Mapping[str, Conversion] = field(default_factory=dict)
    requires_unit: bool = False


def plan_window(
    obligation: Obligation, conversions: Iterable[Conversion] = (), *, requires_unit: bool = False
) -> WindowPlan | None:
    """None where the obligation looks at the record alone, or lacks what it needs to be judged."""
    plan = _plan_any(obligation)
    if plan is None or plan.unit is None or plan.kind is WindowKind.COUNT:
        return plan
    known = {nfc(one.source): one for one in conversions}
    return replace(plan, conversions=known, requires_unit=requires_unit) if known or requires_unit else plan


def _plan_any(obligation: Obligation) -> WindowPlan | None:
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
        exact_failing=None if kept is None else comparison_of(kept[0], _fractions(kept[1])),
    )


def _fractions(operand: PlainOperand) -> ExactOperand:
    if isinstance(operand, tuple):
        return tuple(_fraction(part) for part in operand)
    return _fraction(operand)


def _fraction(value: Scalar) -> Scalar | Fraction:
    return value if isinstance(value, bool | str) or value is None else exact_number(value)


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
