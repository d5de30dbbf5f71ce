"""What observations say at the paths that a contract reads: looked up once, then counted in whole columns.

payload + plan -> texts and numbers, when an observation arrives -> columns by path, when a key is compiled
Numbers are whole millionths, since canonical bytes keep six places: sums of them are exact in any order.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from msgspec import Struct

from assay.kernel.canonical import Profile, canonical_json
from assay.truth._contract_outcome import (
    CENTRES,
    ContradictionComparison,
    ContradictionRule,
    Derivation,
    DerivationStrategy,
)
from assay.truth.number import plain_value, whole_millionths

_NUMBERS = frozenset({*CENTRES, DerivationStrategy.INTERVAL, DerivationStrategy.MIN, DerivationStrategy.MAX})
_BOOLEANS = ("true", "false")
# Said by so many each on the whole, texts are quicker counted one by one than speaker by speaker.
_FEW = 4


class ReadingPlan(Struct, frozen=True, gc=False):
    """Paths, each once; where a text or a number stands is the place of its path here. Ways are paths, name by name."""

    text_paths: tuple[str, ...]
    number_paths: tuple[str, ...]
    text_ways: tuple[tuple[str, ...], ...]
    number_ways: tuple[tuple[str, ...], ...]


class Read(NamedTuple):
    """What one observation says, path by path as the plan has them: canonical texts, and millionths of numbers.

    None stands where nothing is said, or nothing of that kind; null says nothing.
    """

    texts: tuple[str | None, ...]
    numbers: tuple[int | None, ...]


def plan_readings(rules: Iterable[Derivation], contradictions: Iterable[ContradictionRule]) -> ReadingPlan:
    texts: dict[str, None] = {}
    numbers: dict[str, None] = {}
    for rule in rules:
        (numbers if rule.strategy in _NUMBERS else texts)[rule.path] = None
    for contradiction in contradictions:
        is_number = contradiction.compare is ContradictionComparison.SPREAD
        (numbers if is_number else texts)[contradiction.path] = None
    return ReadingPlan(tuple(texts), tuple(numbers), _ways(texts), _ways(numbers))


def _ways(paths: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(path.split(".")) for path in paths)


def read_payload(plan: ReadingPlan, payload: Mapping[str, object]) -> Read:
    texts = [_look_up(payload, way) for way in plan.text_ways]
    numbers = [_look_up(payload, way) for way in plan.number_ways]
    return Read(
        tuple([None if value is None else value_text(value) for value in texts]),
        tuple([_millionths(value) if type(value) is float or type(value) is int else None for value in numbers]),
    )


def _look_up(payload: object, way: tuple[str, ...]) -> object:
    value = payload
    for name in way:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


# Reports repeat the same few readings, and reading a decimal costs more than finding it.
_millionths = lru_cache(maxsize=1 << 14)(whole_millionths)


def value_text(value: object) -> str:
    """Equal values are equal canonical texts."""
    if type(value) is bool:
        return "true" if value else "false"
    return _text_of_text(value) if type(value) is str else canonical_json(plain_value(value), Profile.KAORI)


@lru_cache(maxsize=1 << 12)
def _text_of_text(value: str) -> str:
    return canonical_json(value, Profile.KAORI)


class Group(NamedTuple):
    """Where those who say the same stand, and what picks their weights out of all."""

    places: tuple[int, ...]
    pick: Callable[[Sequence[int]], Sequence[int]]


def _group(places: Sequence[int]) -> Group:
    # A slice, since of one place alone `itemgetter` would give a bare number.
    pick = itemgetter(*places) if len(places) > 1 else itemgetter(slice(places[0], places[0] + 1))
    return Group(tuple(places), pick)


class TextColumn(NamedTuple):
    """What each says at a path. `groups` are those who say one text, kept only where a few texts are said by many."""

    texts: tuple[str | None, ...]
    groups: Mapping[str, Group] | None

    def adding(self, text: str | None) -> "TextColumn":
        texts = (*self.texts, text)
        if self.groups is None or text is None:
            return TextColumn(texts, self.groups)
        places = self.groups[text].places if text in self.groups else ()
        return TextColumn(texts, {**self.groups, text: _group((*places, len(self.texts)))})


class NumberColumn(NamedTuple):
    """What each says at a path, in millionths; `spoken` are those that are numbers, the same tuple where all are."""

    numbers: tuple[int | None, ...]
    spoken: tuple[int, ...]

    def adding(self, number: int | None) -> "NumberColumn":
        if number is None:
            return NumberColumn((*self.numbers, None), self.spoken)
        spoken = (*self.spoken, number)
        return NumberColumn(spoken if self.numbers is self.spoken else (*self.numbers, number), spoken)


def text_column(texts: tuple[str | None, ...]) -> TextColumn:
    if len(texts) < _FEW * len(set(texts)):
        return TextColumn(texts, None)
    places: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        if text is not None:
            places.setdefault(text, []).append(place)
    return TextColumn(texts, {text: _group(found) for text, found in places.items()})


def number_column(numbers: tuple[int | None, ...]) -> NumberColumn:
    spoken = tuple([number for number in numbers if number is not None])
    return NumberColumn(spoken if len(spoken) == len(numbers) else numbers, spoken)


class Readings:
    """What the speakers say, column by column; what was counted at a path is kept.

    `weights` are millionths; `moments` say when each of them spoke, as things that can be ordered. `corrected` are
    numbers and weights by path as the reporters' competence corrects them.
    """

    def __init__(
        self,
        texts: Mapping[str, TextColumn],
        numbers: Mapping[str, NumberColumn],
        weights: Sequence[int],
        moments: Callable[[], Iterable[tuple[int, str]]],
        corrected: Mapping[str, tuple[Sequence[int], Sequence[int]]] | None = None,
    ) -> None:
        self._texts, self._numbers, self._weights, self._moments = texts, numbers, weights, moments
        self._corrected = corrected or {}
        # Centres that were found already, by what they depend on.
        self.centres: dict[object, int] = {}
        self._tallies: dict[str, Mapping[str, int]] = {}

    def by_time(self, path: str) -> list[tuple[tuple[int, str], str]]:
        """Moments and texts of those who say something."""
        pairs = zip(self._moments(), self._texts[path].texts, strict=True)
        return [(moment, text) for moment, text in pairs if text is not None]

    def numbers_at(self, path: str) -> Sequence[int]:
        return self._numbers[path].spoken

    def weights_at(self, path: str) -> Sequence[int]:
        """The weights of those who say a number, in the order of the numbers."""
        column = self._numbers[path]
        if column.numbers is column.spoken:
            return self._weights
        return [weight for number, weight in zip(column.numbers, self._weights, strict=True) if number is not None]

    def centred_at(self, path: str) -> tuple[Sequence[int], Sequence[int]]:
        """The numbers and weights of which a robust centre is taken: by competence where a posterior is computed."""
        return self._corrected.get(path) or (self.numbers_at(path), self.weights_at(path))

    def count(self, path: str, text: str | None = None) -> int:
        """How many say this, or anything."""
        texts = self._texts[path].texts
        return len(texts) - texts.count(None) if text is None else texts.count(text)

    def tally_at(self, path: str) -> Mapping[str, int]:
        """The weight behind each value, by its canonical text."""
        if path not in self._tallies:
            self._tallies[path] = self._tally(self._texts[path])
        return self._tallies[path]

    def booleans_at(self, path: str) -> dict[str, int]:
        """At most `true` and `false`; a text of such letters has quotes around it."""
        tally = self.tally_at(path)
        return {text: tally[text] for text in _BOOLEANS if text in tally}

    def _tally(self, column: TextColumn) -> Mapping[str, int]:
        weights = self._weights
        if column.groups is not None:
            return {text: sum(group.pick(weights)) for text, group in column.groups.items()}
        tally: dict[str, int] = {}
        for text, weight in zip(column.texts, weights, strict=True):
            if text is not None:
                tally[text] = tally.get(text, 0) + weight
        return tally
