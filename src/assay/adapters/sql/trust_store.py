"""Trust's signal log, its policies and fold marks in SQL."""

from collections.abc import Iterator

from assay.adapters.sql.row import add_row, columns_of, read_row, verify_row
from assay.adapters.sql.session import SqlSession
from assay.kernel.ids import TenantId
from assay.ports.trust_store import FoldMark, LoggedSignal, RegisteredPolicy

_SIGNAL = f"SELECT {', '.join(columns_of(LoggedSignal))} FROM trust_signal WHERE tenant_id = ?"  # noqa: S608 - our constants
_POLICY = f"SELECT {', '.join(columns_of(RegisteredPolicy))} FROM trust_policy WHERE tenant_id = ?"  # noqa: S608 - our constants


class SqlTrustStore:
    """Implements `ports.trust_store.TrustStore`."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    def add_signal(self, tenant_id: TenantId, signal: LoggedSignal) -> None:
        verify_row(signal, "signal_id", "agent_id")
        what = f"the signal `{signal.signal_id}`, or another of entry {signal.sequence_number},"
        add_row(self._session, "trust_signal", tenant_id, signal, what)

    def find_signal(self, tenant_id: TenantId, signal_id: str) -> LoggedSignal | None:
        rows = self._session.query(f"{_SIGNAL} AND signal_id = ?", (tenant_id, signal_id))
        return read_row(rows[0], LoggedSignal) if rows else None

    def signals(
        self, tenant_id: TenantId, *, after: int = 0, through: int | None = None, limit: int | None = None
    ) -> Iterator[LoggedSignal]:
        sql, parameters = f"{_SIGNAL} AND sequence_number > ?", [tenant_id, after]
        if through is not None:
            sql, parameters = f"{sql} AND sequence_number <= ?", [*parameters, through]
        sql = f"{sql} ORDER BY sequence_number"
        if limit is not None:
            sql, parameters = f"{sql} LIMIT ?", [*parameters, limit]
        return (read_row(row, LoggedSignal) for row in self._session.stream(sql, parameters))

    def signals_of(
        self, tenant_id: TenantId, agent_id: str, *, after: int = 0, limit: int = 100
    ) -> tuple[LoggedSignal, ...]:
        rows = self._session.query(
            f"{_SIGNAL} AND agent_id = ? AND sequence_number > ? ORDER BY sequence_number LIMIT ?",
            (tenant_id, agent_id, after, limit),
        )
        return tuple(read_row(row, LoggedSignal) for row in rows)

    def register_policy(self, tenant_id: TenantId, policy: RegisteredPolicy) -> None:
        verify_row(policy, "policy_id", "policy_hash")
        what = f"the policy `{policy.policy_id}`, or another of entry {policy.sequence_number},"
        add_row(self._session, "trust_policy", tenant_id, policy, what)

    def policies(self, tenant_id: TenantId) -> tuple[RegisteredPolicy, ...]:
        rows = self._session.query(f"{_POLICY} ORDER BY sequence_number", (tenant_id,))
        return tuple(read_row(row, RegisteredPolicy) for row in rows)

    def find_policy(self, tenant_id: TenantId, policy_hash: str) -> RegisteredPolicy | None:
        rows = self._session.query(
            f"{_POLICY} AND policy_hash = ? ORDER BY sequence_number LIMIT 1", (tenant_id, policy_hash)
        )
        return read_row(rows[0], RegisteredPolicy) if rows else None

    def put_mark(self, tenant_id: TenantId, mark: FoldMark) -> None:
        verify_row(mark, "policy_hash")
        self._session.run(
            "INSERT INTO trust_mark (tenant_id, policy_hash, through, text, signature) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (tenant_id, policy_hash) DO UPDATE"
            " SET through = excluded.through, text = excluded.text, signature = excluded.signature",
            (tenant_id, mark.policy_hash, mark.through, mark.text, mark.signature),
        )

    def find_mark(self, tenant_id: TenantId, policy_hash: str) -> FoldMark | None:
        rows = self._session.query(
            "SELECT policy_hash, through, text, signature FROM trust_mark WHERE tenant_id = ? AND policy_hash = ?",
            (tenant_id, policy_hash),
        )
        return read_row(rows[0], FoldMark) if rows else None
