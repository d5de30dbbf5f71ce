"""The claim, from what was observed and in no other way (Kaori 2.3): one strategy of the contract for each field.

speakers -> readings by path -> fields -> claim
Whoever says nothing at a path, or something of another kind than the strategy takes, does not speak about that field.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import NamedTuple

from assay.kernel.canonical import Profile, canonical_json
from assay.truth.contract import Derivation, DerivationStrategy
from assay.truth.number import ARITHMETIC, exact_number, plain_number, plain_value, quantised
from assay.truth.weigh import Speaker

__all__ = ["Readings", "Said", "derive_claim_payload", "value_text"]

_ABSENT = object()


class Said(NamedTuple):
    """One value at a path: the weight behind it, and how many say it."""

    weight: Decimal
    times: int
    value: object


class Readings:
    """What the speakers say, path by path; what was found at one is kept.

    There are only a few weights, one for each standing, so values are counted in groups of one weight.
    """

    def __init__(self, speakers: Sequence[Speaker]) -> None:
        self._speakers = speakers
        groups: dict[int, tuple[Decimal, list[dict[str, object]]]] = {}
        for speaker in speakers:
            weight = speaker.weight
            groups.setdefault(id(weight), (weight, []))[1].append(speaker.hashed.observation.payload)
        self._groups = list(groups.values())
        self._numbers: dict[str, list[tuple[Decimal, list[Decimal]]]] = {}
        self._tallies: dict[str, dict[str, Said]] = {}

    def by_time(self, path: str) -> list[object]:
        """The values, the earliest first."""
        names = path.split(".")
        ordered = sorted(self._speakers, key=lambda speaker: speaker.moment)
        found = [_look_up(speaker.hashed.observation.payload, names) for speaker in ordered]
        return [value for value in found if value is not None]

    def numbers_at(self, path: str) -> list[tuple[Decimal, list[Decimal]]]:
        """Weights, and the numbers of those who have each; no weight without a number."""
        if path not in self._numbers:
            found = [
                (weight, [_number(value) for value in values if type(value) is float or type(value) is int])
                for weight, values in self._values_at(path)
            ]
            self._numbers[path] = [group for group in found if group[1]]
        return self._numbers[path]

    def tally_at(self, path: str) -> dict[str, Said]:
        """Who says what, by the canonical text of the value."""
        if path not in self._tallies:
            tally: dict[str, Said] = {}
            for weight, values in self._values_at(path):
                for value, count in _counted(values):
                    text = value_text(value)
                    before, number, _ = tally.get(text, _NOTHING)
                    tally[text] = Said(before + weight * count, number + count, value)
            self._tallies[path] = tally
        return self._tallies[path]

    def booleans_at(self, path: str) -> dict[str, Said]:
        """At most `true` and `false`."""
        return {text: said for text, said in self.tally_at(path).items() if type(said.value) is bool}

    def _values_at(self, path: str) -> list[tuple[Decimal, list[object]]]:
        """Null is not a value: it says that nothing is said."""
        names = path.split(".")
        return [
            (weight, [value for value in _column(payloads, names) if value is not None])
            for weight, payloads in self._groups
        ]


_NOTHING = Said(Decimal(0), 0, None)


def _counted(values: list[object]) -> Iterable[tuple[object, int]]:
    """Python calls true and 1 equal, so only values of one kind are counted by equality."""
    kinds = set(map(type, values))
    return Counter(values).items() if kinds in ({str}, {bool}) else [(value, 1) for value in values]


def _column(payloads: Iterable[dict[str, object]], names: Sequence[str]) -> list[object]:
    if len(names) == 1:
        name = names[0]
        return [payload.get(name) for payload in payloads]
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
    tally = readings.tally_at(rule.path)
    if not tally:
        return _ABSENT
    heaviest = max(said.weight for said in tally.values())
    preferred = [value_text(value) for value in rule.prefer]
    tied = (text for text, said in tally.items() if said.weight == heaviest)
    winner = min(tied, key=lambda text: (preferred.index(text) if text in preferred else len(preferred), text))
    return tally[winner].value


def _weighted_mean(rule: Derivation, readings: Readings) -> object:
    groups = readings.numbers_at(rule.path)
    if not groups:
        return _ABSENT
    total = sum((weight * len(numbers) for weight, numbers in groups), Decimal(0))
    return _rounded(sum((weight * sum(numbers) for weight, numbers in groups), Decimal(0)) / total, rule)


def _median(rule: Derivation, readings: Readings) -> object:
    """Each reporter once, whatever it weighs; of an even number, the mean of the two in the middle."""
    numbers = sorted(_numbers(rule, readings))
    if not numbers:
        return _ABSENT
    return _rounded((numbers[(len(numbers) - 1) // 2] + numbers[len(numbers) // 2]) / 2, rule)


def _numbers(rule: Derivation, readings: Readings) -> list[Decimal]:
    return [number for _, numbers in readings.numbers_at(rule.path) for number in numbers]


def _rounded(number: Decimal, rule: Derivation) -> int | float:
    step = Decimal(1).scaleb(-(rule.places or 0))
    return plain_number(number.quantize(step, rounding=ROUND_HALF_UP, context=ARITHMETIC))


def _lowest(rule: Derivation, readings: Readings) -> object:
    numbers = _numbers(rule, readings)
    return plain_number(quantised(min(numbers))) if numbers else _ABSENT


def _highest(rule: Derivation, readings: Readings) -> object:
    numbers = _numbers(rule, readings)
    return plain_number(quantised(max(numbers))) if numbers else _ABSENT


def _latest(rule: Derivation, readings: Readings) -> object:
    values = readings.by_time(rule.path)
    return values[-1] if values else _ABSENT


def _first(rule: Derivation, readings: Readings) -> object:
    values = readings.by_time(rule.path)
    return values[0] if values else _ABSENT


def _all_of(rule: Derivation, readings: Readings) -> object:
    said = readings.booleans_at(rule.path)
    return "false" not in said if said else _ABSENT


def _any_of(rule: Derivation, readings: Readings) -> object:
    said = readings.booleans_at(rule.path)
    return "true" in said if said else _ABSENT


def _boolean_majority(rule: Derivation, readings: Readings) -> object:
    """By weight; a tie is false, since no majority said true."""
    said = readings.booleans_at(rule.path)
    return said.get("true", _NOTHING).weight > said.get("false", _NOTHING).weight if said else _ABSENT


def _count(rule: Derivation, readings: Readings) -> object:
    tally = readings.tally_at(rule.path)
    if not tally and rule.default is not None:
        return _ABSENT
    if rule.equals is None:
        return sum(said.times for said in tally.values())
    return tally.get(value_text(rule.equals), _NOTHING).times


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
