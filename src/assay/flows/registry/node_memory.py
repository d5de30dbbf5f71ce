"""A node's own database behind the service that runs inside the node: what is counted is an entry each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

from assay.flows.registry.registry_entry import counted_entry
from assay.flows.registry.switch_facts import ATTEMPTS, SELF_TESTS
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.ports.clock import Clock
from assay.ports.database import Database, Unit
from assay.ports.registry_store import LoggedAction, ProofRecord, ServiceStore, SwitchFact, WorkerCounts
from assay.registry.errors import RegistryError

T = TypeVar("T")
_KINDS: Mapping[str, EntryKind] = MappingProxyType(
    {ATTEMPTS: EntryKind.ESCALATION_ATTEMPTED, SELF_TESTS: EntryKind.SWITCH_TESTED}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeMemory:
    """Implements `ports.registry_store.ServiceMemory`; who opened the node closes it."""

    database: Database
    clock: Clock

    def write(self, work: Callable[[ServiceStore], T]) -> T:
        return self.database.write(lambda unit: work(_NodeStore(unit, self.clock)))

    def read(self, work: Callable[[ServiceStore], T]) -> T:
        return self.database.read(lambda unit: work(_NodeStore(unit, self.clock)))

    def close(self) -> None:
        """Nothing of its own to close."""


class _NodeStore:
    """Implements `ports.registry_store.ServiceStore` for the node: it has no other workers, and its facts are entries.

    Its actions are operations, which record their own entries.
    """

    def __init__(self, unit: Unit, clock: Clock) -> None:
        self._unit = unit
        self._clock = clock

    def facts(self, tenant_id: TenantId, service_id: str) -> tuple[SwitchFact, ...]:
        return self._unit.registry.facts(tenant_id, service_id)

    def proofs(self, tenant_id: TenantId, service_id: str, *, since: Instant) -> tuple[ProofRecord, ...]:
        return self._unit.registry.proofs(tenant_id, service_id, since=since)

    def latest_proof(self, tenant_id: TenantId, service_id: str) -> ProofRecord | None:
        return self._unit.registry.latest_proof(tenant_id, service_id)

    def count_up(self, tenant_id: TenantId, service_id: str, name: str) -> int:
        """Each is an entry, so that nobody lowers the number; in one commit with another it may be the same."""
        self._unit.record(counted_entry(tenant_id, _KINDS[name], service_id, at=self._clock.now()))
        return self.counted(tenant_id, service_id, name) + 1

    def counted(self, tenant_id: TenantId, service_id: str, name: str) -> int:  # noqa: ARG002 - a node is one service
        return self._unit.ledger.count_kind(tenant_id, _KINDS[name])

    def put_counts(self, tenant_id: TenantId, counts: WorkerCounts) -> None:
        """Nobody else hears it."""

    def counts(self, tenant_id: TenantId, service_id: str, *, since: Instant) -> tuple[WorkerCounts, ...]:  # noqa: ARG002 - there are none
        return ()

    def drop_counts(self, tenant_id: TenantId, service_id: str, *, before: Instant) -> int:  # noqa: ARG002 - there are none
        return 0

    def find_action(self, tenant_id: TenantId, log_id: str) -> LoggedAction | None:  # noqa: ARG002 - there are none
        return None

    def actions(self, tenant_id: TenantId, service_id: str, *, limit: int = 100) -> tuple[LoggedAction, ...]:  # noqa: ARG002 - there are none
        return ()

    def log_action(self, tenant_id: TenantId, action: LoggedAction) -> None:
        raise _recorded(tenant_id, action.action_id)

    def add_fact(self, tenant_id: TenantId, fact: SwitchFact) -> None:
        raise _recorded(tenant_id, fact.kind)

    def add_proof(self, tenant_id: TenantId, proof: ProofRecord) -> None:
        raise _recorded(tenant_id, proof.service_id)


def _recorded(tenant_id: TenantId, what: str) -> Error:
    return RegistryError.unknown_action(f"expected an operation of the node to record `{what[:80]}` of `{tenant_id}`")
