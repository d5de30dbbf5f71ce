"""Requests that wait at the same time are worked on together: one thread, one look at the database, one commit.

ask -> a thread that is free takes it at once, else it waits -> who is free next takes all that wait -> each is told
"""

import threading
from asyncio import AbstractEventLoop, Future, get_running_loop
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from typing import Generic, TypeVar

A = TypeVar("A")
R = TypeVar("R")


class Gathering(Generic[A, R]):
    """`work` answers each of those it is given, in order, with a result or with what is raised to who asked.

    Where it raises instead, each is worked on alone, so that nobody pays for what another sent. It may be called from
    several threads at once. Who is cancelled while waiting learns no answer; what was taken up goes on.
    """

    def __init__(
        self, work: Callable[[Sequence[A]], Sequence[R | Exception]], *, name: str, threads: int, at_most: int
    ) -> None:
        self._work = work
        self._name = name
        self._threads = threads
        self._at_most = at_most
        self._waiting: deque[tuple[A, Future[R]]] = deque()
        self._free = threads
        self._lock = threading.Lock()

    @property
    def queue_length(self) -> int:
        """How many wait for a thread."""
        return len(self._waiting)

    async def ask(self, asked: A, wait: Callable[[Future[R]], Awaitable[R]] | None = None) -> R:
        """`wait` is how it is waited for; where it raises before anybody took it up, nobody will."""
        future: Future[R] = get_running_loop().create_future()
        with self._lock:
            self._waiting.append((asked, future))
            is_free = self._free > 0
            if is_free:
                self._free -= 1
        if is_free:
            self._pool.submit(self._serve)
        try:
            return await (future if wait is None else wait(future))
        finally:
            if not future.done() or future.cancelled():
                self._forget(future)

    def _forget(self, future: Future[R]) -> None:
        future.cancel()
        with self._lock:
            self._waiting = deque(one for one in self._waiting if one[1] is not future)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        """Made with the first work, so that a process that forks before has one of its own."""
        return ThreadPoolExecutor(self._threads, thread_name_prefix=self._name)

    def _serve(self) -> None:
        """On a thread: until nobody waits any more."""
        while some := self._take():
            futures = [future for _, future in some]
            outcomes = self._answer([asked for asked, _ in some])
            told: dict[AbstractEventLoop, list[tuple[Future[R], R | Exception]]] = {}
            for future, outcome in zip(futures, outcomes, strict=True):
                told.setdefault(future.get_loop(), []).append((future, outcome))
            for loop, pairs in told.items():
                # A loop that was closed meanwhile has nobody left to tell.
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(_tell, pairs)

    def _take(self) -> list[tuple[A, Future[R]]]:
        with self._lock:
            some = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._at_most))]
            if not some:
                self._free += 1
            return some

    def _answer(self, asked: Sequence[A]) -> Sequence[R | Exception]:
        try:
            outcomes = self._work(asked)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised to who asked
            return [error] if len(asked) == 1 else [self._answer([one])[0] for one in asked]
        return outcomes


def _tell(pairs: Sequence[tuple[Future[R], R | Exception]]) -> None:
    for future, outcome in pairs:
        if future.done():
            continue
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
