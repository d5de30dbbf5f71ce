"""Stores apart from the ledger: rows that tests make up, which no entry is behind."""

from collections.abc import Callable

from msgspec import Struct

from assay.adapters.sql.row import add_row, verify_row
from assay.adapters.sql.rows import RowCache, Rows
from assay.adapters.sql.session import SqlSession
from assay.facts.table import PROJECTOR
from assay.kernel.entry import Entry
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.projection import Projector, Shape

__all__ = ["UNCHECKED", "put", "unchecked_rows"]


class _Unchecked:
    """Implements `ports.projection.Projector`: the tables as declared, and no row is compared."""

    def shape_of(self, row: type[Struct]) -> Shape:
        return PROJECTOR.shape_of(row)._replace(is_checked=False, seal=None)

    def seal_of(self, row: type[Struct]) -> Callable[[Struct], Struct] | None:
        return PROJECTOR.seal_of(row)

    def has_rows(self, _kind: EntryKind) -> bool:
        return False

    def project(self, _entry: Entry) -> tuple[Struct, ...]:
        return ()

    def events(self, _entry: Entry) -> tuple[Struct, ...]:
        return ()


UNCHECKED: Projector = _Unchecked()


def put(unit: Unit, tenant_id: TenantId, *rows: Struct) -> None:
    """Insert rows as `record` would, without an entry."""
    for row in rows:
        shape = PROJECTOR.shape_of(type(row))
        verify_row(row, *shape.keys)
        add_row(unit._session, shape.table, tenant_id, row, shape.table)  # type: ignore[attr-defined]  # its connection


def unchecked_rows(session: SqlSession) -> Rows:
    return Rows(session, UNCHECKED, RowCache())
