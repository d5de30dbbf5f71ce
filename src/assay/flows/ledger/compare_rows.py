"""Tables beside the entries that they index, walked together: what is on one side alone, or is not the same, is told.

entries in order | rows of each table in the order of their entries -> `…row_missing`, `…row_unrecorded`, `…row_differs`
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from assay.kernel.entry import Entry, parse_entry
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.ledger_store import StoredEntry


class _Numbered(Protocol):
    @property
    def sequence_number(self) -> int: ...


T = TypeVar("T", bound=_Numbered)


class RowProblem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table that does not say what the ledger says, at one entry; None where a row names none.

    `code` begins with the room: `…row_differs`, `…row_missing` (an entry without its row), `…row_unrecorded` (a row
    without its entry), or what else the room checks.
    """

    code: str
    message: str
    entry: int | None


class IndexedTable(Generic[T]):
    """One row for each entry of a kind, or for those of them where `is_due`; `is_same` compares the two."""

    def __init__(
        self,
        name: str,
        kind: EntryKind,
        rows: Iterable[T],
        is_same: Callable[[T, Entry], bool],
        *,
        is_due: Callable[[Entry], bool] | None = None,
    ) -> None:
        self.name = name
        self.kind = kind
        self._is_due = is_due
        self._is_same = is_same
        self._rows = iter(rows)
        self._next: T | None = next(self._rows, None)

    def before(self, number: int | None) -> Iterator[int]:
        """The numbers of rows that no entry came for; of all that are left where there is no number."""
        while self._next is not None and (number is None or self._next.sequence_number < number):
            yield self._take(self._next).sequence_number

    def compare(self, entry: Entry) -> str | None:
        """What is wrong with the row of an entry of this kind, as the end of a code; None where all holds."""
        if self._next is None or self._next.sequence_number != entry.sequence_number:
            return "row_missing" if self._is_due is None or self._is_due(entry) else None
        return None if self._is_same(self._take(self._next), entry) else "row_differs"

    def _take(self, row: T) -> T:
        self._next = next(self._rows, None)
        return row


def compare_rows(
    unit: Unit, tenant_id: TenantId, room: str, tables: Sequence[IndexedTable[Any]]
) -> Iterator[RowProblem]:
    """Every problem in the order of entries; none if all holds. That the entries form a chain, an audit says."""
    kinds = {table.kind for table in tables}
    for stored in unit.ledger.entries(tenant_id, kinds=kinds):
        yield from _problems_at(stored, room, tables)
    for table in tables:
        yield from (row_problem(room, "row_unrecorded", table.name, number) for number in table.before(None))


def _problems_at(stored: StoredEntry, room: str, tables: Sequence[IndexedTable[Any]]) -> Iterator[RowProblem]:
    entry = parse_entry(stored.text)
    for table in (one for one in tables if one.kind is entry.kind):
        for number in table.before(entry.sequence_number):
            yield row_problem(room, "row_unrecorded", table.name, number)
        wrong = table.compare(entry)
        if wrong is not None:
            yield row_problem(room, wrong, table.name, entry.sequence_number)


def row_problem(room: str, wrong: str, table: str, number: int) -> RowProblem:
    message = f"expected the row of entry {number} in `{table}` as the ledger has it: {wrong.replace('_', ' ')}"
    return RowProblem(code=f"{room}.{wrong}", message=message, entry=number)
