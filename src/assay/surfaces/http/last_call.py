"""An end that comes: a process that was told to end does so, also where a database that hangs keeps its threads."""

import os
import sys
import threading
from contextlib import suppress

import structlog

_EXIT_OURS = 4
_log = structlog.get_logger("assay.serve")


class LastCall:
    """From `begin` on there are so many seconds to `close` it in; then the process ends as it stands.

    Nothing that was acknowledged is lost by that, since it was durable before, and who still waits is told nothing.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._wait, name="assay-last-call", daemon=True)

    def begin(self) -> None:
        """Once; the first to call it says when the time begins."""
        with suppress(RuntimeError):
            self._thread.start()

    def close(self) -> None:
        self._closed.set()

    def _wait(self) -> None:
        if self._closed.wait(self._seconds):
            return
        try:
            _log.error("cut_off", message=f"expected to have ended within {self._seconds:g} s, got threads that wait")
            sys.stderr.flush()
        finally:
            # No orderly way is left: each would wait for the threads that wait.
            os._exit(_EXIT_OURS)
