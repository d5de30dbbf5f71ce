"""Threads for what waits, and an end to waiting: while the database hangs, whoever asked is told so in time.

work -> a place -> a thread -> its answer;  none for a while -> does the database answer? -> wait on : give up
INVARIANT: a place is given back when its thread ends, so those who gave up leave no more threads than there are places;
what has no thread yet when it is given up is never begun.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cached_property
from typing import Any, TypeVar

from anyio import CapacityLimiter, WouldBlock

T = TypeVar("T")
# Whoever waits longer has the database looked at; work that takes its time goes on while that answers.
PATIENCE_SECONDS = 10.0
_PULSE_SECONDS = 5.0


class GivenUpError(Exception):
    """The database gave no answer for as long as we wait; the door says what that means for what was asked."""


class Pulse:
    """Whether the database answers, by one look at a time: one that hangs is waited for again and not repeated."""

    def __init__(self, look: Callable[[], object]) -> None:
        self._look = look
        self._looking: asyncio.Future[object] | None = None

    async def is_felt(self) -> bool:
        """Not where it refuses, either: whoever asks has waited long enough already."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().run_in_executor(self._pool, self._look)
            self._looking.add_done_callback(_hear_out)
        done, _ = await asyncio.wait((self._looking,), timeout=_PULSE_SECONDS)
        return any(one.exception() is None for one in done)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        """Made with the first look, so that a process that forks before has one of its own."""
        return ThreadPoolExecutor(1, thread_name_prefix="assay-pulse")


class Crew:
    """So many threads for one kind of work; the others wait for a place."""

    def __init__(self, name: str, count: int) -> None:
        self.count = count
        self._name = name
        self._places = CapacityLimiter(count)

    @property
    def busy(self) -> int:
        return self._places.statistics().borrowed_tokens

    @property
    def waiting(self) -> int:
        return self._places.statistics().tasks_waiting

    async def run(self, work: Callable[[], T], *pulses: Pulse) -> T:
        """Do it on a thread; `GivenUpError` when it takes long and a pulse is not felt."""
        turn = object()
        await self._take_place(turn, pulses)
        context = copy_context()

        def leave(done: asyncio.Future[T]) -> None:
            _hear_out(done)
            self._places.release_on_behalf_of(turn)

        future = asyncio.get_running_loop().run_in_executor(self._pool, lambda: context.run(work))
        future.add_done_callback(leave)
        return await wait_patiently(future, *pulses)

    async def _take_place(self, turn: object, pulses: tuple[Pulse, ...]) -> None:
        try:
            self._places.acquire_on_behalf_of_nowait(turn)
        except WouldBlock:
            await self._wait_for_place(turn, pulses)

    async def _wait_for_place(self, turn: object, pulses: tuple[Pulse, ...]) -> None:
        taking = asyncio.ensure_future(self._places.acquire_on_behalf_of(turn))
        try:
            await wait_patiently(taking, *pulses)
        except BaseException:
            # Whoever has one by now gives it back; the others leave the line.
            if not taking.cancel() and taking.exception() is None:
                self._places.release_on_behalf_of(turn)
            raise

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        """Made with the first work, as above."""
        return ThreadPoolExecutor(self.count, thread_name_prefix=self._name)


async def wait_patiently(awaited: "asyncio.Future[T]", *pulses: Pulse) -> T:
    """What comes of it; it goes on whether or not anybody waits."""
    while not (await asyncio.wait((awaited,), timeout=PATIENCE_SECONDS))[0]:
        await _require(pulses)
    return awaited.result()


async def wait_again(pending: Awaitable[T], *pulses: Pulse) -> T:
    """The same for what can be awaited more than once."""
    while True:
        limit = asyncio.timeout(PATIENCE_SECONDS)
        try:
            async with limit:
                return await pending
        except TimeoutError:
            if not limit.expired():
                raise
        await _require(pulses)


async def _require(pulses: tuple[Pulse, ...]) -> None:
    for pulse in pulses:
        if not await pulse.is_felt():
            raise GivenUpError


def _hear_out(done: "asyncio.Future[Any]") -> None:
    """Where nobody waits any more when it fails, nobody need be told."""
    if not done.cancelled():
        done.exception()
