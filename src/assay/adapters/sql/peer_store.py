"""Agreements with other organisations in SQL."""

from assay.adapters.sql.rows import Rows
from assay.kernel.ids import TenantId
from assay.ports.peer_store import RecordedAgreement


class SqlPeerStore:
    """Implements `ports.peer_store.PeerStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def find_agreement(self, tenant_id: TenantId, peer: str) -> RecordedAgreement | None:
        rest = "WHERE peer = ? AND tenant_id = ? ORDER BY sequence_number DESC LIMIT 1"
        return self._rows.one(RecordedAgreement, rest, (peer, tenant_id))

    def agreements(self, tenant_id: TenantId, *, after: str, limit: int) -> tuple[RecordedAgreement, ...]:
        rest = (
            "WHERE tenant_id = ? AND peer > ? AND sequence_number = (SELECT max(later.sequence_number)"
            " FROM peer_agreement AS later WHERE later.tenant_id = peer_agreement.tenant_id"
            " AND later.peer = peer_agreement.peer) ORDER BY peer LIMIT ?"
        )
        return self._rows.all(RecordedAgreement, rest, (tenant_id, after, limit))
