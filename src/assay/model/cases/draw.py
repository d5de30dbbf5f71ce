"""Draws from a seed: the same everywhere, from a hash, since a source that cannot be repeated teaches nothing twice."""

from collections.abc import Sequence
from hashlib import sha256
from itertools import accumulate
from typing import Protocol, TypeVar

T = TypeVar("T")
_WORD = 8
_SPAN = 2**53


class Draw(Protocol):
    """What a generator of cases asks for; `random.Random` is one."""

    def random(self) -> float:
        """At least 0 and below 1."""
        ...

    def randint(self, a: int, b: int, /) -> int:
        """Both ends included."""
        ...

    def choice(self, seq: Sequence[T], /) -> T: ...

    def choices(self, population: Sequence[T], weights: Sequence[int] | None = None, /, *, k: int = 1) -> list[T]: ...

    def sample(self, population: Sequence[T], k: int, /) -> list[T]: ...


class SeededDraw:
    """A stream of SHA-256 blocks of the seed and a counter."""

    __slots__ = ("_block", "_pool", "_seed")

    def __init__(self, seed: str) -> None:
        self._seed = seed.encode()
        self._block = 0
        self._pool = b""

    def random(self) -> float:
        return (self._word() >> 11) / _SPAN

    def randint(self, a: int, b: int, /) -> int:
        return a + self._below(b - a + 1)

    def choice(self, seq: Sequence[T], /) -> T:
        return seq[self._below(len(seq))]

    def choices(self, population: Sequence[T], weights: Sequence[int] | None = None, /, *, k: int = 1) -> list[T]:
        ends = list(accumulate(weights or [1] * len(population)))
        drawn = [self._below(ends[-1]) for _ in range(k)]
        return [next(one for one, end in zip(population, ends, strict=True) if at < end) for at in drawn]

    def sample(self, population: Sequence[T], k: int, /) -> list[T]:
        left = list(population)
        return [left.pop(self._below(len(left))) for _ in range(k)]

    def _below(self, count: int) -> int:
        # 64 bits scaled to the span: a span is far below 2^53, so no value is noticeably more likely than another.
        words = 1 + (count.bit_length() + 10) // 64
        drawn = 0
        for _ in range(words):
            drawn = drawn << 64 | self._word()
        return drawn * count >> (64 * words)

    def _word(self) -> int:
        if not self._pool:
            self._pool = sha256(b"%b:%d" % (self._seed, self._block)).digest()
            self._block += 1
        word, self._pool = self._pool[:_WORD], self._pool[_WORD:]
        return int.from_bytes(word, "big")
