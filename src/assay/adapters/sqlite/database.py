"""The SQLite database: one writer thread with group commit, a pool of readers, and a lock file that fences others."""

import fcntl
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from assay.adapters.group_commit import BusyError, ClosedError, GroupCommit
from assay.adapters.reading_places import ReadingPlaces
from assay.adapters.sql.engine import Notify, SqlEngine, Subscribers
from assay.adapters.sql.errors import CannotOpenError, StatementError, WriterHeldError
from assay.adapters.sql.ledger_store import ReadOnlyError
from assay.adapters.sql.migrate import load_migrations, migrate, require_current, schema_version
from assay.adapters.sql.rows import RowCache
from assay.adapters.sql.storable import verify_storable
from assay.adapters.sql.unit import SqlUnit
from assay.adapters.sqlite.open_files import OpenFiles
from assay.adapters.sqlite.scrub import Scrubbing, empty_log
from assay.adapters.sqlite.session import (
    DRIVER_ERRORS,
    SqliteSession,
    cannot_open,
    journal_mode_of,
    open_connection,
    synchronous_of,
)
from assay.adapters.waiting import Waiting
from assay.kernel.errors import Error
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, Receipt, prepare, size_of
from assay.ports.credential_seal import CredentialSeal
from assay.ports.database import DatabaseFacts, Unit
from assay.ports.projection import Projector

T = TypeVar("T")
_PACKAGE = "assay.adapters.sqlite"
# Each keeps pages in memory; more than these would find no core to run on.
_MOST_READERS = 32


class SqliteDatabase:
    """Implements `ports.database.Database` on one file."""

    def __init__(
        self,
        path: Path,
        projector: Projector,
        *,
        at: Instant | None,
        writable: bool = True,
        seal: CredentialSeal | None = None,
        must_exist: bool = False,
        unsafe_synchronous_off: bool = False,
    ) -> None:
        """Open, and when writable: fence others, bring the schema up to date (`at` dates it), start the writer.

        `projector` says which rows follow from which entries, `seal` makes and checks the MACs of credentials.

        `must_exist` is for a database that was made before: SQLite would put an empty one in the place of a file that
        was moved away, and throw away the log beside it, with commits that are nowhere else.
        `unsafe_synchronous_off` gives up durability; it exists so that the benchmark can show what durability costs.
        """
        # One database has one lock, whichever link it was reached by.
        self._path = path.resolve()
        self._scrubbing = Scrubbing()
        self._projector = projector
        self._seal = seal
        self._cache = RowCache()
        self._subscribers = Subscribers()
        self._readers: deque[sqlite3.Connection] = deque()
        self._places = ReadingPlaces(_MOST_READERS)
        self._lock_file: int | None = None
        self._commits: GroupCommit | None = None
        self._closed = False
        if must_exist or not writable:
            self._require_file()
        if writable:
            self._start_writer(at, "OFF" if unsafe_synchronous_off else "FULL")
        else:
            self._check_readable()

    def append(self, draft: Draft) -> Receipt:
        return self.submit(draft).result()

    def submit(self, draft: Draft) -> Waiting[Receipt]:
        verify_storable(draft)
        return self._writer().submit(prepare(draft), size=size_of(draft))

    def write(self, work: Callable[[Unit], T]) -> T:
        waiting: Waiting[T] = self._writer().submit(work)
        return waiting.result()

    def read(self, work: Callable[[Unit], T]) -> T:
        with self._reader() as connection:
            session = SqliteSession(connection)
            connection.execute("BEGIN")
            try:
                return work(SqlUnit(session, None, self._projector, self._cache, self._seal))
            finally:
                session.end_streams()
                connection.execute("ROLLBACK")

    def subscribe(self, notify: Notify) -> Callable[[], None]:
        return self._subscribers.add(notify)

    def scrub(self) -> bool:
        """Deleted values were overwritten in their pages; emptying the write-ahead log removes the older pages.

        A reader that still looks at an older state keeps the log; then the writer tries again before later writes,
        and so does whoever opens the database next.
        """
        connection = open_connection(self._path, writable=True)
        try:
            return self._scrubbing.run(connection)
        finally:
            connection.close()

    def facts(self) -> DatabaseFacts:
        commits = self._commits
        with self._reader() as connection:
            mode = journal_mode_of(connection, self._path)
            # The setting is the connection's own, and the writer's is the one that counts.
            synchronous = synchronous_of(self._connection if commits else connection)
            version = schema_version(SqliteSession(connection))
        return DatabaseFacts(
            engine="sqlite",
            engine_version=sqlite3.sqlite_version,
            schema_version=version,
            location=str(self._path),
            writable=commits is not None,
            queue_length=commits.queue_length if commits else 0,
            commits=commits.commits if commits else 0,
            writes=commits.writes if commits else 0,
            settings={"journal_mode": mode, "synchronous": synchronous},
        )

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._commits is not None:
            self._commits.close()
            self._connection.close()
        while self._readers:
            self._readers.pop().close()
        if self._scrubbing.is_pending:
            # The last to close empties the log anyway; this is for a file that another process is reading.
            with suppress(Error):
                self.scrub()
        if self._lock_file is not None:
            os.close(self._lock_file)

    def _start_writer(self, at: Instant | None, synchronous: str) -> None:
        if at is None:
            raise CannotOpenError("expected the time of opening for a writable database, got none")
        self._lock_file = _take_lock(self._path)
        try:
            _create_private(self._path)
            self._connection = open_connection(self._path, writable=True, synchronous=synchronous)
            _bring_up_to_date(self._connection, at)
            # After a failed flush the kernel may show pages of the log that never reached the disk, and a later flush
            # of them says yes. What is read from there is therefore written anew into the database before anything
            # builds on it; and what an earlier process could not scrub goes with the log.
            self._scrubbing.is_pending = not _settle_log(self._connection)
        except BaseException:
            os.close(self._lock_file)
            raise
        engine = SqlEngine(
            SqliteSession(self._connection),
            _SqliteTransactions(self._connection, self._scrubbing, OpenFiles(self._path)),
            self._subscribers,
            self._projector,
            self._cache,
            seal=self._seal,
            holder=f"pid {os.getpid()}",
        )
        self._commits = GroupCommit(engine)

    def _require_file(self) -> None:
        if not self._path.is_file():
            raise CannotOpenError(f"`{self._path}` does not exist")

    def _check_readable(self) -> None:
        with self._reader() as connection:
            try:
                require_current(SqliteSession(connection), load_migrations(_PACKAGE))
            except StatementError as error:
                raise CannotOpenError(f"`{self._path}` is not one of our databases: {error}") from error

    def _writer(self) -> GroupCommit:
        if self._commits is None:
            raise ReadOnlyError(f"`{self._path}` was opened for reading only")
        return self._commits

    def _is_closed(self) -> bool:
        return self._closed

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        """A connection from the pool; so many threads read at once, each on a connection of its own."""
        with self._places.take():
            if self._closed:
                raise ClosedError("the database was closed")
            try:
                connection = self._readers.pop()
            except IndexError:
                connection = open_connection(self._path, writable=False)
            try:
                yield connection
            finally:
                if self._is_closed():
                    connection.close()
                else:
                    self._readers.append(connection)


class _SqliteTransactions:
    """Implements `engine.Transactions`: COMMIT returns after the WAL was synced, since synchronous is FULL."""

    def __init__(self, connection: sqlite3.Connection, scrubbing: Scrubbing, files: OpenFiles) -> None:
        self._connection = connection
        self._scrubbing = scrubbing
        self._files = files

    def begin(self) -> None:
        # Here nothing is in flight, and nobody but a reader can be in the way.
        self._scrubbing.run_when_due(self._connection)
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            # Also its extended codes, which keep it in the low byte; any other failure stops the writer.
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                raise BusyError("another program keeps the database locked; nothing was written") from error
            raise

    def is_open(self) -> bool:
        return self._connection.in_transaction

    def commit(self) -> None:
        self._connection.execute("COMMIT")
        self._files.verify()

    def rollback(self) -> None:
        # SQLite ends the transaction by itself on some errors; a second ROLLBACK would be an error of its own.
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def _take_lock(path: Path) -> int:
    """The fence: the operating system frees it when the process dies, however it dies."""
    lock_path = path.with_name(path.name + ".writer")
    try:
        descriptor = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CannotOpenError(f"`{lock_path}` cannot be created: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise WriterHeldError(f"another process is writing to `{path}`; stop it, or open for reading only") from error
    return descriptor


def _create_private(path: Path) -> None:
    """A new file that only its owner may read; SQLite gives the log beside it the same mode.

    One that is there is not touched: to close it would give up the locks of whoever reads it in this process.
    """
    if path.exists():
        return
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise CannotOpenError(f"`{path}` cannot be opened as a database: {error.strerror}") from error


def _bring_up_to_date(connection: sqlite3.Connection, at: Instant) -> None:
    def run_script(text: str) -> None:
        # `executescript` would commit first; statement by statement keeps the migration all or nothing.
        for statement in _statements(text):
            connection.execute(statement)

    try:
        connection.execute("BEGIN IMMEDIATE")
        migrate(SqliteSession(connection), load_migrations(_PACKAGE), at=at, run_script=run_script)
        connection.execute("COMMIT")
    except (*DRIVER_ERRORS, StatementError) as error:
        raise cannot_open("the database cannot be brought up to date", error) from error
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _settle_log(connection: sqlite3.Connection) -> bool:
    try:
        return empty_log(connection)
    except DRIVER_ERRORS as error:
        raise cannot_open("the write-ahead log cannot be written into the database", error) from error


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
