"""What is stored about services: switches and their facts, keys, leases, proofs, tiers; counts and logged actions.

A node has a registry of services beside its ledger; the workers of one service share a file of their own.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.ids import KeyId, PrincipalId, TenantId
from assay.kernel.instant import Instant

T = TypeVar("T")


class SwitchFact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fact about a switch; `position` counts 1, 2, 3 … of its service, `text` is the canonical JSON of the fact."""

    service_id: str
    position: int
    kind: str
    text: str
    recorded_at: Instant


class WorkerCounts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one worker of a service saw lately; `text` is the JSON of its seconds and totals."""

    service_id: str
    worker_id: str
    text: str
    updated_at: Instant


class LoggedAction(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An action of tier 2 or above, logged before it runs; `text` is the canonical JSON of its `ActionLog`."""

    log_id: str
    service_id: str
    action_id: str
    principal_id: PrincipalId
    parameters_hash: Digest
    text: str
    logged_at: Instant


class RegisteredKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key that an operator knows for a service; `public_key` is its 32 bytes in hex."""

    service_id: str
    key_id: KeyId
    public_key: str
    by: PrincipalId
    registered_at: Instant


class RevokedKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From `revoked_at` on nothing that this key signs is heard in the name of the service."""

    service_id: str
    key_id: KeyId
    reason: str
    by: PrincipalId
    revoked_at: Instant


class HeldLease(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is held of one instance: `lease` is the JSON of its `Lease`, `announce` its last announce as it came."""

    service_id: str
    instance_id: str
    lease: str
    announce: str
    expires_at: Instant


class IndexedService(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was found to be served: `text` is the JSON of a `ServiceEntry`, as its ledger entry has it."""

    service_id: str
    text: str
    checked_at: Instant
    sequence_number: int


class ProofRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One measurement of a service's proof; `text` is the PROOF document."""

    service_id: str
    measured_at: Instant
    proof_hash: Digest
    text: str


class ChangedTier(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One change of one subject's tier; `text` is the canonical JSON of its `TierChange`."""

    subject: str
    version: int
    text: str
    changed_at: Instant
    sequence_number: int


class NodeSwitchFact(SwitchFact, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fact about a switch as a node has it: it follows from a ledger entry. So do the three below."""

    sequence_number: int


class NodeKey(RegisteredKey, frozen=True, kw_only=True, forbid_unknown_fields=True):
    sequence_number: int


class NodeKeyEnd(RevokedKey, frozen=True, kw_only=True, forbid_unknown_fields=True):
    sequence_number: int


class NodeProof(ProofRecord, frozen=True, kw_only=True, forbid_unknown_fields=True):
    sequence_number: int


class SwitchStore(Protocol):
    """What a node and the file of a service both have."""

    def facts(self, tenant_id: TenantId, service_id: str) -> tuple[SwitchFact, ...]:
        """In the order they were recorded."""
        ...

    def proofs(self, tenant_id: TenantId, service_id: str, *, since: Instant) -> tuple[ProofRecord, ...]:
        """The measurements of PROOF, by time."""
        ...

    def latest_proof(self, tenant_id: TenantId, service_id: str) -> ProofRecord | None: ...


class RegistryStore(SwitchStore, Protocol):
    """The registry of a node. All but leases follows from ledger entries: `unit.record` adds it."""

    def keys(self, tenant_id: TenantId, service_id: str) -> tuple[RegisteredKey, ...]:
        """Every key that was ever made known, also those that were revoked."""
        ...

    def revoked_keys(self, tenant_id: TenantId, service_id: str) -> tuple[RevokedKey, ...]: ...

    def put_lease(self, tenant_id: TenantId, lease: HeldLease) -> None:
        """Replaces the lease of that instance; it is stored with a MAC."""
        ...

    def leases(self, tenant_id: TenantId, service_id: str | None = None) -> tuple[HeldLease, ...]:
        """The leases of one service or of all, sorted by service and instance; none whose MAC does not hold."""
        ...

    def drop_lease(self, tenant_id: TenantId, service_id: str, instance_id: str) -> None: ...

    def entries(self, tenant_id: TenantId) -> tuple[IndexedService, ...]: ...

    def drop_entry(self, tenant_id: TenantId, service_id: str) -> None:
        """With the entry that unlists it."""
        ...

    def tier_changes(self, tenant_id: TenantId, subject: str) -> tuple[ChangedTier, ...]:
        """In the order of their versions."""
        ...


class ServiceStore(SwitchStore, Protocol):
    """What the workers of one service share. Facts, actions and proofs are only added."""

    def add_fact(self, tenant_id: TenantId, fact: SwitchFact) -> None:
        """A place that is taken is `store.conflict`."""
        ...

    def put_counts(self, tenant_id: TenantId, counts: WorkerCounts) -> None:
        """Replaces what that worker said before."""
        ...

    def counts(self, tenant_id: TenantId, service_id: str, *, since: Instant) -> tuple[WorkerCounts, ...]: ...

    def drop_counts(self, tenant_id: TenantId, service_id: str, *, before: Instant) -> int:
        """Take away what workers said that are long gone: how many."""
        ...

    def count_up(self, tenant_id: TenantId, service_id: str, name: str) -> int:
        """The next number of a counter, from 1 on; no two callers get the same."""
        ...

    def counted(self, tenant_id: TenantId, service_id: str, name: str) -> int: ...

    def log_action(self, tenant_id: TenantId, action: LoggedAction) -> None: ...

    def find_action(self, tenant_id: TenantId, log_id: str) -> LoggedAction | None: ...

    def actions(self, tenant_id: TenantId, service_id: str, *, limit: int = 100) -> tuple[LoggedAction, ...]:
        """The latest first."""
        ...

    def add_proof(self, tenant_id: TenantId, proof: ProofRecord) -> None: ...


class ServiceMemory(Protocol):
    """Where all workers of one service meet; what `write` has done is durable when it returns."""

    def write(self, work: Callable[[ServiceStore], T]) -> T:
        """All of it or nothing; one worker at a time."""
        ...

    def read(self, work: Callable[[ServiceStore], T]) -> T: ...

    def close(self) -> None: ...
