"""Leases of services, to the store and back."""

import msgspec

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


def load_leases(store: RegistryStore, tenant_id: TenantId, service_id: str | None = None) -> tuple[Lease, ...]:
    return tuple(parse_lease(held) for held in store.leases(tenant_id, service_id))


def parse_lease(held: HeldLease) -> Lease:
    try:
        return msgspec.json.decode(held.lease, type=Lease)
    except msgspec.DecodeError as error:
        raise DamagedRecordError(f"the lease of `{held.service_id}` cannot be read: {error}") from error
