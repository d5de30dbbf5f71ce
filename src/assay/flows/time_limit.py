"""Run foreign code within a time limit and a number of places; code that hangs delays nobody else.

work + owner + caller -> a place of that owner -> a reused thread -> the value, the exception, or LATE
An owner is one answerer, strand, plugin or replay. Its places are its own, and one caller gets half of them.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TypeVar

K = TypeVar("K")
T = TypeVar("T")
PLACES = 16
# Work that runs longer makes its owner slow: while it does, requests beyond the places are refused at once.
_SLOW_SECONDS = 1.0
_MOST_IDLE = 32
_IDLE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Late:
    """No result. `is_busy` where the work was not started: the places of its owner, or of the caller, are taken."""

    is_busy: bool = False


LATE = Late()
BUSY = Late(is_busy=True)


class _Places:
    """The works of one owner that are under way, including those that nobody waits for any more."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running: dict[object, tuple[str, float]] = {}
        self._by_caller: Counter[str] = Counter()

    def take(self, caller: str, limit: int, deadline: float) -> object | None:
        """Take a place; wait for one only while the owner finishes its work quickly."""
        of_caller = max(1, limit // 2) if caller else limit
        with self._changed:
            while len(self._running) >= limit or self._by_caller[caller] >= of_caller:
                oldest = next(iter(self._running.values()))[1]
                patience = min(deadline, oldest + _SLOW_SECONDS) - monotonic()
                if patience <= 0:
                    return None
                self._changed.wait(patience)
            place = object()
            self._running[place] = caller, monotonic()
            self._by_caller[caller] += 1
            return place

    def give_back(self, place: object) -> None:
        with self._changed:
            caller, _ = self._running.pop(place)
            self._by_caller[caller] -= 1
            if not self._by_caller[caller]:
                del self._by_caller[caller]
            self._changed.notify_all()


_places: dict[str, _Places] = {}


def run_within(
    seconds: float,
    works: Mapping[K, Callable[[], T]],
    *,
    owner: Callable[[K], str] = str,
    caller: str = "",
    places: int = PLACES,
) -> dict[K, T | Exception | Late]:
    """Run each work on a thread; return its value, the exception it raised, LATE, or BUSY.

    A late thread ends when its work does, and holds its place until then. There must be few owners: each is remembered.
    """
    deadline = monotonic() + seconds
    done: SimpleQueue[tuple[K, T | Exception]] = SimpleQueue()
    found: dict[K, T | Exception | Late] = dict.fromkeys(works, LATE)
    waiting = 0
    for key, work in works.items():
        # INVARIANT: one for each owner, also when two ask at once: `setdefault` is atomic.
        of_owner = _places.get(owner(key)) or _places.setdefault(owner(key), _Places())
        place = of_owner.take(caller, places, deadline)
        if place is None:
            found[key] = BUSY
            continue
        waiting += 1
        _THREADS.start(_job(key, work, done, of_owner, place))
    for _ in range(waiting):
        try:
            key, value = done.get(timeout=max(0.0, deadline - monotonic()))
        except Empty:
            break
        found[key] = value
    return found


def _job(
    key: K, work: Callable[[], T], done: "SimpleQueue[tuple[K, T | Exception]]", places: _Places, place: object
) -> Callable[[], None]:
    context = copy_context()

    def run() -> None:
        value: T | Exception
        try:
            value = context.run(work)
        except Exception as error:  # noqa: BLE001 - foreign code may raise anything, and that is its result
            value = error
        except BaseException as error:  # noqa: BLE001 - it ends its own work, never the waiting of others
            value = RuntimeError(f"the work ended itself by {type(error).__name__}")
        places.give_back(place)
        done.put((key, value))

    return run


class _Threads:
    """Daemon threads that are used again: an executor's would be joined at exit, also one that hangs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[Callable[[], None]]] = []

    def start(self, job: Callable[[], None]) -> None:
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is not None:
            inbox.put(job)
            return
        threading.Thread(target=self._serve, args=(job,), name="assay-foreign", daemon=True).start()

    def _serve(self, job: Callable[[], None]) -> None:
        inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
        following: Callable[[], None] | None = job
        while following is not None:
            following()
            following = self._wait(inbox)

    def _wait(self, inbox: "SimpleQueue[Callable[[], None]]") -> Callable[[], None] | None:
        """The next job of this thread; None where it was idle for long, or enough others are."""
        with self._lock:
            if len(self._idle) >= _MOST_IDLE:
                return None
            self._idle.append(inbox)
        try:
            return inbox.get(timeout=_IDLE_SECONDS)
        except Empty:
            with self._lock:
                if inbox in self._idle:
                    self._idle.remove(inbox)
                    return None
            # It was taken at this moment, and its job is on the way.
            return inbox.get()


_THREADS = _Threads()
