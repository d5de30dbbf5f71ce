"""The one way to read rows: each is compared with the projection of its ledger entry before anybody uses it.

raw rows of a page -> entries not in the cache, one query -> hash -> parse -> project -> compare -> records
A row that differs, or whose entry is missing or of another kind, is `store.damaged_record`, naming table and entry.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from typing import Any, TypeVar

from msgspec import MsgspecError, Struct
from msgspec.msgpack import Encoder
from msgspec.structs import astuple, replace

from assay.adapters.sql.parts import in_parts, marks
from assay.adapters.sql.row import add_row, add_rows, column, columns_of, put_rows, read_row, verify_row
from assay.adapters.sql.session import Row, SqlSession
from assay.kernel.digest import Digest, digest_of
from assay.kernel.entry import MalformedEntryError, read_entry
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.ports.damage import DamagedRecordError
from assay.ports.ledger_store import ProvenEntry
from assay.ports.projection import Projector, Shape

T = TypeVar("T", bound=Struct)
_CACHED_BYTES = 32 * 1024 * 1024
# What an entry and its rows take in the cache besides their texts.
_OVERHEAD = 1024
_AT_ONCE = 500
_Place = tuple[TenantId, int]
# The text of an entry that the open transaction has appended and not stored yet.
FindPending = Callable[[TenantId, int], bytes | None]


class UnrecordedRowError(Error):
    """`unit.record` was handed a row that the entry does not project, or not the one it does; a program's mistake."""

    code = "store.unrecorded_row"


class _Known:
    """What one entry projects: stored rows that were compared with it, sealed rows to compare with, and views."""

    __slots__ = ("proven", "rows", "sealed", "size", "views")

    def __init__(
        self,
        proven: ProvenEntry,
        projected: tuple[Struct, ...],
        shape_of: Callable[[type[Struct]], Shape],
        size: int,
    ) -> None:
        self.proven = proven
        self.rows: dict[tuple[type[Struct], Row], Struct] = {}
        self.sealed = [row for row in projected if shape_of(type(row)).seal is not None]
        self.views = tuple(row for row in projected if not shape_of(type(row)).table)
        self.size = size
        for row in projected:
            shape = shape_of(type(row))
            if shape.seal is None and shape.table:
                self.rows[type(row), stored_columns(row)] = row


class RowCache:
    """Projections by entry, the least recently used dropped first; shared by all units of work of a database.

    Only entries read from the ledger's table are here: what is there is committed, and a number is never used again.
    """

    def __init__(self, limit: int = _CACHED_BYTES) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._known: OrderedDict[_Place, _Known] = OrderedDict()
        self._size = 0
        # By tenant: the first entry of a version that records events, or (negative) the last one that was looked at.
        self.recorded_since: dict[TenantId, int] = {}

    def find(self, place: _Place) -> _Known | None:
        known = self._known.get(place)
        if known is not None:
            with self._lock:
                if place in self._known:
                    self._known.move_to_end(place)
        return known

    def add(self, place: _Place, known: _Known) -> None:
        with self._lock:
            before = self._known.pop(place, None)
            self._size += known.size - (before.size if before else 0)
            self._known[place] = known
            while self._size > self._limit and self._known:
                _, dropped = self._known.popitem(last=False)
                self._size -= dropped.size

    def clear(self) -> None:
        """Forget everything: erased values must not stay in memory."""
        with self._lock:
            self._known.clear()
            self._size = 0


class Rows:
    """Reads and inserts the rows of one unit of work."""

    def __init__(
        self, session: SqlSession, projector: Projector, cache: RowCache, find_pending: FindPending | None = None
    ) -> None:
        self.session = session
        self.cache = cache
        self._projector = projector
        self._find_pending = find_pending

    def all(self, kind: type[T], rest: str, parameters: Sequence[object] = ()) -> tuple[T, ...]:
        """Return the rows of a type: `rest` is the statement after its table, as `WHERE … ORDER BY …`."""
        shape = self._projector.shape_of(kind)
        return tuple(self._read(kind, shape, self.session.query(f"{_select(kind, shape.table)} {rest}", parameters)))

    def one(self, kind: type[T], rest: str, parameters: Sequence[object] = ()) -> T | None:
        """Return the first row, or None."""
        found = self.all(kind, rest, parameters)
        return found[0] if found else None

    def among(
        self, kind: type[T], name: str, values: Iterable[object], tenant_id: TenantId, rest: str = ""
    ) -> tuple[T, ...]:
        """Return a tenant's rows whose column has one of these values: a few queries, however many values."""
        found: list[T] = []
        for part in in_parts(values):
            found += self.all(kind, f"WHERE {name} IN ({marks(part)}) AND tenant_id = ? {rest}", (*part, tenant_id))
        return tuple(found)

    def stream(self, kind: type[T], rest: str, parameters: Sequence[object] = ()) -> Iterator[T]:
        """Like `all`, without holding all rows at once."""
        yield from self._streamed(kind, self._projector.shape_of(kind), rest, parameters, "")

    def joined(self, kind: type[T], alias: str, tables: str, parameters: Sequence[object] = ()) -> Iterator[T]:
        """Like `stream`, of a table that is found through others: `tables` is the statement from its tables on."""
        yield from self._streamed(kind, self._projector.shape_of(kind), tables, parameters, alias)

    def _streamed(
        self, kind: type[T], shape: Shape, rest: str, parameters: Sequence[object], alias: str
    ) -> Iterator[T]:
        rows = self.session.stream(f"{_select(kind, shape.table, alias)} {rest}", parameters)
        while some := list(islice(rows, _AT_ONCE)):
            yield from self._read(kind, shape, some)

    def sound(
        self, kind: type[T], rest: str, parameters: Sequence[object], is_excused: Callable[[int], bool]
    ) -> tuple[T, ...]:
        """Like `all`, without the rows that differ; those of entries that are excused are returned as they are."""
        shape = self._projector.shape_of(kind)
        rows = self.session.query(f"{_select(kind, shape.table)} {rest}", parameters)
        try:
            return tuple(self._read(kind, shape, rows))
        except DamagedRecordError:
            return tuple(found for row in rows for found in self._if_sound(kind, shape, row, is_excused))

    def _if_sound(self, kind: type[T], shape: Shape, row: Row, is_excused: Callable[[int], bool]) -> Iterable[T]:
        number = row[_number_at(kind)]
        try:
            if type(number) is int and is_excused(number):
                return [read_row(row[1:], kind)]
            return self._read(kind, shape, [row])
        except DamagedRecordError:
            return ()

    def views(self, tenant_id: TenantId, numbers: Sequence[int]) -> list[Struct]:
        """Return the views of these entries, in order: what an entry says, read from the entry itself."""
        known = self._found("ledger", [(tenant_id, number) for number in numbers])
        return [view for number in numbers for view in known[tenant_id, number].views]

    def entries(self, tenant_id: TenantId, numbers: Sequence[int]) -> list[ProvenEntry]:
        """Return these entries, in order, each compared with its hash."""
        known = self._found("ledger", [(tenant_id, number) for number in numbers])
        return [known[tenant_id, number].proven for number in numbers]

    def encoded(self, kind: type[Struct], tenant_id: TenantId, last: int | None) -> Iterator[tuple[int, bytes]]:
        """Stream rows as they are stored, each with the number of its entry; sealed, not compared."""
        shape, has_number = self._projector.shape_of(kind), "sequence_number" in kind.__struct_fields__
        rest = "WHERE tenant_id = ?"
        if has_number:
            rest += (
                " ORDER BY sequence_number" if last is None else " AND sequence_number <= ? ORDER BY sequence_number"
            )
        parameters = (tenant_id,) if last is None or not has_number else (tenant_id, last)
        return self._encoded(kind, self.session.stream(f"{_select(kind, shape.table)} {rest}", parameters))

    def sampled(
        self, kind: type[Struct], condition: str, parameters: tuple[object, ...], count: int
    ) -> list[tuple[int, bytes]]:
        """A few rows, as `encoded` gives them."""
        rest = f"WHERE {condition} ORDER BY sequence_number LIMIT ?"
        select = _select(kind, self._projector.shape_of(kind).table)
        return list(self._encoded(kind, self.session.query(f"{select} {rest}", (*parameters, count))))

    def _encoded(self, kind: type[Struct], rows: Iterable[Row]) -> Iterator[tuple[int, bytes]]:
        encode, seal = Encoder().encode, self._projector.seal_of(kind)
        at = _number_at(kind) if "sequence_number" in kind.__struct_fields__ else None
        for row in rows:
            number = 0 if at is None or type(row[at]) is not int else row[at]
            yield number, encode(row[1:] if seal is None else _sealed(row[1:], kind, seal))

    def record(self, tenant_id: TenantId, sequence_number: int, text: bytes, given: Sequence[Struct]) -> None:
        """Insert the rows of an entry that was just appended; `given` are those with content, whole."""
        waiting = [replace(row, sequence_number=sequence_number) for row in given]
        for projected in self._projector.project(read_entry(text)):
            shape = self._projector.shape_of(type(projected))
            if not shape.table:
                continue
            row = _take(waiting, projected, shape)
            verify_row(row, *shape.keys)
            if shape.replaces:
                put_rows(self.session, shape.table, tenant_id, (row,), shape.replaces)
            else:
                add_row(self.session, shape.table, tenant_id, row, _named(shape, row))
        if waiting:
            raise UnrecordedRowError(f"entry {sequence_number} projects no `{type(waiting[0]).__name__}` like this")

    def record_many(self, tenant_id: TenantId, texts: Iterable[bytes]) -> None:
        """Insert the rows of many entries that were just appended, none with content; one statement for each table."""
        of_kind: dict[type[Struct], list[Struct]] = {}
        for text in texts:
            for row in self._projector.project(read_entry(text)):
                of_kind.setdefault(type(row), []).append(row)
        for kind, rows in of_kind.items():
            shape = self._projector.shape_of(kind)
            if shape.table:
                for row in rows:
                    verify_row(_take([], row, shape), *shape.keys)
                add_rows(self.session, shape.table, tenant_id, rows, f"{len(rows)} rows of `{shape.table}`")

    def _read(self, kind: type[T], shape: Shape, rows: Sequence[Row]) -> Iterable[T]:
        if not shape.is_checked:
            return [read_row(row[1:], kind) for row in rows]
        at = _number_at(kind)
        known = self._found(shape.table, [(row[0], row[at]) for row in rows])
        return [self._compared(kind, shape, row, known[row[0], row[at]], row[at]) for row in rows]

    def _compared(self, kind: type[T], shape: Shape, row: Row, known: _Known, number: int) -> T:
        found: Any = known.rows.get((kind, row[1:]))
        if found is not None:
            return found  # type: ignore[no-any-return]  # put there under its own type
        if shape.seal is None:
            raise _differs(shape, number)
        record = read_row(row[1:], kind)
        try:
            sealed = shape.seal(record)
        except DamagedRecordError:
            raise
        except (Error, MsgspecError) as error:
            raise _differs(shape, number) from error
        if sealed not in known.sealed:
            raise _differs(shape, number)
        known.rows[kind, row[1:]] = record
        return record

    def _found(self, table: str, places: Iterable[_Place]) -> dict[_Place, _Known]:
        found: dict[_Place, _Known] = {}
        missing: dict[TenantId, list[int]] = {}
        for place in places:
            tenant_id, number = place
            if place in found:
                continue
            if type(number) is not int:
                raise DamagedRecordError(f"`{table}`: expected the number of an entry, got `{number!r:.40}`")
            known = self.cache.find(place)
            if known is None:
                missing.setdefault(tenant_id, []).append(number)
            else:
                found[place] = known
        for tenant_id, numbers in missing.items():
            self._load(table, tenant_id, numbers, found)
        return found

    def _load(self, table: str, tenant_id: TenantId, numbers: list[int], found: dict[_Place, _Known]) -> None:
        waiting = set(numbers)
        for part in in_parts(numbers):
            entries = self.session.query(
                "SELECT sequence_number, entry_hash, text FROM ledger"  # noqa: S608 - marks
                f" WHERE tenant_id = ? AND sequence_number IN ({marks(part)})",
                (tenant_id, *part),
            )
            for number, entry_hash, text in entries:
                known = self._project(tenant_id, number, text, entry_hash)
                found[tenant_id, number] = known
                self.cache.add((tenant_id, number), known)
                waiting.discard(number)
        for number in waiting:
            pending = None if self._find_pending is None else self._find_pending(tenant_id, number)
            if pending is None:
                raise DamagedRecordError(f"`{table}`: expected entry {number} behind a row, got none", entry=number)
            found[tenant_id, number] = self._project(tenant_id, number, pending, None)

    def _project(self, tenant_id: TenantId, number: int, text: object, entry_hash: str | None) -> _Known:
        if not isinstance(text, bytes) or (entry_hash is not None and digest_of(text) != entry_hash):
            raise DamagedRecordError(f"entry {number} is not what its hash names", entry=number)
        try:
            entry = read_entry(text)
        except MalformedEntryError as error:
            raise DamagedRecordError(f"entry {number} cannot be read: {error}", entry=number) from error
        if (entry.tenant_id, entry.sequence_number) != (tenant_id, number):
            message = f"entry {number} says it is entry {entry.sequence_number} of `{entry.tenant_id}`"
            raise DamagedRecordError(message, entry=number)
        proven = ProvenEntry(entry, Digest(entry_hash or digest_of(text)))
        rows = (*self._projector.project(entry), *self._projector.events(entry))
        return _Known(proven, rows, self._projector.shape_of, 2 * len(text) + _OVERHEAD)


def _sealed(row: Row, kind: type[Struct], seal: Callable[[Any], Struct]) -> Row:
    """A row that cannot be read is left as it is: it equals no sealed row."""
    try:
        return stored_columns(seal(read_row(row, kind)))
    except (Error, MsgspecError):
        return row


def _take(waiting: list[Struct], projected: Struct, shape: Shape) -> Struct:
    """The row that was given with its content; a projected row that sealing leaves as it is has none."""
    if shape.seal is None:
        return projected
    for row in waiting:
        if type(row) is type(projected) and shape.seal(row) == projected:
            waiting.remove(row)
            return row
    with suppress(Error, MsgspecError):
        if shape.seal(projected) == projected:
            return projected
    raise UnrecordedRowError(f"expected the whole row of `{shape.table}` with what the entry commits to, got another")


def _named(shape: Shape, row: Struct) -> str:
    return shape.taken.format(**{name: getattr(row, name) for name in row.__struct_fields__})


def _differs(shape: Shape, number: int) -> DamagedRecordError:
    message = f"`{shape.table}`: the row of entry {number} is not what the entry records"
    return DamagedRecordError(message, entry=number)


def stored_columns(row: Struct) -> Row:
    """Return the columns of a row as a database stores them."""
    return tuple(map(column, astuple(row)))


@cache
def _select(kind: type[Struct], table: str, alias: str = "") -> str:
    columns = ("tenant_id", *columns_of(kind))
    if alias:
        return f"SELECT {', '.join(f'{alias}.{name}' for name in columns)} FROM"
    return f"SELECT {', '.join(columns)} FROM {table}"  # noqa: S608 - our constants


@cache
def _number_at(kind: type[Struct]) -> int:
    return 1 + kind.__struct_fields__.index("sequence_number")
