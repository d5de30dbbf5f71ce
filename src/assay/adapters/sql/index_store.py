"""Indexes of the ledger in SQL."""

from assay.adapters.sql.row import add_rows, columns_of, read_row
from assay.adapters.sql.rows import Rows
from assay.kernel.ids import TenantId
from assay.ports.damage import DamagedRecordError
from assay.ports.index_store import IndexPage, IndexSegment

_PAGE = f"SELECT {', '.join(columns_of(IndexPage))} FROM index_page WHERE tenant_id = ? AND sequence_number = ?"  # noqa: S608 - our constants


class SqlIndexStore:
    """Implements `ports.index_store.IndexStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._session = rows.session

    def add_pages(self, tenant_id: TenantId, pages: tuple[IndexPage, ...]) -> None:
        add_rows(self._session, "index_page", tenant_id, pages, "the pages of an index")

    def segments(self, tenant_id: TenantId, *, ending_after: int = 0) -> tuple[IndexSegment, ...]:
        rest = "WHERE tenant_id = ? AND last > ? ORDER BY last"
        return self._rows.all(IndexSegment, rest, (tenant_id, ending_after))

    def find_latest(self, tenant_id: TenantId) -> IndexSegment | None:
        return self._rows.one(IndexSegment, "WHERE tenant_id = ? ORDER BY last DESC LIMIT 1", (tenant_id,))

    def find_page(self, tenant_id: TenantId, sequence_number: int, key: bytes) -> IndexPage | None:
        rows = self._session.query(
            f"{_PAGE} AND first_key <= ? ORDER BY first_key DESC LIMIT 1", (tenant_id, sequence_number, key)
        )
        return read_row(rows[0], IndexPage) if rows else None

    def get_page(self, tenant_id: TenantId, sequence_number: int, position: int) -> IndexPage:
        rows = self._session.query(f"{_PAGE} AND position = ?", (tenant_id, sequence_number, position))
        if not rows:
            raise DamagedRecordError(f"page {position} of the index of entry {sequence_number} is not there")
        return read_row(rows[0], IndexPage)

    def page_roots(self, tenant_id: TenantId, sequence_number: int) -> tuple[bytes, ...]:
        rows = self._session.query(
            "SELECT root FROM index_page WHERE tenant_id = ? AND sequence_number = ? ORDER BY position",
            (tenant_id, sequence_number),
        )
        return tuple(bytes(root) for (root,) in rows)

    def pages(self, tenant_id: TenantId, sequence_number: int) -> tuple[IndexPage, ...]:
        rows = self._session.query(f"{_PAGE} ORDER BY position", (tenant_id, sequence_number))
        return tuple(read_row(row, IndexPage) for row in rows)
