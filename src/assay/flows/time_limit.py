"""Work of others that may take too long: each on a thread of its own, and whoever is late is not waited for."""

import threading
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TypeVar

K = TypeVar("K")
T = TypeVar("T")


class Late:
    """Nothing came in time."""


LATE = Late()
# All of one owner that may be under way in one node, what nobody waits for any more included: work that never ends
# takes its place for good, and what finds no place is late at once. Otherwise each question would cost a thread for
# ever. Each owner has places of its own: a check that hangs is late, and no other check and no answer is for that.
_MOST_PLACES = 256
_places: dict[str, threading.BoundedSemaphore] = {}


def run_within(
    seconds: float, works: Mapping[K, Callable[[], T]], *, owner: Callable[[K], str] = str
) -> dict[K, T | Exception | Late]:
    """What each came to: its value, the exception it raised, or LATE; a late thread ends when its work does.

    `owner` names whose code a work is; there must be few of them, and one shares its places with nobody.
    """
    done: SimpleQueue[tuple[K, T | Exception]] = SimpleQueue()
    started = [_start(key, work, done, _places_of(owner(key))) for key, work in works.items()]
    found: dict[K, T | Exception | Late] = dict.fromkeys(works, LATE)
    deadline = monotonic() + seconds
    for _ in range(sum(started)):
        try:
            key, value = done.get(timeout=max(0.0, deadline - monotonic()))
        except Empty:
            break
        found[key] = value
    return found


def _places_of(owner: str) -> threading.BoundedSemaphore:
    # INVARIANT: one for each owner, also when two ask at once: `setdefault` is atomic.
    return _places.get(owner) or _places.setdefault(owner, threading.BoundedSemaphore(_MOST_PLACES))


def _start(
    key: K, work: Callable[[], T], done: "SimpleQueue[tuple[K, T | Exception]]", places: threading.BoundedSemaphore
) -> bool:
    if not places.acquire(blocking=False):
        return False
    threading.Thread(target=_run, args=(key, work, done, places), daemon=True).start()
    return True


def _run(
    key: K, work: Callable[[], T], done: "SimpleQueue[tuple[K, T | Exception]]", places: threading.BoundedSemaphore
) -> None:
    try:
        done.put((key, work()))
    except Exception as error:  # noqa: BLE001 - whatever a stranger's code raises is its answer
        done.put((key, error))
    except BaseException as error:  # noqa: BLE001 - it may end its own work, and never the waiting of others
        done.put((key, RuntimeError(f"the work ended itself by {type(error).__name__}")))
    finally:
        places.release()
