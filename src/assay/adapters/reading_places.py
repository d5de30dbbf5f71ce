"""How many read at once: who finds every place taken waits, is told no in the end, and never waits for itself."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from assay.adapters.group_commit import BusyError

_PATIENCE_SECONDS = 30.0


class ReadingPlaces:
    """Each reading thread has one place, whatever it reads within its reading.

    A second place for the same thread could wait for ever for those who, like itself, hold a first one.
    """

    def __init__(self, most: int, *, patience: float = _PATIENCE_SECONDS) -> None:
        self._most = most
        self._patience = patience
        self._free = threading.BoundedSemaphore(most)
        self._thread = threading.local()

    @contextmanager
    def take(self) -> Iterator[None]:
        """For as long as the block lasts, which must begin and end on one thread; else `store.busy`."""
        if getattr(self._thread, "is_reading", False):
            yield
            return
        if not self._free.acquire(timeout=self._patience):
            raise BusyError(f"{self._most} reads are running and none finished within {self._patience:g} s")
        self._thread.is_reading = True
        try:
            yield
        finally:
            self._thread.is_reading = False
            self._free.release()
