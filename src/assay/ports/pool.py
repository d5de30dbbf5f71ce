"""A pool of workers that run a pure function on one part of the work after another."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

Part = TypeVar("Part")
Done = TypeVar("Done")


class Pool(Protocol):
    """Answers come in the order of the parts; only a few parts are taken ahead of the answers.

    The function is a plain one of a module, and parts and answers can be pickled: a worker shares nothing with us.
    """

    def run(self, work: Callable[[Part], Done], parts: Iterable[Part]) -> Iterator[Done]: ...


class Pools(Protocol):
    """Opens a pool; the caller closes it."""

    def open(self, workers: int | None, *, dask: str | None = None) -> AbstractContextManager[Pool]:
        """So many workers, one for each processor where None; or those of a Dask scheduler."""
