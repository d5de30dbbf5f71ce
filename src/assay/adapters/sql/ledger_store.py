"""The chain, its tree, its checkpoints and its erasable values, in SQL."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice

from msgspec import Raw, ValidationError, convert

from assay.adapters.sql.chains import ENTRY_COLUMNS, Chains, read_tile, stored_head
from assay.adapters.sql.parts import in_parts, marks
from assay.adapters.sql.session import Row, SqlSession
from assay.adapters.sql.storable import verify_storable
from assay.kernel.checkpoint import ShrunkLogError
from assay.kernel.commitment import Disclosure
from assay.kernel.digest import Digest
from assay.kernel.errors import Blame, StoreError
from assay.kernel.ids import TenantId
from assay.kernel.instant import parse_instant, render_instant
from assay.kernel.ledger import Draft, EntryKind, Head, Receipt, prepare, traced
from assay.kernel.trace import TraceId
from assay.ports.damage import DamagedRecordError
from assay.ports.ledger_store import KeptCheckpoint, StoredEntry

_ENTRIES = f"SELECT {', '.join(ENTRY_COLUMNS)} FROM ledger"  # noqa: S608 - the columns are our constants
_TEXT = ENTRY_COLUMNS.index("text")
# Places in one statement; every engine takes as many.
_AT_ONCE = 500


class ReadOnlyError(StoreError):
    """This unit of work only reads."""

    code = "store.read_only"
    blame = Blame.USAGE


class SqlLedgerStore:
    """Implements `ports.ledger_store.LedgerStore`."""

    def __init__(self, session: SqlSession, chains: Chains | None) -> None:
        self._session = session
        self._chains = chains
        self._trace: TraceId | None = None

    def tenants(self) -> tuple[TenantId, ...]:
        return tuple(TenantId(row[0]) for row in self._session.query("SELECT tenant_id FROM chain ORDER BY tenant_id"))

    def head(self, tenant_id: TenantId) -> Head:
        if self._chains is not None:
            return self._chains.head(self._session, tenant_id)
        return stored_head(self._session, tenant_id)

    def find_kept_head(self, tenant_id: TenantId) -> Head | None:
        rows = self._session.query("SELECT sequence_number, entry_hash FROM chain WHERE tenant_id = ?", (tenant_id,))
        if not rows:
            return None
        sequence, entry_hash = rows[0]
        if not isinstance(sequence, int) or not isinstance(entry_hash, str):
            raise DamagedRecordError(f"the head of `{tenant_id}` cannot be read: `{rows[0]!r}`")
        return Head(tenant_id, sequence, Digest(entry_hash))

    def append(self, draft: Draft) -> Receipt:
        if self._chains is None:
            raise ReadOnlyError("expected a unit of work that writes, got one that only reads")
        verify_storable(draft)
        return self._chains.append(self._session, prepare(traced(draft, self._trace)))

    @contextmanager
    def under(self, trace: TraceId | None) -> Iterator[None]:
        # The unit of work runs on one thread, so what is set here is seen by this work alone.
        before, self._trace = self._trace, trace
        try:
            yield
        finally:
            self._trace = before

    def find_entry(self, tenant_id: TenantId, sequence_number: int) -> StoredEntry | None:
        pending = self._find_pending(tenant_id, sequence_number)
        if pending is not None:
            return _entry(pending)
        rows = self._session.query(
            f"{_ENTRIES} WHERE tenant_id = ? AND sequence_number = ?", (tenant_id, sequence_number)
        )
        return _entry(rows[0]) if rows else None

    def find_entries(self, tenant_id: TenantId, sequence_numbers: Iterable[int]) -> dict[int, StoredEntry]:
        found: dict[int, StoredEntry] = {}
        for part in in_parts(sequence_numbers):
            rows = self._session.query(
                f"{_ENTRIES} WHERE tenant_id = ? AND sequence_number IN ({marks(part)})", (tenant_id, *part)
            )
            pending = (self._find_pending(tenant_id, number) for number in part)
            found |= {one.sequence_number: one for one in map(_entry, (*rows, *filter(None, pending)))}
        return found

    def entries_of_trace(self, tenant_id: TenantId, trace_id: str) -> tuple[StoredEntry, ...]:
        sql = f"{_ENTRIES} WHERE trace_id = ? AND tenant_id = ? ORDER BY sequence_number"
        return tuple(map(_entry, self._session.query(sql, (trace_id, tenant_id))))

    def entries(
        self,
        tenant_id: TenantId,
        *,
        first: int = 1,
        last: int | None = None,
        kinds: Iterable[EntryKind] | None = None,
    ) -> Iterator[StoredEntry]:
        condition, parameters = "tenant_id = ? AND sequence_number >= ?", list[object]((tenant_id, first))
        if kinds is not None:
            wanted = tuple(kind.value for kind in kinds)
            condition, parameters = f"{condition} AND kind IN ({marks(wanted)})", [*parameters, *wanted]
        if last is not None:
            condition, parameters = f"{condition} AND sequence_number <= ?", [*parameters, last]
        return map(_entry, self._session.stream(f"{_ENTRIES} WHERE {condition} ORDER BY sequence_number", parameters))

    def select(
        self,
        tenant_id: TenantId,
        *,
        kind: str | None = None,
        first: int = 1,
        last: int | None = None,
        newest: bool = False,
        limit: int,
    ) -> list[StoredEntry]:
        condition, parameters = "tenant_id = ? AND sequence_number >= ?", list[object]((tenant_id, first))
        if kind is not None:
            condition, parameters = f"{condition} AND kind = ?", [*parameters, kind]
        if last is not None:
            condition, parameters = f"{condition} AND sequence_number <= ?", [*parameters, last]
        order = "DESC" if newest else "ASC"
        rows = self._session.query(
            f"{_ENTRIES} WHERE {condition} ORDER BY sequence_number {order} LIMIT ?", [*parameters, limit]
        )
        return [_entry(row) for row in rows]

    def count(self, tenant_id: TenantId, *, first: int, last: int, kind: str | None = None) -> int:
        of_kind, parameters = ("", ()) if kind is None else (" AND kind = ?", (kind,))
        rows = self._session.query(
            f"SELECT COUNT(*) FROM ledger WHERE tenant_id = ? AND sequence_number BETWEEN ? AND ?{of_kind}",  # noqa: S608 - our constant
            (tenant_id, first, last, *parameters),
        )
        return int(rows[0][0])

    def count_kind(self, tenant_id: TenantId, kind: EntryKind) -> int:
        rows = self._session.query(
            f"SELECT COUNT(*) FROM ledger WHERE tenant_id = ? AND kind = '{kind.value}'",  # noqa: S608 - our constant
            (tenant_id,),
        )
        return int(rows[0][0])

    def find_latest(self, tenant_id: TenantId, kind: EntryKind) -> int | None:
        # The kind is written out: only then does a planner know that the index of such entries alone will do.
        rows = self._session.query(
            f"SELECT sequence_number FROM ledger WHERE tenant_id = ? AND kind = '{kind.value}'"  # noqa: S608 - our constant
            " ORDER BY sequence_number DESC LIMIT 1",
            (tenant_id,),
        )
        return int(rows[0][0]) if rows else None

    def texts(self, tenant_id: TenantId, sequence_numbers: Iterable[int]) -> dict[int, bytes]:
        wanted = sorted(set(sequence_numbers))
        rows_pending = ((number, self._find_pending(tenant_id, number)) for number in wanted)
        found: dict[int, bytes] = {number: row[_TEXT] for number, row in rows_pending if row is not None}
        waiting = (number for number in wanted if number not in found)
        while part := list(islice(waiting, _AT_ONCE)):
            rows = self._session.query(
                f"SELECT sequence_number, text FROM ledger WHERE tenant_id = ?"  # noqa: S608 - only places are filled in
                f" AND sequence_number IN ({', '.join('?' * len(part))})",
                (tenant_id, *part),
            )
            # A damaged file can hold anything here; what is no text of an entry is as good as missing.
            found.update((int(number), bytes(text)) for number, text in rows if not isinstance(text, str | int | float))
        return found

    def texts_from(self, tenant_id: TenantId, first: int, limit: int) -> list[tuple[int, bytes]]:
        rows = self._session.query(
            "SELECT sequence_number, text FROM ledger WHERE tenant_id = ? AND sequence_number >= ?"
            " ORDER BY sequence_number LIMIT ?",
            (tenant_id, first, limit),
        )
        if any(isinstance(text, str | int | float | None) for _, text in rows):
            raise DamagedRecordError(f"the text of an entry from {first} on cannot be read")
        return [(int(number), bytes(text)) for number, text in rows]

    def _find_pending(self, tenant_id: TenantId, sequence_number: int) -> Row | None:
        return None if self._chains is None else self._chains.find_pending(tenant_id, sequence_number)

    def tile(self, tenant_id: TenantId, level: int, index: int, width: int) -> bytes:
        return read_tile(self._session, tenant_id, level, index, width)

    def add_checkpoint(self, checkpoint: KeptCheckpoint) -> None:
        # Inside the unit of work, where no other writer can be between the look and the row.
        kept = self.find_checkpoint(checkpoint.tenant_id)
        if kept is not None and checkpoint.size < kept.size:
            raise ShrunkLogError(f"expected a checkpoint over at least {kept.size} entries, got {checkpoint.size}")
        self._session.run(
            "INSERT INTO checkpoint (tenant_id, number, size, root_hash, signed_at, note)"
            " SELECT ?, coalesce(max(number), 0) + 1, ?, ?, ?, ? FROM checkpoint WHERE tenant_id = ?",
            (
                checkpoint.tenant_id,
                checkpoint.size,
                checkpoint.root_hash,
                render_instant(checkpoint.signed_at),
                checkpoint.note,
                checkpoint.tenant_id,
            ),
        )

    def find_checkpoint(self, tenant_id: TenantId, *, at_most: int | None = None) -> KeptCheckpoint | None:
        condition, parameters = "tenant_id = ?", list[object]((tenant_id,))
        if at_most is not None:
            condition, parameters = f"{condition} AND size <= ?", [*parameters, at_most]
        rows = self._session.query(
            "SELECT size, root_hash, signed_at, note FROM checkpoint"  # noqa: S608 - the condition is our constant
            f" WHERE {condition} ORDER BY number DESC LIMIT 1",
            parameters,
        )
        return _checkpoint(tenant_id, rows[0]) if rows else None

    def last_checkpoint_number(self, tenant_id: TenantId) -> int:
        rows = self._session.query("SELECT coalesce(max(number), 0) FROM checkpoint WHERE tenant_id = ?", (tenant_id,))
        return int(rows[0][0])

    def checkpoints(self, tenant_id: TenantId, *, after: int = 0) -> Iterator[KeptCheckpoint]:
        rows = self._session.stream(
            "SELECT size, root_hash, signed_at, note FROM checkpoint WHERE tenant_id = ? AND size > ?"
            " ORDER BY size, number",
            (tenant_id, after),
        )
        return (_checkpoint(tenant_id, row) for row in rows)

    def disclosures(self, tenant_id: TenantId, sequence_number: int) -> tuple[Disclosure, ...]:
        rows = self._session.query(
            "SELECT pointer, salt, value FROM disclosure WHERE tenant_id = ? AND sequence_number = ? ORDER BY pointer",
            (tenant_id, sequence_number),
        )
        return tuple(Disclosure(pointer=pointer, salt=salt, value=Raw(value.encode())) for pointer, salt, value in rows)

    def erase(self, tenant_id: TenantId, sequence_number: int, pointers: tuple[str, ...] | None) -> tuple[str, ...]:
        there = [disclosure.pointer for disclosure in self.disclosures(tenant_id, sequence_number)]
        chosen = [pointer for pointer in there if pointers is None or pointer in pointers]
        for pointer in chosen:
            self._session.run(
                "DELETE FROM disclosure WHERE tenant_id = ? AND sequence_number = ? AND pointer = ?",
                (tenant_id, sequence_number, pointer),
            )
        return tuple(chosen)


def _entry(row: Row) -> StoredEntry:
    """The row as it lies there, if every column holds its kind of value: a damaged file can hold any."""
    try:
        return convert(dict(zip(ENTRY_COLUMNS, row, strict=True)), StoredEntry, builtin_types=(bytes,))
    except ValidationError as error:
        number = row[ENTRY_COLUMNS.index("sequence_number")]
        raise DamagedRecordError(f"entry `{number!r:.20}` cannot be read: {error}") from error


def _checkpoint(tenant_id: TenantId, row: Row) -> KeptCheckpoint:
    size, root_hash, signed_at, note = row
    if not isinstance(size, int) or not all(isinstance(text, str) for text in row[1:]):
        raise DamagedRecordError(f"a checkpoint cannot be read: `{row!r}`")
    return KeptCheckpoint(
        tenant_id=tenant_id, size=size, root_hash=Digest(root_hash), signed_at=parse_instant(signed_at), note=note
    )
