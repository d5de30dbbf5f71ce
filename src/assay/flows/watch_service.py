"""What a service declares is what it serves, or it leaves the index; who is gone leaves it too.

leases -> evict -> fetch codex, STATE, TRUST, SENSE -> conform -> entry with the tier that is active now
"""

import msgspec
from msgspec import Struct

from assay.flows.gather_evidence import fetch_documents
from assay.flows.leases import load_leases
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.registry_store import IndexedService, RegistryStore
from assay.ports.service_client import ServiceClient
from assay.registry.action import is_tier
from assay.registry.conform import Evidence, Profile, check_service
from assay.registry.discover import Index, ServiceEntry, build_index, entry_of
from assay.registry.documents import SenseDocument, parse_document
from assay.registry.lease import Lease, evict
from assay.registry.open_manifest import open_manifest

__all__ = ["Watched", "load_index", "watch_service", "watch_services"]


class Watched(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a look at one service found; `entry` is None for one that is not in the index now."""

    service_id: str
    entry: ServiceEntry | None
    reason: str


def load_index(store: RegistryStore, tenant_id: TenantId) -> Index:
    """The snapshot as it stands; whoever asks often keeps it."""
    rows = store.entries(tenant_id)
    return build_index([msgspec.json.decode(row.text, type=ServiceEntry) for row in rows])


def watch_services(tools: Tools, tenant_id: TenantId, client: ServiceClient, *, at: Instant) -> tuple[Watched, ...]:
    """One round over every lease: the dead leave the index, and of each service one live instance is asked."""
    leases = tools.database.read(lambda unit: load_leases(unit.registry, tenant_id))
    kept, gone = evict(leases, at)
    alive = {lease.service_id: lease for lease in kept}
    found = [watch_service(tools, tenant_id, lease, client, at=at) for lease in alive.values()]
    left = sorted({lease.service_id for lease in gone} - alive.keys())
    return (*found, *(_leave(tools, tenant_id, name) for name in left))


def watch_service(tools: Tools, tenant_id: TenantId, lease: Lease, client: ServiceClient, *, at: Instant) -> Watched:
    """Ask one instance, and let the index say what it really serves."""
    entry, reason = _look(lease, client, at)

    def work(unit: Unit) -> None:
        if entry is None:
            unit.registry.drop_entry(tenant_id, lease.service_id)
            return
        text = msgspec.json.encode(entry).decode()
        unit.registry.put_entry(tenant_id, IndexedService(service_id=lease.service_id, text=text, checked_at=at))

    tools.database.write(work)
    return Watched(service_id=lease.service_id, entry=entry, reason=reason)


def _look(lease: Lease, client: ServiceClient, at: Instant) -> tuple[ServiceEntry | None, str]:
    if lease.base_url is None:
        return None, "no address was announced"
    evidence = fetch_documents(client, lease.base_url)
    report = check_service(evidence, Profile.STANDARD, at=at)
    if not report.passed:
        first = report.failures[0]
        return None, f"{first.rule} {first.where}: {first.message}"[:500]
    return _entry(lease, evidence)


def _entry(lease: Lease, evidence: Evidence) -> tuple[ServiceEntry | None, str]:
    assert evidence.codex is not None  # noqa: S101 - the report has passed
    manifest = open_manifest(evidence.codex.content).manifest
    if manifest.service != lease.service_id:
        return None, f"`{manifest.service}` answers where `{lease.service_id}` was announced"
    try:
        sense = parse_document(evidence.sense.content if evidence.sense else b"", SenseDocument)
    except msgspec.DecodeError:
        return None, "sense.shape: SENSE cannot be read, so the active tier is not known"
    if not is_tier(sense.security.current_trust_tier):
        return None, f"expected a tier of 0 to 3 in SENSE, got {sense.security.current_trust_tier}"
    return entry_of(manifest, tier=sense.security.current_trust_tier), "served as declared"


def _leave(tools: Tools, tenant_id: TenantId, service_id: str) -> Watched:
    tools.database.write(lambda unit: unit.registry.drop_entry(tenant_id, service_id))
    return Watched(service_id=service_id, entry=None, reason="offline or expired")
