"""One obligation and one assertion about it, compared in one go: the judgement if they agree in everything, else None.

None is no answer: the full comparison then says what is different. Obligations that look at more than one value of the
record, or that an exemption has a say in, are left to it too.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import UNSET

from assay.verdicts.comparison import PlainOperand
from assay.verdicts.envelope import FormalizableAssertion
from assay.verdicts.predicate import Check, Judgement
from assay.verdicts.telemetry import Reading

Agreement: TypeAlias = Callable[[FormalizableAssertion, Mapping[str, Reading]], Judgement | None]


def compile_agreement(check: Check) -> Agreement | None:
    """None for a check that is not about one plain value."""
    is_simple = check.doubt is None and check.plan is None and not check.is_presence and not check.requires_unit
    if not is_simple or not _is_plain(check.value):
        return None
    identity, predicate, metric, value, unit = (
        check.obligation_id,
        check.predicate,
        check.metric,
        check.value,
        check.unit,
    )
    test, satisfied = check.test, check.satisfied
    breached = None if check.waivers else check.breached

    def agree(assertion: FormalizableAssertion, readings: Mapping[str, Reading]) -> Judgement | None:
        reading = readings.get(metric)
        if reading is None:
            return None
        observed = reading.value
        if (
            assertion.obligation_id != identity
            or assertion.predicate != predicate
            or assertion.metric != metric
            or assertion.value != value
            or assertion.observed != observed
            or assertion.window_seconds is not UNSET
            # Equal is not the same: `true` equals 1.
            or type(assertion.observed) is not type(observed)
            or (unit is not None and reading.unit is not None and reading.unit != unit)
        ):
            return None
        truth = test(observed)
        if truth is None or truth is not assertion.satisfied:
            return None
        return satisfied if truth else breached

    return agree


def _is_plain(value: PlainOperand) -> bool:
    """Whether nothing but the same value equals it in Python: 0 and 1 are equal to `false` and `true` as well."""
    parts = value if isinstance(value, tuple) else (value,)
    return value is not None and not any(part in (0, 1) for part in parts)
