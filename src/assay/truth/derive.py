"""The claim, from what was observed and in no other way (Kaori 2.3): one strategy of the contract for each field.

readings by path -> fields -> claim
Whoever says nothing at a path, or something of another kind than the strategy takes, does not speak about that field.
"""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from operator import mul
from types import MappingProxyType

import orjson

from assay.truth.centre import FINE, centre_at, find_interval
from assay.truth.contract import CENTRES, Contract, Derivation, DerivationStrategy
from assay.truth.number import MILLION, rounded_ratio
from assay.truth.posterior import NEAR, OTHER, Belief, Posterior
from assay.truth.reading import Readings, value_text

_ABSENT = object()


def derive_claim_payload(
    rules: Mapping[str, Derivation], readings: Readings, beliefs: Mapping[str, Belief] = MappingProxyType({})
) -> dict[str, object]:
    """The claim in canonical form; a field that nobody spoke about has its default, or is left out.

    Where something is believed about a field, the most probable value is taken. What is read is in canonical form
    already, and so is every number made from it; only a default must be brought into it.
    """
    claim: dict[str, object] = {}
    for name, rule in rules.items():
        if rule.strategy is DerivationStrategy.INTERVAL:
            value = _interval(rule, rules.values(), readings)
        elif name in beliefs:
            value = _most_probable(rule, beliefs[name])
        else:
            value = _STRATEGIES[rule.strategy](rule, readings)
        if value is _ABSENT:
            value = None if rule.default is None else _value(value_text(rule.default))
        if value is not None:
            claim[name] = value
    return claim


def _value(text: str) -> object:
    """Back from the canonical text of a value."""
    value: object = orjson.loads(text)
    return value


def most_probable(rule: Derivation, belief: Belief) -> str:
    """The value with the greatest posterior: a tie of modes is broken as elsewhere, a tie of a majority is false."""
    if belief.centre is not None:
        return NEAR
    odds = {value: one for value, one in zip(belief.values, belief.odds, strict=True) if value != OTHER}
    if rule.strategy is DerivationStrategy.BOOLEAN_MAJORITY:
        return "true" if odds["true"] > odds["false"] else "false"
    return _heaviest(rule, odds)


def least_share(contract: Contract, posterior: Posterior) -> Decimal:
    """The posterior of the claim at the field that is least certain; 0 where nothing is believed.

    Of the fields that the schema requires, where it requires any that can be believed: a detail that one reporter adds
    takes nothing from the rest.
    """
    beliefs = posterior.beliefs
    required = contract.schema.get("required")
    named = [name for name in beliefs if isinstance(required, list) and name in required] or list(beliefs)
    shares = [beliefs[name].shares()[most_probable(contract.claim_derivation[name], beliefs[name])] for name in named]
    return min(shares, default=Decimal(0))


def _most_probable(rule: Derivation, belief: Belief) -> object:
    if belief.centre is not None:
        return rounded_ratio(belief.centre, MILLION * FINE, rule.places or 0)
    return _value(most_probable(rule, belief))


def _centre(rule: Derivation, readings: Readings) -> object:
    centre = centre_at(rule, readings)
    return _ABSENT if centre is None else rounded_ratio(centre, MILLION * FINE, rule.places or 0)


def _interval(rule: Derivation, rules: Iterable[Derivation], readings: Readings) -> object:
    """Around the centre of the field with the same path, else around the weighted median."""
    centred = next((other for other in rules if other.path == rule.path and other.strategy in CENTRES), rule)
    centre = centre_at(centred, readings)
    if centre is None:
        return _ABSENT
    ends = find_interval(rule, centre, *readings.centred_at(rule.path))
    return [rounded_ratio(end, MILLION * FINE, rule.places or 0) for end in ends]


def _weighted_mode(rule: Derivation, readings: Readings) -> object:
    tally = readings.tally_at(rule.path)
    return _value(_heaviest(rule, tally)) if tally else _ABSENT


def _heaviest(rule: Derivation, tally: Mapping[str, int]) -> str:
    heaviest = max(tally.values())
    tied = [text for text, weight in tally.items() if weight == heaviest]
    if len(tied) == 1:
        return tied[0]
    preferred = [value_text(value) for value in rule.prefer]
    return min(tied, key=lambda text: (preferred.index(text) if text in preferred else len(preferred), text))


def _weighted_mean(rule: Derivation, readings: Readings) -> object:
    numbers = readings.numbers_at(rule.path)
    if not numbers:
        return _ABSENT
    weights = readings.weights_at(rule.path)
    return rounded_ratio(sum(map(mul, numbers, weights)), sum(weights) * MILLION, rule.places or 0)


def _median(rule: Derivation, readings: Readings) -> object:
    numbers = sorted(readings.numbers_at(rule.path))
    if not numbers:
        return _ABSENT
    middle = numbers[(len(numbers) - 1) // 2] + numbers[len(numbers) // 2]
    return rounded_ratio(middle, 2 * MILLION, rule.places or 0)


def _lowest(rule: Derivation, readings: Readings) -> object:
    numbers = readings.numbers_at(rule.path)
    return rounded_ratio(min(numbers), MILLION, 6) if numbers else _ABSENT


def _highest(rule: Derivation, readings: Readings) -> object:
    numbers = readings.numbers_at(rule.path)
    return rounded_ratio(max(numbers), MILLION, 6) if numbers else _ABSENT


def _latest(rule: Derivation, readings: Readings) -> object:
    spoken = readings.by_time(rule.path)
    return _value(max(spoken)[1]) if spoken else _ABSENT


def _first(rule: Derivation, readings: Readings) -> object:
    spoken = readings.by_time(rule.path)
    return _value(min(spoken)[1]) if spoken else _ABSENT


def _all_of(rule: Derivation, readings: Readings) -> object:
    said = readings.booleans_at(rule.path)
    return "false" not in said if said else _ABSENT


def _any_of(rule: Derivation, readings: Readings) -> object:
    said = readings.booleans_at(rule.path)
    return "true" in said if said else _ABSENT


def _boolean_majority(rule: Derivation, readings: Readings) -> object:
    """What most say by weight; a tie is false, since no majority said true."""
    said = readings.tally_at(rule.path)
    behind, against = said.get("true", 0), said.get("false", 0)
    return behind > against if behind or against else _ABSENT


def _count(rule: Derivation, readings: Readings) -> object:
    if rule.default is not None and not readings.count(rule.path):
        return _ABSENT
    return readings.count(rule.path, None if rule.equals is None else value_text(rule.equals))


_STRATEGIES: Mapping[DerivationStrategy, Callable[[Derivation, Readings], object]] = {
    DerivationStrategy.WEIGHTED_MODE: _weighted_mode,
    DerivationStrategy.WEIGHTED_MEAN: _weighted_mean,
    DerivationStrategy.MEDIAN: _median,
    DerivationStrategy.WEIGHTED_MEDIAN: _centre,
    DerivationStrategy.TRIMMED_MEAN: _centre,
    DerivationStrategy.HUBER: _centre,
    DerivationStrategy.LATEST: _latest,
    DerivationStrategy.FIRST: _first,
    DerivationStrategy.ALL_OF: _all_of,
    DerivationStrategy.ANY_OF: _any_of,
    DerivationStrategy.BOOLEAN_MAJORITY: _boolean_majority,
    DerivationStrategy.MIN: _lowest,
    DerivationStrategy.MAX: _highest,
    DerivationStrategy.COUNT: _count,
}
