"""Agreements with other organisations in SQL."""

from assay.adapters.sql.row import add_row, columns_of, read_row, verify_row
from assay.adapters.sql.session import SqlSession
from assay.kernel.ids import TenantId
from assay.ports.peer_store import RecordedAgreement

_AGREEMENT = f"SELECT {', '.join(columns_of(RecordedAgreement))} FROM peer_agreement"  # noqa: S608 - our constants


class SqlPeerStore:
    """Implements `ports.peer_store.PeerStore`."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    def add_agreement(self, tenant_id: TenantId, agreement: RecordedAgreement) -> None:
        verify_row(agreement, "peer", "by")
        add_row(self._session, "peer_agreement", tenant_id, agreement, f"an agreement with `{agreement.peer}`")

    def find_agreement(self, tenant_id: TenantId, peer: str) -> RecordedAgreement | None:
        rows = self._session.query(
            f"{_AGREEMENT} WHERE peer = ? AND tenant_id = ? ORDER BY sequence_number DESC LIMIT 1", (peer, tenant_id)
        )
        return read_row(rows[0], RecordedAgreement) if rows else None
