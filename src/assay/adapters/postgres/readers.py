"""A small pool of reading connections: each read sees one state and can change nothing."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from assay.adapters.group_commit import ClosedError
from assay.adapters.postgres._driver import psycopg
from assay.adapters.postgres.connection import Connection, open_connection, translate_error
from assay.adapters.postgres.session import PostgresSession
from assay.adapters.reading_places import ReadingPlaces

T = TypeVar("T")
_MOST_READERS = 16


class Readers:
    """Connections are opened when needed, kept for the next reader, and never more than a few at once."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._idle: deque[Connection] = deque()
        self._places = ReadingPlaces(_MOST_READERS)
        self._closed = False

    def use(self, work: Callable[[PostgresSession], T]) -> T:
        """Run `work` in a transaction that only reads and sees one state throughout."""
        with self._places.take(), self._snapshot() as session:
            return work(session)

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def _snapshot(self) -> Iterator[PostgresSession]:
        connection = self._begin()
        try:
            yield PostgresSession(connection)
        finally:
            self._end(connection)

    def _begin(self) -> Connection:
        """An idle connection that still answers, or a new one: a server that was restarted is no reader's problem."""
        while True:
            if self._closed:
                raise ClosedError("the database was closed")
            try:
                connection, is_new = self._idle.pop(), False
            except IndexError:
                connection, is_new = open_connection(self._dsn, application_name="assay reader"), True
            try:
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            except psycopg.OperationalError as error:
                connection.close()
                if is_new:
                    raise translate_error(error, connection) from error
            else:
                return connection

    def _end(self, connection: Connection) -> None:
        try:
            connection.execute("ROLLBACK")
        except psycopg.Error:
            # The reader has its answer or its error already; a lost connection is not put back.
            connection.close()
        if self._closed or connection.closed:
            connection.close()
        else:
            self._idle.append(connection)
