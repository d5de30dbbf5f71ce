"""A SQLite connection as the shared stores see it, and how one is opened."""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, islice
from pathlib import Path
from weakref import WeakSet

from assay.adapters.sql.errors import (
    AppendOnlyError,
    BrokenLinkError,
    CannotOpenError,
    RowRefusedError,
    StatementError,
    UnavailableError,
)
from assay.adapters.sql.ledger_store import ReadOnlyError
from assay.adapters.sql.record import ConflictError
from assay.adapters.sql.session import Row
from assay.kernel.errors import Error
from assay.ports.damage import DamagedFileError

_BUSY_MILLISECONDS = 10_000
# Places in one statement; SQLite takes 32,766, and what has so many is no quicker than this.
_MOST_PLACES = 1024
# Kept ready: all that a connection runs, also with each number of rows that are added at once.
_STATEMENTS = 512
# A damaged schema is reported in words taken from it, and the driver fails to decode those.
DRIVER_ERRORS = (sqlite3.Error, UnicodeDecodeError)


class SqliteSession:
    """Implements `SqlSession` on one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._streams: WeakSet[sqlite3.Cursor] = WeakSet()

    def end_streams(self) -> None:
        """What was not read to its end keeps the connection on the state it saw, also in transactions to come."""
        for cursor in tuple(self._streams):
            cursor.close()

    def query(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        try:
            return self.connection.execute(sql, parameters).fetchall()
        except DRIVER_ERRORS as error:
            raise translate_error(error) from error

    def stream(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[Row]:
        try:
            cursor = self.connection.execute(sql, parameters)
            self._streams.add(cursor)
            # One by one: when the file is damaged further on, what lies before it is still handed out.
            for row in cursor:  # noqa: UP028 - `yield from` would also close it
                yield row
        except DRIVER_ERRORS as error:
            raise translate_error(error) from error

    def run(self, sql: str, parameters: Sequence[object] = ()) -> int:
        try:
            return self.connection.execute(sql, parameters).rowcount
        except DRIVER_ERRORS as error:
            raise translate_error(error) from error

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Many rows in one statement: each statement keeps what its pages were before, and gives up the interpreter."""
        waiting, width = iter(rows), len(columns)
        most = 1 << ((_MOST_PLACES // width).bit_length() - 1)
        try:
            while part := list(islice(waiting, most)):
                self._insert_part(table, tuple(columns), part)
        except DRIVER_ERRORS as error:
            raise translate_error(error) from error
        except (OverflowError, UnicodeEncodeError) as error:
            raise RowRefusedError(f"a row does not fit `{table}`: {error}") from error

    def _insert_part(self, table: str, columns: tuple[str, ...], rows: list[Sequence[object]]) -> None:
        """By powers of two, largest first: few statements serve every number of rows."""
        for row in rows:
            # One too long and one too short would together be as long as the places are.
            if len(row) != len(columns):
                raise StatementError(f"expected {len(columns)} values in a row of `{table}`, got {len(row)}")
        start = 0
        while start < len(rows):
            count = 1 << ((len(rows) - start).bit_length() - 1)
            values = list(chain.from_iterable(rows[start : start + count]))
            self.connection.execute(_insertion(table, columns, count), values)
            start += count


@cache
def _insertion(table: str, columns: tuple[str, ...], count: int) -> str:
    """Made once for each: there are as many as we have tables, times the few numbers of rows."""
    place = f"({', '.join('?' * len(columns))})"
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join([place] * count)}"  # noqa: S608 - our constants


def translate_error(error: sqlite3.Error | UnicodeDecodeError) -> Error:
    """SQLite's error in our words; whoever raises it names the original as its cause."""
    code, text = getattr(error, "sqlite_errorcode", None), str(error)
    if code in _TAKEN or text.endswith("that place is taken"):
        return ConflictError(text)
    if code == sqlite3.SQLITE_CONSTRAINT_TRIGGER:
        return BrokenLinkError(text) if text.startswith("ledger chain broken") else AppendOnlyError(text)
    if code == sqlite3.SQLITE_READONLY:
        return ReadOnlyError("expected a unit of work that writes, got one that only reads")
    if code in _VALUES:
        return RowRefusedError(f"the database does not take these values: {text}")
    if code is not None and code & _PRIMARY_CODE in _DAMAGED:
        return DamagedFileError(f"the database's file is damaged: {text}")
    return StatementError(f"the database refused a statement: {text}")


# Extended codes say more in the higher bits.
_PRIMARY_CODE = 0xFF
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PASSING = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_TAKEN = (sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE)
_VALUES = (
    sqlite3.SQLITE_CONSTRAINT_CHECK,
    sqlite3.SQLITE_CONSTRAINT_NOTNULL,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_TOOBIG,
)


def open_connection(path: Path, *, writable: bool, synchronous: str = "FULL") -> sqlite3.Connection:
    """Open with the settings our promises rest on, and check that they hold."""
    if not writable and _is_read_only(path.parent):
        return _open_frozen(path)
    try:
        connection = sqlite3.connect(
            path,
            isolation_level=None,
            check_same_thread=False,
            timeout=_BUSY_MILLISECONDS / 1000,
            cached_statements=_STATEMENTS,
        )
    except sqlite3.Error as error:
        raise cannot_open(f"`{path}` cannot be opened as a database", error) from error
    try:
        settings = _settings(connection, writable=writable, synchronous=synchronous)
    except DRIVER_ERRORS as error:
        connection.close()
        raise cannot_open(f"`{path}` cannot be opened as a database", error) from error
    if settings != ("wal", _SYNCHRONOUS[synchronous]):
        connection.close()
        raise CannotOpenError(f"`{path}` does not keep WAL with synchronous={synchronous}: got {settings}")
    return connection


def cannot_open(what: str, error: Exception) -> CannotOpenError:
    """With SQLite's own name for it, which says of a disk that failed at what it did; that may be over in a while."""
    name, code = getattr(error, "sqlite_errorname", None), getattr(error, "sqlite_errorcode", 0)
    kind = UnavailableError if code & _PRIMARY_CODE in _PASSING else CannotOpenError
    return kind(f"{what}: {error}" if name is None else f"{what}: {error} ({name})")


def _is_read_only(folder: Path) -> bool:
    return folder.is_dir() and bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def _open_frozen(path: Path) -> sqlite3.Connection:
    """On a read-only medium, such as an auditor's copy: nobody writes there, and SQLite has no place for its index.

    A copy that was taken while commits lay in the write-ahead log alone is refused: reading on would leave them out.
    """
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size > 0:
        raise CannotOpenError(
            f"`{path}` is on a read-only medium, and `{log.name}` holds commits that are not in it yet:"
            " copy the folder to where it can be written"
        )
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None, check_same_thread=False
        )
        for setting in ("trusted_schema = OFF", "query_only = ON", "cache_size = -16384"):
            connection.execute(f"PRAGMA {setting}")
    except DRIVER_ERRORS as error:
        raise cannot_open(f"`{path}` cannot be opened as a database", error) from error
    return connection


# Where the head of a database file says that it is written by way of a log, and how.
_WRITE_VERSION, _WAL_VERSION = 18, b"\x02"
_SYNCHRONOUS = {"OFF": 0, "NORMAL": 1, "FULL": 2, "EXTRA": 3}


def synchronous_of(connection: sqlite3.Connection) -> str:
    """The setting in force, by its name."""
    ((level,),) = connection.execute("PRAGMA synchronous")
    return next((name for name, number in _SYNCHRONOUS.items() if number == level), str(level))


def journal_mode_of(connection: sqlite3.Connection, path: Path) -> str:
    """The mode in force; of a file that is read without its log, the one that stands in its head."""
    ((mode,),) = connection.execute("PRAGMA journal_mode")
    if mode == "wal":
        return "wal"
    # INVARIANT: no file that SQLite has open and others may write to is opened beside it. To close one gives up every
    # lock this process has on it; the next process that closes the database then takes the log away under our writer.
    with path.open("rb") as file:
        head = file.read(_WRITE_VERSION + 1)
    return "wal" if head[_WRITE_VERSION:] == _WAL_VERSION else str(mode)


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
