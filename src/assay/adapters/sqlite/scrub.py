"""Empty SQLite's write-ahead log: the older pages in it are the last place where an erased value can be read."""

import sqlite3
from contextlib import suppress
from time import monotonic, sleep

from assay.adapters.sqlite.session import DRIVER_ERRORS

_ATTEMPTS = 4
_PAUSE_SECONDS = 0.05
# While it waits for a reader it keeps writers out, so it waits a moment only.
_WAIT_MILLISECONDS = 20
_AGAIN_SECONDS = 1.0


def empty_log(connection: sqlite3.Connection) -> bool:
    """Write the log into the database and cut it to nothing; False when a reader or a writer is in the way."""
    ((patience,),) = connection.execute("PRAGMA busy_timeout")
    connection.execute(f"PRAGMA busy_timeout = {_WAIT_MILLISECONDS}")
    try:
        ((is_busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.execute(f"PRAGMA busy_timeout = {patience}")
    return not is_busy


class Scrubbing:
    """Whether the log still has to be emptied, and when to try again."""

    def __init__(self) -> None:
        self.is_pending = False
        self._due = 0.0

    def run(self, connection: sqlite3.Connection) -> bool:
        """Try a few times; what stays undone stays pending."""
        for attempt in range(_ATTEMPTS):
            if attempt:
                sleep(_PAUSE_SECONDS)
            if _is_emptied(connection):
                self.is_pending = False
                return True
        self.is_pending = True
        return False

    def run_when_due(self, connection: sqlite3.Connection) -> None:
        """On the writer's connection, between two transactions: once a second while something is pending."""
        if not self.is_pending or monotonic() < self._due:
            return
        self._due = monotonic() + _AGAIN_SECONDS
        self.is_pending = not _is_emptied(connection)


def _is_emptied(connection: sqlite3.Connection) -> bool:
    # Nothing was promised yet and nothing is lost: like SQLite's own checkpoints, a failed one is tried again.
    with suppress(*DRIVER_ERRORS):
        return empty_log(connection)
    return False
