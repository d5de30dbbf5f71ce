"""Rows that are records, column for field: instants become text that sorts, and what comes back must fit its type."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache, lru_cache
from typing import TypeVar

import msgspec
from msgspec import Struct

from assay.adapters.sql.record import ConflictError
from assay.adapters.sql.session import Row, SqlSession
from assay.adapters.sql.storable import MAX_KEY_BYTES, verify_key, verify_text
from assay.kernel.ids import TenantId
from assay.kernel.instant import instant_of
from assay.ports.damage import DamagedRecordError

T = TypeVar("T", bound=Struct)
# What a database is handed as it stands.
_PLAIN = frozenset({str, int, type(None)})


@cache
def columns_of(kind: type[Struct]) -> tuple[str, ...]:
    """The fields by their names; `by` alone has another one, since SQL wants that word for itself."""
    return tuple("made_by" if name == "by" else name for name in kind.__struct_fields__)


# A record's instant stands in several rows, which are written together.
@lru_cache(maxsize=256)
def sortable(instant: datetime) -> str:
    """UTC with six digits of a second, always: canonical text drops zeros, and then `:00.5Z` sorts before `:00Z`."""
    moment = instant if instant.tzinfo is UTC else instant_of(instant)
    return moment.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def verify_row(record: Struct, *keys: str) -> None:
    """Raise unless every text of it can be kept, and those that are looked up by can be indexed."""
    texts = [value for value in msgspec.structs.astuple(record) if isinstance(value, str)]
    # Nearly every row is short and plain, and is looked at as a whole.
    whole = "".join(texts)
    if whole.isascii() and "\0" not in whole and max(map(len, texts), default=0) <= MAX_KEY_BYTES:
        return
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if isinstance(value, str):
            (verify_key if name in keys else verify_text)(name, value)


def add_row(session: SqlSession, table: str, tenant_id: TenantId, record: Struct, what: str) -> None:
    """Add what `verify_row` has passed, unless one of its places is taken: then the unit of work may still go on.

    The table's own unique keys are asked, and no look goes before: how to look is planned, and on a table that the
    server takes for empty it plans to read all of it.
    """
    try:
        added = session.run(_insertion(table, type(record)), (tenant_id, *map(column, msgspec.structs.astuple(record))))
    except ConflictError as error:
        # SQLite's trigger speaks before the clause can.
        raise ConflictError(f"{what} is already there") from error
    if not added:
        raise ConflictError(f"{what} is already there")


def add_rows(session: SqlSession, table: str, tenant_id: TenantId, records: Sequence[Struct], what: str) -> None:
    """Add many of one kind at once, which `verify_row` has passed; a place that is taken ends the unit of work."""
    if not records:
        return
    try:
        session.insert(table, ("tenant_id", *columns_of(type(records[0]))), _rows(tenant_id, records))
    except ConflictError as error:
        raise ConflictError(f"one of {what} is already there") from error


# Rows in one statement that replaces; every engine takes as many places.
_MOST_REPLACED = 32


def put_rows(
    session: SqlSession, table: str, tenant_id: TenantId, records: Sequence[Struct], key: tuple[str, ...]
) -> None:
    """Add rows, which `verify_row` has passed, each in place of the one that has the same `key`."""
    rows = _rows(tenant_id, records)
    # In parts that are powers of two, largest first: few statements serve every number of rows.
    while rows:
        count = 1 << (min(len(rows), _MOST_REPLACED).bit_length() - 1)
        part, rows = rows[:count], rows[count:]
        session.run(_replacement(table, type(records[0]), key, count), [value for row in part for value in row])


@cache
def _replacement(table: str, kind: type[Struct], key: tuple[str, ...], count: int) -> str:
    columns = ("tenant_id", *columns_of(kind))
    marks = f"({', '.join('?' * len(columns))})"
    anew = ", ".join(f"{name} = excluded.{name}" for name in columns[1:] if name not in key)
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join([marks] * count)}"  # noqa: S608 - ours
        f" ON CONFLICT ({', '.join(key)}, tenant_id) DO UPDATE SET {anew}"
    )


def _rows(tenant_id: TenantId, records: Iterable[Struct]) -> list[Row]:
    return [
        (tenant_id, *[one if type(one) in _PLAIN else column(one) for one in msgspec.structs.astuple(record)])
        for record in records
    ]


def read_row(row: Row, kind: type[T]) -> T:
    """The record, if every column holds its kind of value: a damaged file can hold any."""
    try:
        return msgspec.convert(dict(zip(kind.__struct_fields__, row, strict=True)), kind)
    except msgspec.ValidationError as error:
        raise DamagedRecordError(f"expected a {kind.__name__}, got a row that cannot be read: {error}") from error


@cache
def _insertion(table: str, kind: type[Struct]) -> str:
    """Made once for each table: there are as many as we have kinds of rows."""
    columns = ("tenant_id", *columns_of(kind))
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608 - ours
        " ON CONFLICT DO NOTHING"
    )


def column(value: object) -> object:
    """Return a value as a database is handed it."""
    if type(value) is str:
        return value
    if isinstance(value, datetime):
        return sortable(value)
    return value.value if isinstance(value, StrEnum) else value
