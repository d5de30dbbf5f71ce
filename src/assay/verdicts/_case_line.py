"""The case in a prompt: what one obligation compares, line by line, in few symbols that a small model can read.

obligation -> compile_line, once -> CaseLine; CaseLine + the record's readings + window facts -> its line
A line is an obligation's name, its type, and what is to be compared; nothing is compared yet.

    u0 u1           the unit of the obligation and that of the record; `u` where none is named
    ++ 54 08        numbers, digit by digit in turns: limit, observed, limit, observed; `;` starts the upper end
    s0 : s1 s2      the observed value and those allowed or forbidden, by names; equal ones have equal names
                    (`s` a text, `n` a number, `t` and `f` true and false)
    _ ? ~           missing; a window in doubt; what only a person can judge
    w e             over a window, then what is demanded of it; the metric must exist
    x a & b         an exemption and its conditions
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

from assay.verdicts._digits import interleaved, spell, spell_exactly
from assay.verdicts.comparison import PlainOperand, shown_fraction
from assay.verdicts.graph.obligation_type import ObligationType
from assay.verdicts.predicate import (
    ONLY_WORSE,
    Check,
    Doubt,
    Waiver,
    WaiverCondition,
    converted_value,
)
from assay.verdicts.telemetry import Reading, Scalar, find_reading
from assay.verdicts.window_fact import WindowDoubt, WindowFact, exact_value
from assay.verdicts.window_plan import WindowPlan

CaseLine: TypeAlias = Callable[[Mapping[str, Reading], Mapping[str, WindowFact]], str]

_NUMBERS = frozenset({int, float})
_RANGES = frozenset({ObligationType.MUST_BE_WITHIN, ObligationType.MUST_AVERAGE_WITHIN})


def compile_line(place: int, check: Check) -> CaseLine:
    """How an obligation is shown, whatever the record says; most are one limit for one number."""
    full = full_line(place, check)
    is_plain = check.doubt is None and check.plan is None and not check.is_presence and not check.waivers
    is_plain = is_plain and not check.conversions and not check.requires_unit
    if not is_plain or isinstance(check.value, bool) or not isinstance(check.value, int | float):
        return full
    return _number_line(place, check, check.value, full)


def full_line(place: int, check: Check) -> CaseLine:
    """For any obligation: every question is asked for every record."""

    def line(readings: Mapping[str, Reading], facts: Mapping[str, WindowFact]) -> str:
        # What no record can determine, no exemption can either.
        waivers = _waivers(check, readings) if check.waivers and check.doubt is None else ""
        return f"o{place} {_case(check, readings, facts)}{waivers}"

    return line


def _number_line(place: int, check: Check, value: float, full: CaseLine) -> CaseLine:
    """What does not depend on the record is written once.

    INVARIANT: what `full` would write; a property test holds it to that.
    """
    metric, unit, limit = check.metric, check.unit, spell(value)
    opening = f"o{place} {check.predicate} {'u' if unit is None else 'u0'} "

    def line(readings: Mapping[str, Reading], facts: Mapping[str, WindowFact]) -> str:
        reading = readings.get(metric)
        if reading is None or type(reading.value) not in _NUMBERS:
            return full(readings, facts)
        given = "u" if reading.unit is None else "u0" if unit is None or reading.unit == unit else "u1"
        return f"{opening}{given} {interleaved(limit, spell(reading.value))}"

    return line


def _case(check: Check, readings: Mapping[str, Reading], facts: Mapping[str, WindowFact]) -> str:
    if check.doubt is not None:
        return "unknown" if check.doubt is Doubt.UNKNOWN_TYPE else f"{check.predicate} ~"
    if check.plan is None:
        presence = "e " if check.is_presence else ""
        measured = _converted(check, readings) or _measured(
            check.predicate, check.metric, check.unit, check.value, readings, requires_unit=check.requires_unit
        )
        return f"{check.predicate} {presence}{measured}"
    return f"{check.predicate} w {_windowed(check.plan, facts.get(check.obligation_id))}"


def _windowed(plan: WindowPlan, fact: WindowFact | None) -> str:
    """A window in doubt is still shown where one more record could only make it worse: then a breach is one."""
    # Another unit may be smaller: no number of such a window is to be compared.
    if fact is None or fact.doubt is WindowDoubt.UNIT:
        return "?"
    if fact.doubt is not None and (fact.shown is None or plan.kind not in ONLY_WORSE):
        return "?"
    doubt = "" if fact.doubt is None else "? "
    exact = exact_value(fact)
    if exact is None or fact.shown is None:
        return f"{doubt}{plan.demand} {_compared(plan.demand, plan.operand, fact.shown)}"
    return f"{doubt}{plan.demand} {_aggregated(plan.operand, exact, fact.shown)}"


def _aggregated(operand: PlainOperand, exact: Fraction, shown: float) -> str:
    """A sum or an average is decided by all its digits, of which the shown number may have lost some."""
    limits = tuple(spell(part) for part in _operands(operand) if isinstance(part, int | float))
    seen = spell_exactly(exact, (*limits, spell(shown)))
    return " ; ".join([interleaved(limit, seen) for limit in limits])


def _converted(check: Check, readings: Mapping[str, Reading]) -> str | None:
    """A number that the graph's own factors turn into the obligation's unit, with every digit that decides."""
    reading = find_reading(readings, check.metric) if check.conversions else None
    exact = None if reading is None else converted_value(check, reading)
    if exact is None or (shown := shown_fraction(exact)) is None:
        return None
    operands = _operands(check.value)
    if any(type(part) not in _NUMBERS for part in operands):
        return f"u0 u0 {_compared(check.predicate, check.value, shown)}"
    if check.predicate in _RANGES or len(operands) == 1:
        return f"u0 u0 {_aggregated(check.value, exact, shown)}"
    return f"u0 u0 {_compared(check.predicate, check.value, shown)}"


def _measured(
    predicate: str,
    metric: str,
    unit: str | None,
    operand: PlainOperand,
    readings: Mapping[str, Reading],
    *,
    requires_unit: bool = False,
) -> str:
    reading = readings.get(metric) or find_reading(readings, metric)
    named = "u" if unit is None else "u0"
    if reading is None:
        return f"{named} u _"
    given = "u" if reading.unit is None else "u0" if unit is None or reading.unit == unit else "u1"
    if requires_unit and reading.unit is None:
        given = "u1"  # a unit that must be named and is not is as good as another
    return f"{named} {given} {_compared(predicate, operand, reading.value)}"


def _compared(predicate: str, operand: PlainOperand, observed: Scalar) -> str:
    if observed is None:
        return "_"
    if type(observed) in _NUMBERS and type(operand) in _NUMBERS:
        return interleaved(spell(operand), spell(observed))
    operands = _operands(operand)
    if predicate in _RANGES and type(observed) in _NUMBERS:
        seen = spell(observed)
        return " ; ".join([interleaved(spell(part), seen) for part in operands])
    return _named(observed, operands)


def _operands(operand: PlainOperand) -> tuple[Scalar, ...]:
    return operand if isinstance(operand, tuple) else (operand,)


def _named(observed: Scalar, operands: Sequence[Scalar]) -> str:
    """The observed value, then those it is compared with, each by a name; equal ones have equal names."""
    names: dict[tuple[bool, Scalar], str] = {}
    told = [_name(value, names) for value in (observed, *operands)]
    return f"{told[0]} : {' '.join(told[1:])}"


def _name(value: Scalar, names: dict[tuple[bool, Scalar], str]) -> str:
    if value is None:
        return "_"
    if isinstance(value, bool):
        return "t" if value else "f"
    is_text = isinstance(value, str)
    return names.setdefault((is_text, value), f"{'s' if is_text else 'n'}{len(names)}")


def _waivers(check: Check, readings: Mapping[str, Reading]) -> str:
    return "".join(f" x {_waiver(waiver, readings)}" for waiver in check.waivers)


def _waiver(waiver: Waiver, readings: Mapping[str, Reading]) -> str:
    if waiver.conditions is None:
        return "~"
    return " & ".join([_condition(condition, readings) for condition in waiver.conditions])


def _condition(condition: WaiverCondition, readings: Mapping[str, Reading]) -> str:
    measured = _measured(condition.predicate, condition.metric, condition.unit, condition.value, readings)
    return f"{condition.predicate} {measured}"
