"""An operator makes a key known for a service: from then on only what it signs is heard in that service's name."""

from assay.flows.registry.registry_entry import key_entry
from assay.flows.registry.service_keys import known_keys
from assay.flows.tools import Tools
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.key import key_id_of
from assay.kernel.signature import load_public_key
from assay.ports.database import Unit
from assay.ports.registry_store import RegisteredKey
from assay.registry.errors import RevokedKeyError, UnknownServiceError
from assay.registry.manifest import SERVICE_FORM

__all__ = ["register_service"]


def register_service(
    tools: Tools, tenant_id: TenantId, service_id: str, public_key: bytes, *, by: PrincipalId, at: Instant
) -> RegisteredKey:
    """The key as it is known now; the same key again changes nothing, and one that was revoked is refused.

    The caller has authenticated `by`.
    """
    if SERVICE_FORM.fullmatch(service_id) is None:
        raise UnknownServiceError(f"expected a service `{SERVICE_FORM.pattern}`, got `{service_id[:80]}`")
    load_public_key(public_key)
    key = RegisteredKey(
        service_id=service_id, key_id=key_id_of(public_key), public_key=public_key.hex(), by=by, registered_at=at
    )

    def work(unit: Unit) -> RegisteredKey:
        for known in known_keys(unit.registry, tenant_id, service_id):
            if known.key.key_id == key.key_id and known.revoked is not None:
                raise RevokedKeyError(f"`{key.key_id}` of `{service_id}` was revoked and stays so")
            if known.key.key_id == key.key_id:
                return known.key
        unit.registry.add_key(tenant_id, key)
        unit.ledger.append(key_entry(tenant_id, key))
        return key

    return tools.database.write(work)
