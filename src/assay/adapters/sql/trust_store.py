"""Trust's signal log, its policies and fold marks in SQL."""

from collections.abc import Iterator

from assay.adapters.sql.row import verify_row
from assay.adapters.sql.rows import Rows
from assay.kernel.ids import TenantId
from assay.ports.trust_store import FoldMark, LoggedSignal, RegisteredPolicy


class SqlTrustStore:
    """Implements `ports.trust_store.TrustStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._session = rows.session

    def find_signal(self, tenant_id: TenantId, signal_id: str) -> LoggedSignal | None:
        return self._rows.one(LoggedSignal, "WHERE signal_id = ? AND tenant_id = ?", (signal_id, tenant_id))

    def signals(
        self, tenant_id: TenantId, *, after: int = 0, through: int | None = None, limit: int | None = None
    ) -> Iterator[LoggedSignal]:
        rest, parameters = "WHERE tenant_id = ? AND sequence_number > ?", [tenant_id, after]
        if through is not None:
            rest, parameters = f"{rest} AND sequence_number <= ?", [*parameters, through]
        rest = f"{rest} ORDER BY sequence_number"
        if limit is not None:
            rest, parameters = f"{rest} LIMIT ?", [*parameters, limit]
        return self._rows.stream(LoggedSignal, rest, parameters)

    def signals_of(
        self, tenant_id: TenantId, agent_id: str, *, after: int = 0, limit: int = 100
    ) -> tuple[LoggedSignal, ...]:
        rest = "WHERE tenant_id = ? AND agent_id = ? AND sequence_number > ? ORDER BY sequence_number LIMIT ?"
        return self._rows.all(LoggedSignal, rest, (tenant_id, agent_id, after, limit))

    def policies(self, tenant_id: TenantId) -> tuple[RegisteredPolicy, ...]:
        return self._rows.all(RegisteredPolicy, "WHERE tenant_id = ? ORDER BY sequence_number", (tenant_id,))

    def find_policy(self, tenant_id: TenantId, policy_hash: str) -> RegisteredPolicy | None:
        rest = "WHERE tenant_id = ? AND policy_hash = ? ORDER BY sequence_number LIMIT 1"
        return self._rows.one(RegisteredPolicy, rest, (tenant_id, policy_hash))

    def put_mark(self, tenant_id: TenantId, mark: FoldMark) -> None:
        verify_row(mark, "policy_hash")
        self._session.run(
            "INSERT INTO trust_mark (tenant_id, policy_hash, through, text, signature) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (tenant_id, policy_hash) DO UPDATE"
            " SET through = excluded.through, text = excluded.text, signature = excluded.signature",
            (tenant_id, mark.policy_hash, mark.through, mark.text, mark.signature),
        )

    def find_mark(self, tenant_id: TenantId, policy_hash: str) -> FoldMark | None:
        return self._rows.one(FoldMark, "WHERE tenant_id = ? AND policy_hash = ?", (tenant_id, policy_hash))
