"""Predicates: what one obligation demands, decided for one record, exactly and in three ways.

obligation -> compile_check -> Check; Check + readings + window facts -> judge -> Judgement
Satisfied, breached, or undetermined with the reason: missing data is never compliant, and a unit is converted only as
the graph declares, by exact fractions.
An exemption is looked at only where the predicate is not met; one that needs a person leaves the obligation to one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from msgspec import Struct

from assay.verdicts.comparison import (
    Comparison,
    PlainOperand,
    comparison_of,
    exact_operand,
    nfc,
    plain_number,
    plain_operand,
    shown_fraction,
)
from assay.verdicts.graph.condition import Condition
from assay.verdicts.graph.node import Exemption
from assay.verdicts.graph.obligation import Obligation, PredicateName, has_fitting_type, window_of
from assay.verdicts.graph.obligation_type import ObligationType
from assay.verdicts.graph.unit import Conversion
from assay.verdicts.telemetry import Reading, Scalar, find_reading
from assay.verdicts.window_fact import WindowDoubt, WindowFact, WindowKind, exact_value
from assay.verdicts.window_plan import WindowPlan, is_windowed, plan_window


class Outcome(StrEnum):
    """What an obligation comes to, exemptions included."""

    SATISFIED = "satisfied"
    BREACHED = "breached"
    STALE = "stale"  # freshness unmet
    UNFOLLOWED = "unfollowed"  # a recommendation that was not followed
    EXEMPT = "exempt"  # not met, and a formal exemption holds
    UNDETERMINED = "undetermined"


class Doubt(StrEnum):
    """Why an obligation is undetermined."""

    DISCRETIONARY = "discretionary"
    UNKNOWN_TYPE = "unknown_type"
    NOT_FORMAL = "not_formal"  # no metric, an operand that its type cannot use, or a predicate that it cannot demand
    MISSING = "missing"
    KIND = "kind"
    UNIT = "unit"
    WINDOW = "window"
    EXEMPTION = "exemption"


class Judgement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """`truth` is the predicate's alone, `outcome` what follows with exemptions."""

    obligation_id: str
    truth: bool | None
    outcome: Outcome
    doubt: Doubt | None = None
    exemption_id: str | None = None


@dataclass(frozen=True, slots=True)
class WaiverCondition:
    """One condition of an exemption, ready to be judged."""

    metric: str
    predicate: ObligationType
    value: PlainOperand
    unit: str | None
    test: Comparison


@dataclass(frozen=True, slots=True)
class Waiver:
    """An exemption of one obligation: all its conditions must hold; None where a person must judge."""

    exemption_id: str
    conditions: tuple[WaiverCondition, ...] | None


@dataclass(frozen=True, slots=True)
class Check:
    """An obligation made ready to be judged many times.

    `doubt` is set where no record can determine it: then it is not formalizable. `plan` is how to look at earlier
    records, where it must. `satisfied` and `breached` are its judgements where the predicate is true or false and no
    exemption has a say. `conversions` are units that can become its own, by their names, and `exact_test` compares what
    they come to; `requires_unit`: a measurement must name its unit.
    """

    obligation_id: str
    predicate: str
    metric: str
    value: PlainOperand
    unit: str | None
    window_seconds: int | float | None
    test: Comparison
    satisfied: Judgement
    breached: Judgement
    waivers: tuple[Waiver, ...] = ()
    plan: WindowPlan | None = None
    is_presence: bool = False
    doubt: Doubt | None = None
    conversions: Mapping[str, Conversion] = field(default_factory=dict)
    exact_test: Comparison | None = None
    requires_unit: bool = False


def compile_check(
    obligation: Obligation,
    exemptions: Sequence[Exemption] = (),
    *,
    conversions: Iterable[Conversion] = (),
    requires_unit: bool = False,
) -> Check:
    """Total: an obligation that a machine cannot judge compiles to a check that says so."""
    conversions = list(conversions)
    plan = plan_window(obligation, conversions, requires_unit=requires_unit)
    test = _test(obligation, plan)
    known = {nfc(one.source): one for one in conversions} if plan is None and test is not None else {}
    kind = obligation.kind
    return Check(
        obligation_id=obligation.id,
        predicate=obligation.obligation_type,
        metric=obligation.metric or "",
        value=plain_operand(obligation.value),
        unit=None if obligation.unit is None or is_windowed(obligation) else nfc(obligation.unit),
        window_seconds=_window_seconds(obligation, plan),
        test=test or _undecided,
        satisfied=Judgement(obligation_id=obligation.id, truth=True, outcome=Outcome.SATISFIED),
        breached=Judgement(obligation_id=obligation.id, truth=False, outcome=_unmet(obligation, plan)),
        waivers=tuple(_waiver(exemption) for exemption in exemptions),
        plan=plan,
        is_presence=obligation.predicate is not None and obligation.predicate.name is PredicateName.EXISTS,
        doubt=_standing_doubt(obligation, test),
        conversions=known,
        exact_test=comparison_of(kind, exact_operand(obligation.value)) if known and kind is not None else None,
        requires_unit=requires_unit and obligation.unit is not None and plan is None,
    )


def judge(check: Check, readings: Mapping[str, Reading], facts: Mapping[str, WindowFact]) -> Judgement:
    """What the record says about an obligation. Total: every input has a judgement."""
    if _is_plainly_met(check, readings):
        return check.satisfied
    if check.doubt is not None:
        return _undetermined(check, check.doubt)
    truth, doubt = _truth(check, readings, facts)
    if truth:
        return check.satisfied
    unmet = check.breached if truth is False else _undetermined(check, doubt or Doubt.KIND)
    return _waived(check.waivers, readings, unmet) if check.waivers else unmet


def observe(check: Check, readings: Mapping[str, Reading], facts: Mapping[str, WindowFact]) -> Scalar:
    """The value that decides an obligation, as an assertion states it.

    None where it is missing, and where it is not one to compare: in another unit, of another kind, or of a window in
    doubt.
    """
    if check.plan is not None:
        fact = facts.get(check.obligation_id)
        is_decided = _window_truth(check, check.plan, fact)[0] is not None
        return fact.shown if fact is not None and is_decided else None
    reading = find_reading(readings, check.metric)
    if reading is None:
        return None
    converted = converted_value(check, reading)
    if converted is not None:
        return shown_fraction(converted)
    if not is_comparable(check, reading) or check.test(reading.value) is None:
        return None
    return reading.value


def converted_value(check: Check, reading: Reading) -> Fraction | None:
    """A number of another unit in the obligation's own, exactly; None where nothing is converted."""
    conversion = None if reading.unit is None or reading.unit == check.unit else check.conversions.get(reading.unit)
    if conversion is None or isinstance(reading.value, bool) or not isinstance(reading.value, int | float):
        return None
    return conversion.convert(reading.value)


def is_comparable(check: Check, reading: Reading) -> bool:
    """Whether a number may be compared as it stands: in the obligation's unit, or in none where none is required."""
    return not _is_foreign(check.unit, reading) and not (check.requires_unit and reading.unit is None)


def meets(predicate: str, value: PlainOperand, observed: Scalar, window_seconds: float | None) -> bool | None:
    """Whether a claimed observation meets a claimed predicate and operand; None where that cannot be said."""
    if observed is None or predicate not in _TYPES:
        return None
    kind = _TYPES[predicate]
    test = comparison_of(kind, window_seconds if kind is ObligationType.MUST_BE_RECORDED_WITHIN else value)
    return None if test is None else test(observed)


def has_doubt(checks: Iterable[Check], *doubts: Doubt) -> bool:
    return any(check.doubt in doubts for check in checks)


_TYPES = {kind.value: kind for kind in ObligationType}
# A sum or an average can move either way with one more record; these only move towards the breach. That is so for
# records that are missing; a number of another unit or kind is none that could be compared.
ONLY_WORSE = frozenset({WindowKind.MAXIMUM, WindowKind.RUN})


def _is_plainly_met(check: Check, readings: Mapping[str, Reading]) -> bool:
    """Most obligations are about one value and are met: these are spared the rest, which would say the same."""
    reading = readings.get(check.metric)
    if reading is None or check.plan is not None or check.doubt is not None:
        return False
    if reading.unit != check.unit and ((reading.unit is not None and check.unit is not None) or check.requires_unit):
        return False
    return check.test(reading.value) is True


def _truth(
    check: Check, readings: Mapping[str, Reading], facts: Mapping[str, WindowFact]
) -> tuple[bool | None, Doubt | None]:
    if check.plan is not None:
        return _window_truth(check, check.plan, facts.get(check.obligation_id))
    reading = find_reading(readings, check.metric)
    if reading is None or reading.value is None:
        return (False, None) if check.is_presence else (None, Doubt.MISSING)
    converted = converted_value(check, reading)
    if converted is None and not is_comparable(check, reading):
        return None, Doubt.UNIT
    if converted is None:
        truth = check.test(reading.value)
    else:
        truth = None if check.exact_test is None else check.exact_test(converted)
    return truth, Doubt.KIND if truth is None else None


def _window_truth(check: Check, plan: WindowPlan, fact: WindowFact | None) -> tuple[bool | None, Doubt | None]:
    """INVARIANT: decided on the recorded fact alone, so that a replay decides the same."""
    if fact is None:
        return None, Doubt.WINDOW
    if fact.shown is None:
        # No evidence at all is what freshness is about; for anything else it is missing data.
        if plan.is_freshness and fact.doubt is None:
            return False, None
        return None, Doubt.MISSING if fact.doubt is None else Doubt(fact.doubt.value)
    exact = exact_value(fact)
    truth = check.test(fact.shown) if exact is None else plan.exact_test(exact)
    is_certain = truth is False and plan.kind in ONLY_WORSE and fact.doubt is WindowDoubt.WINDOW
    if fact.doubt is not None and not is_certain:
        return None, Doubt(fact.doubt.value)
    return truth, None


def _is_foreign(unit: str | None, reading: Reading) -> bool:
    """A unit is compared only where both sides name one."""
    return unit is not None and reading.unit is not None and reading.unit != unit


def _undetermined(check: Check, doubt: Doubt) -> Judgement:
    return Judgement(obligation_id=check.obligation_id, truth=None, outcome=Outcome.UNDETERMINED, doubt=doubt)


def _waived(waivers: Sequence[Waiver], readings: Mapping[str, Reading], unmet: Judgement) -> Judgement:
    """One exemption that holds is enough; failing that, one that a person must judge."""
    answers = [(waiver.exemption_id, _holds(waiver, readings)) for waiver in waivers]
    for wanted, outcome, doubt in ((True, Outcome.EXEMPT, None), (None, Outcome.UNDETERMINED, Doubt.EXEMPTION)):
        for exemption_id, holds in answers:
            if holds is wanted:
                return Judgement(
                    obligation_id=unmet.obligation_id,
                    truth=unmet.truth,
                    outcome=outcome,
                    doubt=doubt,
                    exemption_id=exemption_id,
                )
    return unmet


def _holds(waiver: Waiver, readings: Mapping[str, Reading]) -> bool | None:
    """An exemption whose data is missing is not shown to hold; one whose data cannot be compared is a person's."""
    if waiver.conditions is None:
        return None
    answers = [_condition_holds(condition, readings) for condition in waiver.conditions]
    if False in answers:
        return False
    return None if None in answers else True


def _condition_holds(condition: WaiverCondition, readings: Mapping[str, Reading]) -> bool | None:
    reading = find_reading(readings, condition.metric)
    if reading is None or reading.value is None:
        return False
    if _is_foreign(condition.unit, reading):
        return None
    return condition.test(reading.value)


def _test(obligation: Obligation, plan: WindowPlan | None) -> Comparison | None:
    if plan is not None:
        return plan.test
    if obligation.kind is None or obligation.metric is None or is_windowed(obligation):
        return None
    if not has_fitting_type(obligation):
        return None  # judged as `must`, a prohibition would come out reversed (SKI 3.3)
    if obligation.window_seconds is not None:
        return None  # a window that its type does not use: what it means is for a person to say
    return comparison_of(obligation.kind, plain_operand(obligation.value))


def _undecided(_value: object) -> None:
    return None


def _unmet(obligation: Obligation, plan: WindowPlan | None) -> Outcome:
    if obligation.kind is ObligationType.SHOULD:
        return Outcome.UNFOLLOWED
    return Outcome.STALE if plan is not None and plan.is_freshness else Outcome.BREACHED


def _standing_doubt(obligation: Obligation, test: Comparison | None) -> Doubt | None:
    if obligation.kind is None:
        return Doubt.UNKNOWN_TYPE
    if obligation.kind is ObligationType.DISCRETIONARY:
        return Doubt.DISCRETIONARY
    return Doubt.NOT_FORMAL if test is None else None


def _window_seconds(obligation: Obligation, plan: WindowPlan | None) -> int | float | None:
    if plan is not None:
        return plan.seconds
    window = window_of(obligation)
    return None if window is None else plain_number(window)


def _waiver(exemption: Exemption) -> Waiver:
    if not exemption.formal:
        return Waiver(exemption.id, None)
    return Waiver(exemption.id, tuple(_condition(condition) for condition in exemption.formal))


def _condition(condition: Condition) -> WaiverCondition:
    value = plain_operand(condition.value)
    return WaiverCondition(
        metric=condition.metric,
        predicate=condition.predicate,
        value=value,
        unit=None if condition.unit is None else nfc(condition.unit),
        test=comparison_of(condition.predicate, value) or _undecided,
    )
