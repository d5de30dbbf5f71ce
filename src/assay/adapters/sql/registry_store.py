"""The registry of a node, and the file that the workers of one service share, in SQL."""

from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from assay.adapters.sql.row import add_row, columns_of, read_row, sortable, verify_row
from assay.adapters.sql.rows import Rows
from assay.adapters.sql.session import Row, SqlSession
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.credential_seal import CredentialSeal, StoredCredential, add_mac, split_mac
from assay.ports.registry_store import (
    ChangedTier,
    HeldLease,
    IndexedService,
    LoggedAction,
    NodeKey,
    NodeKeyEnd,
    NodeProof,
    NodeSwitchFact,
    ProofRecord,
    RegisteredKey,
    RevokedKey,
    SwitchFact,
    WorkerCounts,
)

T = TypeVar("T", bound=Struct)
_OF_SERVICE = " WHERE service_id = ? AND tenant_id = ?"


def _select(kind: type[Struct], table: str) -> str:
    return f"SELECT {', '.join(columns_of(kind))} FROM {table}"  # noqa: S608 - our constants


_FACT = _select(SwitchFact, "switch_fact")
_COUNTS = _select(WorkerCounts, "service_worker")
_ACTION = _select(LoggedAction, "service_action")
_PROOF = _select(ProofRecord, "service_proof")


class SqlServiceStore:
    """Implements `ports.registry_store.ServiceStore`."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    def add_fact(self, tenant_id: TenantId, fact: SwitchFact) -> None:
        verify_row(fact, "service_id")
        what = f"fact {fact.position} about the switch of `{fact.service_id}`"
        add_row(self._session, "switch_fact", tenant_id, fact, what)

    def facts(self, tenant_id: TenantId, service_id: str) -> tuple[SwitchFact, ...]:
        return self._all(f"{_FACT}{_OF_SERVICE} ORDER BY position", (service_id, tenant_id), SwitchFact)

    def put_counts(self, tenant_id: TenantId, counts: WorkerCounts) -> None:
        verify_row(counts, "service_id", "worker_id")
        self._session.run(
            "INSERT INTO service_worker (tenant_id, service_id, worker_id, text, updated_at) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (service_id, worker_id, tenant_id)"
            " DO UPDATE SET text = excluded.text, updated_at = excluded.updated_at",
            (tenant_id, counts.service_id, counts.worker_id, counts.text, sortable(counts.updated_at)),
        )

    def counts(self, tenant_id: TenantId, service_id: str, *, since: Instant) -> tuple[WorkerCounts, ...]:
        return self._all(
            f"{_COUNTS}{_OF_SERVICE} AND updated_at >= ? ORDER BY worker_id",
            (service_id, tenant_id, sortable(since)),
            WorkerCounts,
        )

    def drop_counts(self, tenant_id: TenantId, service_id: str, *, before: Instant) -> int:
        return self._session.run(
            f"DELETE FROM service_worker{_OF_SERVICE} AND updated_at < ?",  # noqa: S608 - our constants
            (service_id, tenant_id, sortable(before)),
        )

    def count_up(self, tenant_id: TenantId, service_id: str, name: str) -> int:
        ((number,),) = self._session.query(
            "INSERT INTO service_counter (tenant_id, service_id, name, number) VALUES (?, ?, ?, 1)"
            " ON CONFLICT (service_id, name, tenant_id) DO UPDATE SET number = service_counter.number + 1"
            " RETURNING number",
            (tenant_id, service_id, name),
        )
        return int(number)

    def counted(self, tenant_id: TenantId, service_id: str, name: str) -> int:
        rows = self._session.query(
            f"SELECT number FROM service_counter{_OF_SERVICE} AND name = ?",  # noqa: S608 - our constants
            (service_id, tenant_id, name),
        )
        return int(rows[0][0]) if rows else 0

    def log_action(self, tenant_id: TenantId, action: LoggedAction) -> None:
        verify_row(action, "log_id", "service_id")
        add_row(self._session, "service_action", tenant_id, action, f"the action `{action.log_id}`")

    def find_action(self, tenant_id: TenantId, log_id: str) -> LoggedAction | None:
        rows = self._session.query(f"{_ACTION} WHERE log_id = ? AND tenant_id = ?", (log_id, tenant_id))
        return read_row(rows[0], LoggedAction) if rows else None

    def actions(self, tenant_id: TenantId, service_id: str, *, limit: int = 100) -> tuple[LoggedAction, ...]:
        return self._all(
            f"{_ACTION}{_OF_SERVICE} ORDER BY logged_at DESC, log_id DESC LIMIT ?",
            (service_id, tenant_id, limit),
            LoggedAction,
        )

    def add_proof(self, tenant_id: TenantId, proof: ProofRecord) -> None:
        verify_row(proof, "service_id")
        what = f"the proof of `{proof.service_id}` at {sortable(proof.measured_at)}"
        add_row(self._session, "service_proof", tenant_id, proof, what)

    def proofs(self, tenant_id: TenantId, service_id: str, *, since: Instant) -> tuple[ProofRecord, ...]:
        return self._all(
            f"{_PROOF}{_OF_SERVICE} AND measured_at >= ? ORDER BY measured_at",
            (service_id, tenant_id, sortable(since)),
            ProofRecord,
        )

    def latest_proof(self, tenant_id: TenantId, service_id: str) -> ProofRecord | None:
        sql = f"{_PROOF}{_OF_SERVICE} ORDER BY measured_at DESC LIMIT 1"
        return next(iter(self._all(sql, (service_id, tenant_id), ProofRecord)), None)

    def _all(self, sql: str, parameters: tuple[object, ...], kind: type[T]) -> tuple[T, ...]:
        rows: list[Row] = self._session.query(sql, parameters)
        return tuple(read_row(row, kind) for row in rows)


class SqlRegistryStore:
    """Implements `ports.registry_store.RegistryStore`: rows of ledger entries, compared with them, and leases.

    With a `seal`, leases are stored with a MAC under a key outside the database, and one without it is not there: the
    service announces itself again.
    """

    def __init__(self, rows: Rows, seal: CredentialSeal | None = None) -> None:
        self._rows = rows
        self._session = rows.session
        self._seal = seal

    def facts(self, tenant_id: TenantId, service_id: str) -> tuple[SwitchFact, ...]:
        rows = self._rows.all(NodeSwitchFact, f"{_OF_SERVICE} ORDER BY position", (service_id, tenant_id))
        return tuple(_plain(row, SwitchFact) for row in rows)

    def keys(self, tenant_id: TenantId, service_id: str) -> tuple[RegisteredKey, ...]:
        rows = self._rows.all(NodeKey, f"{_OF_SERVICE} ORDER BY key_id", (service_id, tenant_id))
        return tuple(_plain(row, RegisteredKey) for row in rows)

    def revoked_keys(self, tenant_id: TenantId, service_id: str) -> tuple[RevokedKey, ...]:
        rows = self._rows.all(NodeKeyEnd, f"{_OF_SERVICE} ORDER BY key_id", (service_id, tenant_id))
        return tuple(_plain(row, RevokedKey) for row in rows)

    def proofs(self, tenant_id: TenantId, service_id: str, *, since: Instant) -> tuple[ProofRecord, ...]:
        rest = f"{_OF_SERVICE} AND measured_at >= ? ORDER BY measured_at"
        rows = self._rows.all(NodeProof, rest, (service_id, tenant_id, sortable(since)))
        return tuple(_plain(row, ProofRecord) for row in rows)

    def latest_proof(self, tenant_id: TenantId, service_id: str) -> ProofRecord | None:
        rest = f"{_OF_SERVICE} ORDER BY measured_at DESC LIMIT 1"
        row = self._rows.one(NodeProof, rest, (service_id, tenant_id))
        return None if row is None else _plain(row, ProofRecord)

    def put_lease(self, tenant_id: TenantId, lease: HeldLease) -> None:
        verify_row(lease, "service_id", "instance_id")
        text = lease.lease if self._seal is None else add_mac(lease.lease, self._seal.mac(_stored(tenant_id, lease)))
        self._session.run(
            "INSERT INTO service_lease (tenant_id, service_id, instance_id, lease, announce, expires_at)"
            " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (service_id, instance_id, tenant_id) DO UPDATE"
            " SET lease = excluded.lease, announce = excluded.announce, expires_at = excluded.expires_at",
            (tenant_id, lease.service_id, lease.instance_id, text, lease.announce, sortable(lease.expires_at)),
        )

    def leases(self, tenant_id: TenantId, service_id: str | None = None) -> tuple[HeldLease, ...]:
        if service_id is None:
            rows = self._rows.all(HeldLease, "WHERE tenant_id = ? ORDER BY service_id, instance_id", (tenant_id,))
        else:
            rows = self._rows.all(HeldLease, f"{_OF_SERVICE} ORDER BY instance_id", (service_id, tenant_id))
        opened = (self._opened(tenant_id, row) for row in rows)
        return tuple(lease for lease in opened if lease is not None)

    def _opened(self, tenant_id: TenantId, row: HeldLease) -> HeldLease | None:
        """Return the lease without its MAC, or None where the MAC does not hold."""
        text, mac = split_mac(row.lease)
        lease = replace(row, lease=text)
        is_ours = self._seal is None or (mac is not None and self._seal.holds(_stored(tenant_id, lease), mac))
        return lease if is_ours else None

    def drop_lease(self, tenant_id: TenantId, service_id: str, instance_id: str) -> None:
        self._session.run(
            f"DELETE FROM service_lease{_OF_SERVICE} AND instance_id = ?",  # noqa: S608 - our constants
            (service_id, tenant_id, instance_id),
        )

    def entries(self, tenant_id: TenantId) -> tuple[IndexedService, ...]:
        return self._rows.all(IndexedService, "WHERE tenant_id = ? ORDER BY service_id", (tenant_id,))

    def drop_entry(self, tenant_id: TenantId, service_id: str) -> None:
        self._session.run(f"DELETE FROM service_entry{_OF_SERVICE}", (service_id, tenant_id))  # noqa: S608 - our constants

    def tier_changes(self, tenant_id: TenantId, subject: str) -> tuple[ChangedTier, ...]:
        rest = "WHERE subject = ? AND tenant_id = ? ORDER BY version"
        return self._rows.all(ChangedTier, rest, (subject, tenant_id))


def _stored(tenant_id: TenantId, lease: HeldLease) -> StoredCredential:
    """What the MAC of a lease covers: the whole row."""
    return StoredCredential(
        credential_id=f"{lease.service_id}/{lease.instance_id}",
        kind="lease",
        tenant_id=tenant_id,
        principal_id=sortable(lease.expires_at),
        record=f"{lease.lease}\n{lease.announce}",
    )


def _plain(row: Struct, kind: type[T]) -> T:
    """The row without the number of its entry."""
    return kind(**{name: getattr(row, name) for name in kind.__struct_fields__})
