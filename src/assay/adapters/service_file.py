"""One SQLite file where all workers of a service meet: each commit is durable, and one worker writes at a time."""

import sqlite3
import threading
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from assay.adapters.group_commit import BusyError
from assay.adapters.latch_file import LatchFile
from assay.adapters.sql.errors import CannotOpenError
from assay.adapters.sql.registry_store import SqlServiceStore
from assay.adapters.sqlite.session import DRIVER_ERRORS, SqliteSession, open_connection, translate_error
from assay.ports.registry_store import ServiceStore

T = TypeVar("T")
_SCHEMA = "registry.sql"


class ServiceFile:
    """Implements `ports.registry_store.ServiceMemory`; safe for threads, and for processes that share the file.

    `patience` is how long a write waits for another worker's: whoever waits longer is told, and nothing was written.
    """

    def __init__(self, path: Path, *, patience: float = 5.0) -> None:
        self._path = path
        self._patience = patience
        self._lock = threading.Lock()
        self._connection = open_connection(path, writable=True)
        try:
            self._connection.execute(f"PRAGMA busy_timeout = {int(patience * 1000)}")
            self._create()
        except DRIVER_ERRORS as error:
            self._connection.close()
            raise CannotOpenError(f"`{path}` cannot be opened as the memory of a service: {error}") from error

    @property
    def latch(self) -> LatchFile:
        """The file beside it that takes a firing while this one cannot grow."""
        return LatchFile(self._path.with_name(f"{self._path.name}.latch"))

    def write(self, work: Callable[[ServiceStore], T]) -> T:
        return self._transact("BEGIN IMMEDIATE", work)

    def read(self, work: Callable[[ServiceStore], T]) -> T:
        return self._transact("BEGIN", work)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _transact(self, begin: str, work: Callable[[ServiceStore], T]) -> T:
        if not self._lock.acquire(timeout=self._patience):
            raise BusyError("other threads keep the service's memory busy; nothing was written")
        try:
            self._begin(begin)
            return self._commit(work)
        finally:
            self._lock.release()

    def _commit(self, work: Callable[[ServiceStore], T]) -> T:
        try:
            done = work(SqlServiceStore(SqliteSession(self._connection)))
            self._connection.execute("COMMIT")
        except BaseException as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise translate_error(error) from error
            raise
        return done

    def _begin(self, begin: str) -> None:
        try:
            self._connection.execute(begin)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                raise BusyError("another worker keeps the service's memory locked; nothing was written") from error
            raise translate_error(error) from error

    def _create(self) -> None:
        """The registry's own migration makes the file; two workers that start at once do it once."""
        self._connection.execute("BEGIN IMMEDIATE")
        known = self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'switch_fact'").fetchone()
        if known is None:
            for statement in _statements(_schema()):
                self._connection.execute(statement)
        self._connection.execute("COMMIT")


def _schema() -> str:
    folder = files("assay.adapters.sqlite") / "migrations"
    (script,) = (item for item in folder.iterdir() if item.name.endswith(f"_{_SCHEMA}"))
    return script.read_text(encoding="utf-8")


def _statements(script: str) -> list[str]:
    """One by one, since running a script at once would commit in between."""
    found, begun = [], ""
    for line in script.splitlines(keepends=True):
        begun += line
        if sqlite3.complete_statement(begun):
            found.append(begun)
            begun = ""
    return found
