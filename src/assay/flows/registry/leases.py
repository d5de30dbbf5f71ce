"""Leases of services, to the store and back."""

import msgspec

from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.ports.damage import DamagedRecordError
from assay.ports.registry_store import HeldLease, RegistryStore
from assay.registry.lease import Lease


def hold(store: RegistryStore, tenant_id: TenantId, lease: Lease, announce: str) -> None:
    held = HeldLease(
        service_id=lease.service_id,
        instance_id=lease.instance_id,
        lease=msgspec.json.encode(lease).decode(),
        announce=announce,
        expires_at=lease.expires_at,
    )
    store.put_lease(tenant_id, held)


def find_leases(tools: Tools, tenant_id: TenantId) -> tuple[Lease, ...]:
    """Every lease of the tenant's services, as things are now."""
    return tools.database.read(lambda unit: load_leases(unit.registry, tenant_id))


def announced_leases(tools: Tools, tenant_id: TenantId, service_id: str) -> tuple[tuple[Lease, str], ...]:
    """The leases of one service, each with the text of its announce."""
    held = tools.database.read(lambda unit: unit.registry.leases(tenant_id, service_id))
    return tuple((parse_lease(one), one.announce) for one in held)


def load_leases(store: RegistryStore, tenant_id: TenantId, service_id: str | None = None) -> tuple[Lease, ...]:
    return tuple(parse_lease(held) for held in store.leases(tenant_id, service_id))


def parse_lease(held: HeldLease) -> Lease:
    try:
        return msgspec.json.decode(held.lease, type=Lease)
    except msgspec.DecodeError as error:
        raise DamagedRecordError(f"the lease of `{held.service_id}` cannot be read: {error}") from error
