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


def run_within(seconds: float, works: Mapping[K, Callable[[], T]]) -> dict[K, T | Exception | Late]:
    """What each came to: its value, the exception it raised, or LATE; a late thread ends when its work does."""
    done: SimpleQueue[tuple[K, T | Exception]] = SimpleQueue()
    for key, work in works.items():
        threading.Thread(target=_run, args=(key, work, done), daemon=True).start()
    found: dict[K, T | Exception | Late] = dict.fromkeys(works, LATE)
    deadline = monotonic() + seconds
    for _ in works:
        try:
            key, value = done.get(timeout=max(0.0, deadline - monotonic()))
        except Empty:
            break
        found[key] = value
    return found


def _run(key: K, work: Callable[[], T], done: "SimpleQueue[tuple[K, T | Exception]]") -> None:
    try:
        done.put((key, work()))
    except Exception as error:  # noqa: BLE001 - whatever a stranger's code raises is its answer
        done.put((key, error))
