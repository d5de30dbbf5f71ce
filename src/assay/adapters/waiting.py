"""A write in the queue, and how its caller learns what became of it.

the answers of a batch -> callbacks -> each event loop is told once -> threads wake one after the other

Only one thread at a time can use the interpreter. Waking sixty at once makes them fight for it, and each pays for a
second switch. So a batch wakes a few of its threads, and each of those wakes one more before it goes on.
"""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

T = TypeVar("T")
Outcome = tuple[Any, BaseException | None]

# One would do; with two, a thread that is slow to get the interpreter does not hold up all others.
_AWAKE = 2


class Wave:
    """Who waits for the answers of one batch: threads that sleep, and futures of event loops."""

    __slots__ = ("_asleep", "_futures")

    def __init__(self) -> None:
        self._asleep: deque[Waiting[Any]] = deque()
        self._futures: dict[AbstractEventLoop, list[Future[None]]] = {}

    @property
    def is_over(self) -> bool:
        """Whether every thread of the batch was woken."""
        return not self._asleep

    def add_thread(self, waiting: "Waiting[Any]") -> None:
        self._asleep.append(waiting)

    def add_future(self, future: "Future[None]") -> None:
        self._futures.setdefault(future.get_loop(), []).append(future)

    def begin(self) -> None:
        for loop, futures in self._futures.items():
            # A loop that was closed meanwhile has nobody left to tell.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_tell, futures)
        for _ in range(_AWAKE):
            self.wake_next()

    def wake_next(self) -> None:
        """Wake one thread, which will call this in turn; one that was interrupted meanwhile does not count."""
        while self._asleep:
            try:
                waiting = self._asleep.popleft()
            except IndexError:
                return
            if waiting.wake():
                return


class Waiting(Generic[T]):
    """A job in the queue, and the caller's way to wait for it: `result` on a thread, `await` on one event loop."""

    __slots__ = (
        "_callback",
        "_error",
        "_futures",
        "_is_asleep",
        "_latch",
        "_value",
        "_wave",
        "is_resolved",
        "job",
        "size",
    )

    def __init__(self, job: object, size: int = 0) -> None:
        self.job = job
        self.size = size
        self.is_resolved = False
        self._value: T | None = None
        self._error: BaseException | None = None
        self._callback: Callable[[], None] | None = None
        self._futures: tuple[Future[None], ...] = ()
        self._wave: Wave | None = None
        self._is_asleep = False
        # A bare lock is the cheapest one-shot latch there is: held until the answer is known.
        self._latch = threading.Lock()
        self._latch.acquire()

    def result(self, timeout: float | None = None) -> T:
        if not self.is_resolved:
            if timeout is None:
                self._sleep()
            elif not self._latch.acquire(timeout=timeout):
                raise TimeoutError("the write is still waiting for its commit")
            else:
                self._latch.release()
        if self._error is not None:
            raise self._error
        return cast("T", self._value)

    def __await__(self) -> Generator[Any, None, T]:
        """Who is cancelled while waiting learns no answer; the write goes on."""
        # Imported by whoever awaits; threads need not pay for it at start-up.
        from asyncio import get_running_loop  # noqa: PLC0415 - as said above

        if not self.is_resolved:
            future = get_running_loop().create_future()
            self._futures += (future,)
            # Once more: an answer that came before the future was there has not told it.
            if not self.is_resolved:
                yield from future
        return self.result()

    def add_done_callback(self, callback: Callable[[], None]) -> None:
        self._callback = callback
        if self.is_resolved:
            self._call_back()

    def resolve(self, value: T | None, error: BaseException | None, wave: Wave) -> None:
        """Write the answer down; whoever sleeps or awaits joins the wave."""
        self._value = value
        self._error = error
        # INVARIANT: the wave is there before we look who sleeps, so whoever is seen asleep will find it.
        self._wave = wave
        self.is_resolved = True
        if self._is_asleep:
            wave.add_thread(self)
        else:
            self._latch.release()
        for future in self._futures:
            wave.add_future(future)
        if self._callback is not None:
            self._call_back()

    def wake(self) -> bool:
        """Open the latch; whether a thread sleeps behind it that will wake the next one."""
        is_asleep = self._is_asleep
        self._latch.release()
        return is_asleep

    def _sleep(self) -> None:
        try:
            self._is_asleep = True
            self._latch.acquire()
            self._latch.release()
        finally:
            # Also when interrupted: a wave that counts on this thread must go on without it.
            self._is_asleep = False
            if self._wave is not None:
                self._wave.wake_next()

    def _call_back(self) -> None:
        # Taking the callback out is atomic under the interpreter lock, so it runs once whoever gets here first.
        callback, self._callback = self._callback, None
        if callback is not None:
            # The answer is known and stays; a callback that fails must not take the writer's thread with it.
            with suppress(Exception):
                callback()


def answer_all(batch: Iterable[Waiting[Any]], outcomes: Iterable[Outcome]) -> Wave:
    """Give each its outcome, and wake whoever waits for it."""
    wave = Wave()
    for waiting, (value, error) in zip(batch, outcomes, strict=True):
        waiting.resolve(value, error, wave)
    wave.begin()
    return wave


def _tell(futures: "list[Future[None]]") -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
