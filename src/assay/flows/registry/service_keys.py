"""The keys of a service as the registry knows them: who made each known, and which were revoked since."""

from msgspec import Struct

from assay.kernel.ids import TenantId
from assay.ports.registry_store import RegisteredKey, RegistryStore, RevokedKey


class KnownKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key that was made known, and its end where it has one."""

    key: RegisteredKey
    revoked: RevokedKey | None

    @property
    def public_key(self) -> bytes:
        return bytes.fromhex(self.key.public_key)


def known_keys(store: RegistryStore, tenant_id: TenantId, service_id: str) -> tuple[KnownKey, ...]:
    """Every key that was ever made known for the service."""
    ends = {one.key_id: one for one in store.revoked_keys(tenant_id, service_id)}
    return tuple(KnownKey(key=key, revoked=ends.get(key.key_id)) for key in store.keys(tenant_id, service_id))


def live_keys(store: RegistryStore, tenant_id: TenantId, service_id: str) -> tuple[bytes, ...]:
    """The public keys that still vouch for something."""
    return tuple(one.public_key for one in known_keys(store, tenant_id, service_id) if one.revoked is None)
