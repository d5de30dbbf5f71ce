"""A PostgreSQL connection as the shared stores see it."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, count, islice

from assay.adapters.postgres._driver import psycopg
from assay.adapters.postgres.connection import Connection, translate_error
from assay.adapters.sql.errors import RowRefusedError
from assay.adapters.sql.session import Row

_STREAM_ROWS = 512
# Up to here one INSERT costs less than the round trips of a COPY.
_FEW_ROWS = 4


class PostgresSession:
    """Implements `SqlSession` on one connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        # One for all statements: making one costs half as much as asking with it. INVARIANT: what it answered is taken
        # at once, and a session serves one thread at a time.
        self._cursor = connection.cursor()
        self._streams = count(1)
        self._types: dict[tuple[str, tuple[str, ...]], list[int]] = {}

    def query(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        try:
            return self._cursor.execute(_translate(sql), parameters).fetchall()
        except psycopg.Error as error:
            raise translate_error(error, self.connection) from error

    def stream(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[Row]:
        # The cursor lives on the server, so other statements may run between two fetches, and it ends with its
        # transaction: a stream that nobody finishes leaves nothing to clean up.
        name = f"stream_{next(self._streams)}"
        self.run(f"DECLARE {name} NO SCROLL CURSOR FOR {sql}", parameters)
        fetch = f"FETCH FORWARD {_STREAM_ROWS} FROM {name}"
        while rows := self.query(fetch):
            yield from rows
        self.run(f"CLOSE {name}")

    def run(self, sql: str, parameters: Sequence[object] = ()) -> int:
        try:
            return self._cursor.execute(_translate(sql), parameters).rowcount
        except psycopg.Error as error:
            raise translate_error(error, self.connection) from error

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        coming = iter(rows)
        first = list(islice(coming, _FEW_ROWS + 1))
        try:
            if len(first) > _FEW_ROWS:
                self._copy(table, tuple(columns), chain(first, coming))
            elif first:
                self._insert_few(table, columns, first)
        except psycopg.Error as error:
            raise translate_error(error, self.connection) from error
        except (TypeError, ValueError) as error:
            # The driver's way to say that a value is not of its column's kind: a damaged backup can hold any.
            raise RowRefusedError(f"a row does not fit `{table}`: {error}") from error

    def _insert_few(self, table: str, columns: Sequence[str], rows: list[Sequence[object]]) -> None:
        places = ", ".join([f"({', '.join('?' * len(columns))})"] * len(rows))
        statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES {places}"  # noqa: S608 - both are our constants
        self._cursor.execute(_translate(statement), [value for row in rows for value in row])

    def _copy(self, table: str, columns: tuple[str, ...], rows: Iterable[Sequence[object]]) -> None:
        """Rows are made while the server reads those before; binary, since half the bytes are hashes and texts."""
        types = self._column_types(table, columns)
        statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)".encode()
        with self.connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(types)
            for row in rows:
                copy.write_row(row)

    def _column_types(self, table: str, columns: tuple[str, ...]) -> list[int]:
        known = self._types.get((table, columns))
        if known is None:
            found: dict[str, int] = dict(
                self.connection.execute(
                    "SELECT attname, atttypid FROM pg_catalog.pg_attribute WHERE attrelid = %s::regclass", (table,)
                ).fetchall()
            )
            known = self._types[table, columns] = [found[column] for column in columns]
        return known


@lru_cache(maxsize=512)
def _translate(sql: str) -> bytes:
    """Our `?` as the driver's `%s`; no statement of ours holds either sign in another meaning."""
    return sql.replace("?", "%s").encode()
