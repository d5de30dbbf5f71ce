"""A SQLite connection as the shared stores see it, and how one is opened."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from assay.adapters.sql.session import Row
from assay.kernel.errors import Blame, StoreError

__all__ = ["CannotOpenError", "SqliteSession", "open_connection"]

_BUSY_MILLISECONDS = 10_000
_STREAM_ROWS = 512


class CannotOpenError(StoreError):
    """The file is not a database we can open."""

    code = "store.cannot_open"
    blame = Blame.USAGE


class SqliteSession:
    """Implements `SqlSession` on one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def query(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        return self.connection.execute(sql, parameters).fetchall()

    def stream(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[Row]:
        cursor = self.connection.execute(sql, parameters)
        while rows := cursor.fetchmany(_STREAM_ROWS):
            yield from rows

    def run(self, sql: str, parameters: Sequence[object] = ()) -> int:
        return self.connection.execute(sql, parameters).rowcount

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        self.connection.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)  # noqa: S608 - both are our constants


def open_connection(path: Path, *, writable: bool, synchronous: str = "FULL") -> sqlite3.Connection:
    """Open with the settings our promises rest on, and check that they hold."""
    try:
        connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, timeout=_BUSY_MILLISECONDS / 1000
        )
        settings = _settings(connection, writable=writable, synchronous=synchronous)
    except sqlite3.Error as error:
        raise CannotOpenError(f"`{path}` cannot be opened as a database: {error}") from error
    if settings != ("wal", _SYNCHRONOUS[synchronous]):
        connection.close()
        raise CannotOpenError(f"`{path}` does not keep WAL with synchronous={synchronous}: got {settings}")
    return connection


_SYNCHRONOUS = {"OFF": 0, "FULL": 2}


def _settings(connection: sqlite3.Connection, *, writable: bool, synchronous: str) -> tuple[str, int]:
    ((mode,),) = connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    ((level,),) = connection.execute("PRAGMA synchronous")
    # Erased values are overwritten, not only unlinked, and REPLACE fires the DELETE triggers.
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA recursive_triggers = ON")
    connection.execute("PRAGMA wal_autocheckpoint = 4000")
    connection.execute("PRAGMA cache_size = -16384")
    # A trusted schema would let a planted view or trigger call functions with side effects.
    connection.execute("PRAGMA trusted_schema = OFF")
    if not writable:
        connection.execute("PRAGMA query_only = ON")
    return mode, level
