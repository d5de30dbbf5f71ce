"""A key becomes known for a service: from then on only what it signs is heard in that service's name."""

from assay.flows.registry.registry_entry import key_entry
from assay.flows.registry.service_keys import known_keys
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.key import key_id_of
from assay.kernel.signature import load_public_key
from assay.ports.database import Unit
from assay.ports.registry_store import RegisteredKey
from assay.registry.errors import RegistryError
from assay.registry.manifest import SERVICE_FORM


def register_key_in(
    unit: Unit, tenant_id: TenantId, service_id: str, public_key: bytes, *, by: PrincipalId, at: Instant
) -> tuple[RegisteredKey, bool]:
    """Return the key as it is known now, and whether it is new; a key that was revoked is refused."""
    if SERVICE_FORM.fullmatch(service_id) is None:
        raise RegistryError.unknown_service(f"expected a service `{SERVICE_FORM.pattern}`, got `{service_id[:80]}`")
    load_public_key(public_key)
    key = RegisteredKey(
        service_id=service_id, key_id=key_id_of(public_key), public_key=public_key.hex(), by=by, registered_at=at
    )
    for known in known_keys(unit.registry, tenant_id, service_id):
        if known.key.key_id == key.key_id and known.revoked is not None:
            raise RegistryError.key_revoked(f"`{key.key_id}` of `{service_id}` was revoked and stays so")
        if known.key.key_id == key.key_id:
            return known.key, False
    unit.record(key_entry(tenant_id, key))
    return key, True
