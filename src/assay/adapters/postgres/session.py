"""A PostgreSQL connection as the shared stores see it."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import count

from assay.adapters.postgres._driver import psycopg
from assay.adapters.postgres.connection import Connection, translate_error
from assay.adapters.sql.session import Row

__all__ = ["PostgresSession"]

_STREAM_ROWS = 512
# Below this a COPY's own round trips cost more than it saves.
_FEW_ROWS = 4
_ESCAPES = {ord("\\"): "\\\\", ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}


class PostgresSession:
    """Implements `SqlSession` on one connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._streams = count(1)

    def query(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        try:
            return self.connection.execute(_translate(sql), parameters).fetchall()
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
            return self.connection.execute(_translate(sql), parameters).rowcount
        except psycopg.Error as error:
            raise translate_error(error, self.connection) from error

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        added = rows if isinstance(rows, list) else list(rows)
        if not added:
            return
        names = ", ".join(columns)
        try:
            if len(added) <= _FEW_ROWS:
                self._insert_few(table, names, added)
            else:
                self._copy(table, names, added)
        except psycopg.Error as error:
            raise translate_error(error, self.connection) from error

    def _insert_few(self, table: str, names: str, rows: list[Sequence[object]]) -> None:
        marks = ", ".join("?" * len(rows[0]))
        statement = _translate(f"INSERT INTO {table} ({names}) VALUES ({marks})")  # noqa: S608 - both are our constants
        for row in rows:
            self.connection.execute(statement, row)

    def _copy(self, table: str, names: str, rows: list[Sequence[object]]) -> None:
        statement = f"COPY {table} ({names}) FROM STDIN".encode()
        with self.connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.write("".join(map(_line, rows)))


@lru_cache(maxsize=512)
def _translate(sql: str) -> bytes:
    """Our `?` as the driver's `%s`; no statement of ours holds either sign in another meaning."""
    return sql.replace("?", "%s").encode()


def _line(row: Sequence[object]) -> str:
    return "\t".join([_field(value) for value in row]) + "\n"


def _field(value: object) -> str:
    """One field of COPY's text format."""
    if isinstance(value, str):
        return value.translate(_ESCAPES) if "\\" in value or not value.isprintable() else value
    if isinstance(value, bytes):
        return "\\\\x" + value.hex()
    return "\\N" if value is None else str(value)
