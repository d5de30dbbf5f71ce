"""Indexes of the ledger in SQL."""

from assay.adapters.sql.row import add_row, add_rows, columns_of, read_row
from assay.adapters.sql.session import SqlSession
from assay.kernel.ids import TenantId
from assay.ports.damage import DamagedRecordError
from assay.ports.index_store import IndexPage, IndexSegment

_SEGMENT = f"SELECT {', '.join(columns_of(IndexSegment))} FROM index_segment WHERE tenant_id = ?"  # noqa: S608 - our constants
_PAGE = f"SELECT {', '.join(columns_of(IndexPage))} FROM index_page WHERE tenant_id = ? AND sequence_number = ?"  # noqa: S608 - our constants


class SqlIndexStore:
    """Implements `ports.index_store.IndexStore`."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    def add_segment(self, tenant_id: TenantId, segment: IndexSegment, pages: tuple[IndexPage, ...]) -> None:
        what = f"the index of entry {segment.sequence_number}"
        add_row(self._session, "index_segment", tenant_id, segment, what)
        add_rows(self._session, "index_page", tenant_id, pages, f"the pages of {what}")

    def segments(self, tenant_id: TenantId, *, ending_after: int = 0) -> tuple[IndexSegment, ...]:
        rows = self._session.query(f"{_SEGMENT} AND last > ? ORDER BY last", (tenant_id, ending_after))
        return tuple(read_row(row, IndexSegment) for row in rows)

    def find_latest(self, tenant_id: TenantId) -> IndexSegment | None:
        rows = self._session.query(f"{_SEGMENT} ORDER BY last DESC LIMIT 1", (tenant_id,))
        return read_row(rows[0], IndexSegment) if rows else None

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
