"""How sure the state is (Kaori 14): sum of weight x value, plus modifiers, clamped; then what age left of it.

measures -> normalised values at six places -> clamp(sum of weight x value + modifiers) -> x decay -> six places
Every number of the breakdown has six places, and the sum is of its weights and values: anyone can work it out again.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal

from msgspec import Struct

from assay.kernel.instant import Instant
from assay.truth._moment import span_of
from assay.truth.contract import (
    CalibrationKnot,
    ConfidenceComponent,
    ConfidenceModel,
    ConfidenceSource,
    ModifierCondition,
    Normalisation,
    NormalisationMethod,
    TemporalDecay,
)
from assay.truth.number import ARITHMETIC, PLACES, quantised
from assay.truth.state import ComponentValue, ConfidenceBreakdown

_ZERO, _HALF, _ONE = Decimal(0), Decimal("0.5"), Decimal(1)
# So many halves are nothing at six places.
_FORGOTTEN = 32


class Confidence(Struct, frozen=True, kw_only=True):
    """`fresh` decides: a state does not lose its status by growing old, but when it expires. `aged` is told."""

    fresh: Decimal
    aged: Decimal
    breakdown: ConfidenceBreakdown


def measure_confidence(
    model: ConfidenceModel,
    measures: Mapping[ConfidenceSource, Decimal],
    conditions: Collection[ModifierCondition],
    decay: Decimal,
) -> Confidence:
    components = {
        name: _component(component, measures[component.source]) for name, component in model.components.items()
    }
    modifiers = {name: modifier.add for name, modifier in model.modifiers.items() if modifier.when in conditions}
    # Of the products themselves, not of the contributions that are shown: the formula rounds nothing in between.
    total = sum([part.weight * part.value for part in components.values()], _ZERO) + sum(modifiers.values(), _ZERO)
    whole = calibrated(model.calibration, _clamp(total)) if model.calibration else _clamp(total)
    breakdown = ConfidenceBreakdown(components=components, modifiers=modifiers, decay=decay)
    return Confidence(fresh=quantised(whole), aged=quantised(whole * decay), breakdown=breakdown)


def calibrated(knots: Sequence[CalibrationKnot], confidence: Decimal) -> Decimal:
    """What a confidence means by these knots, at six places; before the first and after the last it is theirs."""
    place = bisect_right([knot.at for knot in knots], confidence)
    if place in (0, len(knots)):
        return knots[max(0, place - 1)].value
    low, high = knots[place - 1], knots[place]
    part = ARITHMETIC.divide(ARITHMETIC.subtract(confidence, low.at), ARITHMETIC.subtract(high.at, low.at))
    rise = ARITHMETIC.multiply(part, ARITHMETIC.subtract(high.value, low.value))
    return quantised(ARITHMETIC.add(low.value, rise))


def _component(component: ConfidenceComponent, measure: Decimal) -> ComponentValue:
    rule = component.normalize
    # Both are at least 0, and a zero among them has no sign: rounding is all that is left to do.
    value = normalised(rule, measure).quantize(PLACES, None, ARITHMETIC)
    contribution = (value * component.weight).quantize(PLACES, None, ARITHMETIC)
    return ComponentValue(value=value, weight=component.weight, contribution=contribution)


def normalised(rule: Normalisation, measure: Decimal) -> Decimal:
    """Into 0 to 1, by the contract's method."""
    return _METHODS[rule.method](rule, measure)


def _linear(rule: Normalisation, measure: Decimal) -> Decimal:
    low, high = rule.low or _ZERO, rule.high or _ZERO
    return _clamp((measure - low) / (high - low))


def _saturating(rule: Normalisation, measure: Decimal) -> Decimal:
    return measure / (measure + (rule.half or _ONE)) if measure > 0 else _ZERO


def _step(rule: Normalisation, measure: Decimal) -> Decimal:
    return _ONE if measure >= (rule.high or _ZERO) else _ZERO


def _clamped(_rule: Normalisation, measure: Decimal) -> Decimal:
    return _clamp(measure)


_METHODS: Mapping[NormalisationMethod, Callable[[Normalisation, Decimal], Decimal]] = {
    NormalisationMethod.LINEAR: _linear,
    NormalisationMethod.SATURATING: _saturating,
    NormalisationMethod.STEP: _step,
    NormalisationMethod.CLAMP: _clamped,
}


def _clamp(number: Decimal) -> Decimal:
    if number <= _ZERO:
        return _ZERO
    return min(_ONE, number)


def decay_factor(decay: TemporalDecay, since: Instant, now: Instant) -> Decimal:
    """Halved for every whole half-life since the bucket's end.

    In steps, so that compiling again a little later gives the same semantic hash (Kaori 11.1), and exact.
    """
    halvings = (now - since) // span_of(decay.half_life)
    return _ONE if halvings <= 0 else quantised(_HALF ** min(halvings, _FORGOTTEN))
