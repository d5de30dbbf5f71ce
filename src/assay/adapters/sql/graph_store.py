"""Knowledge graphs, their reviews and activations in SQL."""

from assay.adapters.sql.row import add_row, columns_of, read_row, verify_row
from assay.adapters.sql.session import SqlSession
from assay.kernel.ids import TenantId
from assay.ports.graph_store import GraphActivation, GraphHead, GraphVersion, RecordedReview

_HEAD = f"SELECT {', '.join(columns_of(GraphHead))} FROM graph_version"  # noqa: S608 - our constants
_VERSION = f"SELECT {', '.join(columns_of(GraphVersion))} FROM graph_version"  # noqa: S608 - our constants
_REVIEW = f"SELECT {', '.join(columns_of(RecordedReview))} FROM graph_review"  # noqa: S608 - our constants
_ACTIVATION = f"SELECT {', '.join(columns_of(GraphActivation))} FROM graph_activation WHERE tenant_id = ?"  # noqa: S608 - our constants


class SqlGraphStore:
    """Implements `ports.graph_store.GraphStore`."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    def add_version(self, tenant_id: TenantId, version: GraphVersion) -> None:
        verify_row(version, "document_hash", "content_hash")
        add_row(self._session, "graph_version", tenant_id, version, f"the graph `{version.document_hash}`")

    def find_version(self, tenant_id: TenantId, document_hash: str) -> GraphVersion | None:
        rows = self._session.query(f"{_VERSION} WHERE document_hash = ? AND tenant_id = ?", (document_hash, tenant_id))
        return read_row(rows[0], GraphVersion) if rows else None

    def find_head(self, tenant_id: TenantId, document_hash: str) -> GraphHead | None:
        rows = self._session.query(f"{_HEAD} WHERE document_hash = ? AND tenant_id = ?", (document_hash, tenant_id))
        return read_row(rows[0], GraphHead) if rows else None

    def find_content(self, tenant_id: TenantId, content_hash: str) -> GraphVersion | None:
        # The heads first: a document may be large, and only one is wanted.
        rows = self._session.query(
            f"{_HEAD} WHERE content_hash = ? AND tenant_id = ? ORDER BY sequence_number", (content_hash, tenant_id)
        )
        heads = [read_row(row, GraphHead) for row in rows]
        best = min(heads, key=lambda head: (head.signed_by is None, head.sequence_number), default=None)
        return None if best is None else self.find_version(tenant_id, best.document_hash)

    def heads(self, tenant_id: TenantId) -> tuple[GraphHead, ...]:
        rows = self._session.query(f"{_HEAD} WHERE tenant_id = ? ORDER BY sequence_number", (tenant_id,))
        return tuple(read_row(row, GraphHead) for row in rows)

    def add_review(self, tenant_id: TenantId, review: RecordedReview) -> None:
        verify_row(review, "content_hash", "ticket_id", "by")
        what = f"the review of `{review.content_hash}` by `{review.by}`"
        add_row(self._session, "graph_review", tenant_id, review, what)

    def reviews(self, tenant_id: TenantId, content_hash: str) -> tuple[RecordedReview, ...]:
        rows = self._session.query(
            f"{_REVIEW} WHERE content_hash = ? AND tenant_id = ? ORDER BY sequence_number", (content_hash, tenant_id)
        )
        return tuple(read_row(row, RecordedReview) for row in rows)

    def activate(self, tenant_id: TenantId, activation: GraphActivation) -> None:
        verify_row(activation)
        what = f"the activation of entry {activation.sequence_number}"
        add_row(self._session, "graph_activation", tenant_id, activation, what)

    def find_active(self, tenant_id: TenantId) -> GraphActivation | None:
        rows = self._session.query(f"{_ACTIVATION} ORDER BY sequence_number DESC LIMIT 1", (tenant_id,))
        return read_row(rows[0], GraphActivation) if rows else None

    def activations(self, tenant_id: TenantId) -> tuple[GraphActivation, ...]:
        rows = self._session.query(f"{_ACTIVATION} ORDER BY sequence_number", (tenant_id,))
        return tuple(read_row(row, GraphActivation) for row in rows)
