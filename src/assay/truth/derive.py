"""The claim, from what was observed and in no other way (Kaori 2.3): one strategy of the contract for each field.

speakers -> readings by path -> fields -> claim
Whoever says nothing at a path, or something of another kind than the strategy takes, does not speak about that field.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache

from assay.kernel.canonical import Profile, canonical_json
from assay.truth.contract import Derivation, DerivationStrategy
from assay.truth.number import ARITHMETIC, exact_number, plain_number, plain_value, quantised
from assay.truth.weigh import Speaker

__all__ = ["Readings", "derive_claim_payload", "value_text"]

_ABSENT = object()


class Readings:
    """What the speakers say, path by path; each path is read once, as pairs of a speaker or its weight and a value."""

    def __init__(self, speakers: Sequence[Speaker]) -> None:
        self._speakers = speakers
        self._payloads = [speaker.hashed.observation.payload for speaker in speakers]
        self._values: dict[str, list[tuple[Speaker, object]]] = {}
        self._numbers: dict[str, list[tuple[Decimal, Decimal]]] = {}
        self._weights: dict[tuple[str, bool], dict[str, Decimal]] = {}

    def at(self, path: str) -> list[tuple[Speaker, object]]:
        """Null is not a value: it says that nothing is said."""
        if path not in self._values:
            found = zip(self._speakers, _column(self._payloads, path.split(".")), strict=True)
            self._values[path] = [pair for pair in found if pair[1] is not None]
        return self._values[path]

    def numbers_at(self, path: str) -> list[tuple[Decimal, Decimal]]:
        """Weights and numbers."""
        if path not in self._numbers:
            self._numbers[path] = [
                (speaker.weight, _number(value))
                for speaker, value in self.at(path)
                if type(value) is float or type(value) is int
            ]
        return self._numbers[path]

    def booleans_at(self, path: str) -> list[tuple[Speaker, object]]:
        return [pair for pair in self.at(path) if type(pair[1]) is bool]

    def weights_at(self, path: str, *, booleans: bool = False) -> dict[str, Decimal]:
        """How much weight stands behind each value, by its canonical text."""
        if (path, booleans) not in self._weights:
            weights: dict[str, Decimal] = {}
            for speaker, value in self.booleans_at(path) if booleans else self.at(path):
                text = value_text(value)
                weights[text] = weights[text] + speaker.weight if text in weights else speaker.weight
            self._weights[path, booleans] = weights
        return self._weights[path, booleans]

    def counts_at(self, path: str) -> Counter[str]:
        """How many say each value, by its canonical text."""
        return Counter([value_text(value) for _, value in self.at(path)])


def _column(payloads: Iterable[dict[str, object]], names: Sequence[str]) -> list[object]:
    if len(names) == 1:
        return [payload.get(names[0]) for payload in payloads]
    return [_look_up(payload, names) for payload in payloads]


def _look_up(payload: object, names: Iterable[str]) -> object:
    value = payload
    for name in names:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


# Reports repeat the same few readings, and reading a decimal costs more than finding it.
_number = lru_cache(maxsize=1 << 14)(exact_number)


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
    if type(value) is bool:
        return "true" if value else "false"
    return _text_of_text(value) if type(value) is str else canonical_json(plain_value(value), Profile.KAORI)


@lru_cache(maxsize=1 << 12)
def _text_of_text(value: str) -> str:
    return canonical_json(value, Profile.KAORI)


def _weighted_mode(rule: Derivation, readings: Readings) -> object:
    spoken = readings.at(rule.path)
    if not spoken:
        return _ABSENT
    weights = readings.weights_at(rule.path)
    heaviest = max(weights.values())
    preferred = [value_text(value) for value in rule.prefer]
    tied = (text for text, weight in weights.items() if weight == heaviest)
    winner = min(tied, key=lambda text: (preferred.index(text) if text in preferred else len(preferred), text))
    return next(value for _, value in spoken if value_text(value) == winner)


def _weighted_mean(rule: Derivation, readings: Readings) -> object:
    spoken = readings.numbers_at(rule.path)
    if not spoken:
        return _ABSENT
    total = sum([weight for weight, _ in spoken], Decimal(0))
    return _rounded(sum([weight * number for weight, number in spoken], Decimal(0)) / total, rule)


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


def _moment(pair: tuple[Speaker, object]) -> tuple[datetime, str]:
    return pair[0].moment


def _latest(rule: Derivation, readings: Readings) -> object:
    spoken = readings.at(rule.path)
    return max(spoken, key=_moment)[1] if spoken else _ABSENT


def _first(rule: Derivation, readings: Readings) -> object:
    spoken = readings.at(rule.path)
    return min(spoken, key=_moment)[1] if spoken else _ABSENT


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
    weights = readings.weights_at(rule.path, booleans=True)
    return weights.get("true", Decimal(0)) > weights.get("false", Decimal(0))


def _count(rule: Derivation, readings: Readings) -> object:
    spoken = readings.at(rule.path)
    if not spoken and rule.default is not None:
        return _ABSENT
    if rule.equals is None:
        return len(spoken)
    return readings.counts_at(rule.path).get(value_text(rule.equals), 0)


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
