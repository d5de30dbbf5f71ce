"""Work of others that may take too long: each on a thread of its own, and whoever is late is not waited for."""

import threading
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TypeVar

__all__ = ["LATE", "Late", "run_within"]

K = TypeVar("K")
T = TypeVar("T")


class Late:
    """Nothing came in time."""


LATE = Late()
# All that may be under way in one node, those included that nobody waits for any more: work that never ends takes its
# place for good, and what finds no place is late at once. Otherwise each question would cost a thread for ever.
_PLACES = threading.BoundedSemaphore(512)


def run_within(seconds: float, works: Mapping[K, Callable[[], T]]) -> dict[K, T | Exception | Late]:
    """What each came to: its value, the exception it raised, or LATE; a late thread ends when its work does."""
    done: SimpleQueue[tuple[K, T | Exception]] = SimpleQueue()
    started = [_start(key, work, done) for key, work in works.items()]
    found: dict[K, T | Exception | Late] = dict.fromkeys(works, LATE)
    deadline = monotonic() + seconds
    for _ in range(sum(started)):
        try:
            key, value = done.get(timeout=max(0.0, deadline - monotonic()))
        except Empty:
            break
        found[key] = value
    return found


def _start(key: K, work: Callable[[], T], done: "SimpleQueue[tuple[K, T | Exception]]") -> bool:
    places = _PLACES
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
