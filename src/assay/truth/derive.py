"""The claim, from what was observed and in no other way (Kaori 2.3): one strategy of the contract for each field.

speakers -> readings by path -> fields -> claim
Whoever says nothing at a path, or something of another kind than the strategy takes, does not speak about that field.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import NamedTuple

from assay.kernel.canonical import Profile, canonical_json
from assay.truth.contract import Derivation, DerivationStrategy
from assay.truth.number import ARITHMETIC, exact_number, plain_number, plain_value, quantised
from assay.truth.weigh import Speaker

__all__ = ["Reading", "Readings", "derive_claim_payload", "value_text", "weight_by_value"]

_ABSENT = object()


class Reading(NamedTuple):
    """What one speaker says at a path."""

    speaker: Speaker
    value: object


class NumberReading(NamedTuple):
    """What one speaker says at a path where numbers count."""

    weight: Decimal
    number: Decimal


class Readings:
    """What the speakers say, path by path; each path is read once."""

    def __init__(self, speakers: Sequence[Speaker]) -> None:
        self._speakers = speakers
        self._values: dict[str, list[Reading]] = {}
        self._numbers: dict[str, list[NumberReading]] = {}

    def at(self, path: str) -> list[Reading]:
        """Null is not a value: it says that nothing is said."""
        if path not in self._values:
            names = path.split(".")
            found = ((speaker, _look_up(speaker.hashed.observation.payload, names)) for speaker in self._speakers)
            self._values[path] = [Reading(speaker, value) for speaker, value in found if value is not None]
        return self._values[path]

    def numbers_at(self, path: str) -> list[NumberReading]:
        if path not in self._numbers:
            self._numbers[path] = [
                NumberReading(speaker.weight, exact_number(value))
                for speaker, value in self.at(path)
                if type(value) is float or type(value) is int
            ]
        return self._numbers[path]

    def booleans_at(self, path: str) -> list[Reading]:
        return [reading for reading in self.at(path) if type(reading.value) is bool]


def _look_up(payload: object, names: Iterable[str]) -> object:
    value = payload
    for name in names:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def derive_claim_payload(rules: Mapping[str, Derivation], readings: Readings) -> dict[str, object]:
    """The claim; a field that nobody spoke about has its default, or is left out."""
    claim: dict[str, object] = {}
    for name, rule in rules.items():
        value = _STRATEGIES[rule.strategy](rule, readings)
        if value is _ABSENT:
            value = plain_value(rule.default)
        if value is not None:
            claim[name] = value
    return claim


def value_text(value: object) -> str:
    """Equal values are equal canonical texts."""
    return _text_of_text(value) if isinstance(value, str) else canonical_json(plain_value(value), Profile.KAORI)


@lru_cache(maxsize=4096)
def _text_of_text(value: str) -> str:
    return canonical_json(value, Profile.KAORI)


def weight_by_value(readings: Iterable[Reading]) -> dict[str, Decimal]:
    """How much weight stands behind each value, by its canonical text."""
    weights: dict[str, Decimal] = {}
    for speaker, value in readings:
        text = value_text(value)
        weights[text] = weights.get(text, Decimal(0)) + speaker.weight
    return weights


def _weighted_mode(rule: Derivation, readings: Readings) -> object:
    spoken = readings.at(rule.path)
    if not spoken:
        return _ABSENT
    weights = weight_by_value(spoken)
    heaviest = max(weights.values())
    preferred = [value_text(value) for value in rule.prefer]
    tied = (text for text, weight in weights.items() if weight == heaviest)
    winner = min(tied, key=lambda text: (preferred.index(text) if text in preferred else len(preferred), text))
    return next(reading.value for reading in spoken if value_text(reading.value) == winner)


def _weighted_mean(rule: Derivation, readings: Readings) -> object:
    spoken = readings.numbers_at(rule.path)
    if not spoken:
        return _ABSENT
    total = sum((weight for weight, _ in spoken), Decimal(0))
    return _rounded(sum((weight * number for weight, number in spoken), Decimal(0)) / total, rule)


def _median(rule: Derivation, readings: Readings) -> object:
    """Each reporter once, whatever it weighs; of an even number, the mean of the two in the middle."""
    numbers = sorted(number for _, number in readings.numbers_at(rule.path))
    if not numbers:
        return _ABSENT
    return _rounded((numbers[(len(numbers) - 1) // 2] + numbers[len(numbers) // 2]) / 2, rule)


def _rounded(number: Decimal, rule: Derivation) -> int | float:
    step = Decimal(1).scaleb(-(rule.places or 0))
    return plain_number(number.quantize(step, rounding=ROUND_HALF_UP, context=ARITHMETIC))


def _lowest(rule: Derivation, readings: Readings) -> object:
    numbers = [number for _, number in readings.numbers_at(rule.path)]
    return plain_number(quantised(min(numbers))) if numbers else _ABSENT


def _highest(rule: Derivation, readings: Readings) -> object:
    numbers = [number for _, number in readings.numbers_at(rule.path)]
    return plain_number(quantised(max(numbers))) if numbers else _ABSENT


def _latest(rule: Derivation, readings: Readings) -> object:
    spoken = readings.at(rule.path)
    return max(spoken, key=lambda reading: reading.speaker.moment).value if spoken else _ABSENT


def _first(rule: Derivation, readings: Readings) -> object:
    spoken = readings.at(rule.path)
    return min(spoken, key=lambda reading: reading.speaker.moment).value if spoken else _ABSENT


def _all_of(rule: Derivation, readings: Readings) -> object:
    spoken = readings.booleans_at(rule.path)
    return all(value for _, value in spoken) if spoken else _ABSENT


def _any_of(rule: Derivation, readings: Readings) -> object:
    spoken = readings.booleans_at(rule.path)
    return any(value for _, value in spoken) if spoken else _ABSENT


def _boolean_majority(rule: Derivation, readings: Readings) -> object:
    """By weight; a tie is false, since no majority said true."""
    spoken = readings.booleans_at(rule.path)
    if not spoken:
        return _ABSENT
    balance = sum((speaker.weight if value else -speaker.weight for speaker, value in spoken), Decimal(0))
    return balance > 0


def _count(rule: Derivation, readings: Readings) -> object:
    spoken = readings.at(rule.path)
    if not spoken and rule.default is not None:
        return _ABSENT
    if rule.equals is None:
        return len(spoken)
    wanted = value_text(rule.equals)
    return sum(value_text(value) == wanted for _, value in spoken)


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
