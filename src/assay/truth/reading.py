"""What observations say at the paths that a contract reads: looked up once, then counted in whole columns.

payload + plan -> texts and numbers, when an observation arrives -> columns by path, when a key is compiled
Numbers are whole millionths, since canonical bytes keep six places: sums of them are exact in any order.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import NamedTuple, TypeVar

from msgspec import Struct

from assay.kernel.canonical import Profile, canonical_json
from assay.truth._contract_outcome import (
    ContradictionComparison,
    ContradictionRule,
    Derivation,
    DerivationStrategy,
)
from assay.truth.number import plain_value, whole_millionths

__all__ = ["Read", "ReadingPlan", "Readings", "Said", "plan_readings", "read_payload", "value_text"]

_NUMBERS = frozenset(
    {DerivationStrategy.WEIGHTED_MEAN, DerivationStrategy.MEDIAN, DerivationStrategy.MIN, DerivationStrategy.MAX}
)
_BOOLEANS = ("true", "false")
_Value = TypeVar("_Value")


class ReadingPlan(Struct, frozen=True, gc=False):
    """Paths, each once; where a text or a number stands is the place of its path here."""

    text_paths: tuple[str, ...]
    number_paths: tuple[str, ...]


class Read(NamedTuple):
    """What one observation says, path by path as the plan has them: canonical texts, and millionths of numbers.

    None stands where nothing is said, or nothing of that kind; null says nothing.
    """

    texts: tuple[str | None, ...]
    numbers: tuple[int | None, ...]


class Said(NamedTuple):
    """One value at a path: the weight behind it in millionths, and how many say it."""

    weight: int
    times: int


def plan_readings(rules: Iterable[Derivation], contradictions: Iterable[ContradictionRule]) -> ReadingPlan:
    texts: dict[str, None] = {}
    numbers: dict[str, None] = {}
    for rule in rules:
        (numbers if rule.strategy in _NUMBERS else texts)[rule.path] = None
    for contradiction in contradictions:
        is_number = contradiction.compare is ContradictionComparison.SPREAD
        (numbers if is_number else texts)[contradiction.path] = None
    return ReadingPlan(tuple(texts), tuple(numbers))


def read_payload(plan: ReadingPlan, payload: Mapping[str, object]) -> Read:
    texts = [_look_up(payload, path) for path in plan.text_paths]
    numbers = [_look_up(payload, path) for path in plan.number_paths]
    return Read(
        tuple([None if value is None else value_text(value) for value in texts]),
        tuple([_millionths(value) if type(value) is float or type(value) is int else None for value in numbers]),
    )


def _look_up(payload: object, path: str) -> object:
    value = payload
    for name in path.split("."):
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


class Readings:
    """What the speakers say, column by column; what was counted at a path is kept.

    `weights` are millionths; `moments` say when each of them spoke, as things that can be ordered.
    """

    def __init__(
        self,
        plan: ReadingPlan,
        read: tuple[Sequence[tuple[str | None, ...]], Sequence[tuple[int | None, ...]]],
        weights: Sequence[int],
        moments: Callable[[], Sequence[tuple[int, str]]],
    ) -> None:
        texts, numbers = read
        self._texts = _by_path(plan.text_paths, texts)
        self._numbers = _by_path(plan.number_paths, numbers)
        self._weights, self._moments = weights, moments
        self._tallies: dict[str, dict[str, Said]] = {}
        self._weighed: dict[str, tuple[Sequence[int], Sequence[int]]] = {}

    def by_time(self, path: str) -> list[tuple[tuple[int, str], str]]:
        """Moments and texts of those who say something."""
        pairs = zip(self._moments(), self._texts[path], strict=True)
        return [(moment, text) for moment, text in pairs if text is not None]

    def numbers_at(self, path: str) -> Sequence[int]:
        return self.weighed_at(path)[0]

    def weighed_at(self, path: str) -> tuple[Sequence[int], Sequence[int]]:
        """Numbers, and the weights of those who say them."""
        if path not in self._weighed:
            self._weighed[path] = self._weigh(self._numbers[path])
        return self._weighed[path]

    def _weigh(self, numbers: Sequence[int | None]) -> tuple[Sequence[int], Sequence[int]]:
        if None not in numbers:
            return numbers, self._weights  # type: ignore[return-value]  # asked for just before
        pairs = [(number, weight) for number, weight in zip(numbers, self._weights, strict=True) if number is not None]
        return [number for number, _ in pairs], [weight for _, weight in pairs]

    def tally_at(self, path: str) -> dict[str, Said]:
        """Who says what, by the canonical text of the value."""
        if path not in self._tallies:
            self._tallies[path] = self._tally(path)
        return self._tallies[path]

    def booleans_at(self, path: str) -> dict[str, Said]:
        """At most `true` and `false`; a text of such letters has quotes around it."""
        tally = self.tally_at(path)
        return {text: tally[text] for text in _BOOLEANS if text in tally}

    def _tally(self, path: str) -> dict[str, Said]:
        """There are only a few weights, one for each standing, so that there is little left to add up."""
        tally: dict[str, Said] = {}
        for (text, weight), times in Counter(zip(self._texts[path], self._weights, strict=True)).items():
            if text is not None:
                before = tally.get(text)
                tally[text] = (
                    Said(weight * times, times)
                    if before is None
                    else Said(before.weight + weight * times, before.times + times)
                )
        return tally


def _by_path(paths: Sequence[str], rows: Sequence[tuple[_Value, ...]]) -> dict[str, tuple[_Value, ...]]:
    """A column for each path; empty ones where nobody speaks."""
    return dict(zip(paths, zip(*rows, strict=True) if rows else repeat(()), strict=False))
