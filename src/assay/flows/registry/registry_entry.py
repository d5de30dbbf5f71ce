"""How the registry is written into the ledger, and what subscribers are told of it."""

from msgspec import Raw, Struct

from assay.facts.registry import KeyAdded, KeyRevoked, ServiceCounted, ServiceListed
from assay.kernel.canonical import canonicalize
from assay.kernel.ids import KeyId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.json_text import JsonValue
from assay.kernel.ledger import Draft, EntryKind, Event, draft_entry
from assay.ports.registry_store import RegisteredKey, RevokedKey
from assay.registry.announce import ReceivedAnnounce
from assay.registry.discover import ServiceEntry
from assay.registry.tier_change import TierChange
from assay.registry.trip import Fired, Restored


class AnnouncedBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `service.announced` entry: the announce by its hash, and the key that vouched for it."""

    service_id: str
    instance_id: str
    event: str
    announce_hash: str
    key_id: KeyId | None


def key_entry(tenant_id: TenantId, key: RegisteredKey) -> Draft:
    body = KeyAdded(service_id=key.service_id, key_id=key.key_id, public_key=key.public_key, registered_by=key.by)
    news: dict[str, JsonValue] = {"service_id": key.service_id, "key_id": key.key_id}
    return _entry(tenant_id, EntryKind.SERVICE_KEY_ADDED, body, key.service_id, news, at=key.registered_at)


def revocation_entry(tenant_id: TenantId, revoked: RevokedKey, instances: tuple[str, ...]) -> Draft:
    body = KeyRevoked(
        service_id=revoked.service_id,
        key_id=revoked.key_id,
        reason=revoked.reason,
        revoked_by=revoked.by,
        instances=instances,
    )
    news: dict[str, JsonValue] = {"service_id": revoked.service_id, "key_id": revoked.key_id}
    return _entry(tenant_id, EntryKind.SERVICE_KEY_REVOKED, body, revoked.service_id, news, at=revoked.revoked_at)


def announce_entry(tenant_id: TenantId, received: ReceivedAnnounce, key_id: KeyId | None, *, at: Instant) -> Draft:
    told = received.announce
    body = AnnouncedBody(
        service_id=told.service_id,
        instance_id=told.instance_id,
        event=told.event.value,
        announce_hash=received.content_hash,
        key_id=key_id,
    )
    news: dict[str, JsonValue] = {"service_id": told.service_id, "event": told.event.value}
    return _entry(tenant_id, EntryKind.SERVICE_ANNOUNCED, body, told.service_id, news, at=at)


def switch_entry(tenant_id: TenantId, fact: Fired | Restored, *, at: Instant) -> Draft:
    """The whole fact: a firing with its SENSE figures, a restore with the hash of the firing it ends."""
    kind = EntryKind.SWITCH_FIRED if isinstance(fact, Fired) else EntryKind.SWITCH_RESTORED
    news: dict[str, JsonValue] = {"service_id": fact.service_id, "episode": fact.episode}
    return _entry(tenant_id, kind, fact, fact.service_id, news, at=at)


def listing_entry(
    tenant_id: TenantId, service_id: str, entry: ServiceEntry | None, reason: str, *, at: Instant
) -> Draft:
    """Who can do what has changed: a service is listed otherwise than before, or no longer."""
    kind = EntryKind.SERVICE_UNLISTED if entry is None else EntryKind.SERVICE_LISTED
    body = ServiceListed(service_id=service_id, entry=entry, reason=reason)
    news: dict[str, JsonValue] = {"service_id": service_id, "reason": reason}
    return _entry(tenant_id, kind, body, service_id, news, at=at)


def counted_entry(tenant_id: TenantId, kind: EntryKind, service_id: str, *, at: Instant) -> Draft:
    """One more attempt at more power than was issued (FRJ-011), or one more test of the switch."""
    return draft_entry(tenant_id, kind, ServiceCounted(service_id=service_id), at=at)


def tier_entry(tenant_id: TenantId, change: TierChange) -> Draft:
    """FRJ-015: who changed whose tier, from what to what, why, and by which ticket."""
    news: dict[str, JsonValue] = {
        "subject": change.subject,
        "version": change.version,
        "from_tier": change.from_tier,
        "to_tier": change.to_tier,
    }
    return _entry(tenant_id, EntryKind.TIER_CHANGED, change, change.subject, news, at=change.changed_at)


def _entry(
    tenant_id: TenantId, kind: EntryKind, body: Struct, subject: str, news: dict[str, JsonValue], *, at: Instant
) -> Draft:
    event = Event(type=kind.value, subject=subject, body=Raw(canonicalize(news)))
    return draft_entry(tenant_id, kind, body, at=at, events=(event,))
