"""A key of a service is revoked: from the commit on nothing that it signs is heard in that service's name.

key -> its end, for ever -> the leases that it vouched for are gone -> entry;   the next round unlists who has none left
"""

from assay.flows.errors import NotFoundError
from assay.flows.registry.leases import load_leases
from assay.flows.registry.registry_entry import revocation_entry
from assay.flows.registry.service_keys import known_keys
from assay.kernel.ids import TenantId
from assay.ports.database import Unit
from assay.ports.registry_store import RevokedKey


def revoke_key_in(unit: Unit, tenant_id: TenantId, end: RevokedKey) -> tuple[RevokedKey, bool]:
    """Return the end of the key as it is known now, and whether it is new; revoking again changes nothing."""
    service_id, key_id = end.service_id, end.key_id
    known = {one.key.key_id: one for one in known_keys(unit.registry, tenant_id, service_id)}
    if key_id not in known:
        raise NotFoundError(f"tenant `{tenant_id}` knows no key `{key_id[:80]}` of `{service_id[:80]}`")
    before = known[key_id].revoked
    if before is not None:
        return before, False
    leases = load_leases(unit.registry, tenant_id, service_id)
    lost = tuple(lease.instance_id for lease in leases if lease.key_id == key_id)
    for instance_id in lost:
        unit.registry.drop_lease(tenant_id, service_id, instance_id)
    unit.record(revocation_entry(tenant_id, end, lost))
    return end, True
