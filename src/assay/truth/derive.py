"""The claim, from what was observed and in no other way (Kaori 2.3): one strategy of the contract for each field.

readings by path -> fields -> claim
Whoever says nothing at a path, or something of another kind than the strategy takes, does not speak about that field.
"""

from collections.abc import Callable, Mapping
from operator import mul

import orjson

from assay.truth.contract import Derivation, DerivationStrategy
from assay.truth.number import MILLION, rounded_ratio
from assay.truth.reading import Readings, value_text

__all__ = ["derive_claim_payload"]

_ABSENT = object()


def derive_claim_payload(rules: Mapping[str, Derivation], readings: Readings) -> dict[str, object]:
    """The claim in canonical form; a field that nobody spoke about has its default, or is left out.

    What is read is in that form already, and so is every number made from it; only a default must be brought into it.
    """
    claim: dict[str, object] = {}
    for name, rule in rules.items():
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


def _weighted_mode(rule: Derivation, readings: Readings) -> object:
    tally = readings.tally_at(rule.path)
    if not tally:
        return _ABSENT
    heaviest = max(tally.values())
    tied = [text for text, weight in tally.items() if weight == heaviest]
    if len(tied) == 1:
        return _value(tied[0])
    preferred = [value_text(value) for value in rule.prefer]
    return _value(min(tied, key=lambda text: (preferred.index(text) if text in preferred else len(preferred), text)))


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
    DerivationStrategy.LATEST: _latest,
    DerivationStrategy.FIRST: _first,
    DerivationStrategy.ALL_OF: _all_of,
    DerivationStrategy.ANY_OF: _any_of,
    DerivationStrategy.BOOLEAN_MAJORITY: _boolean_majority,
    DerivationStrategy.MIN: _lowest,
    DerivationStrategy.MAX: _highest,
    DerivationStrategy.COUNT: _count,
}
