"""The services that the registry knows: what each can, at which tier, and where its kill switch stands."""

from msgspec import Struct

from assay.flows.registry.switch_facts import load_facts, load_switch
from assay.flows.registry.watch_service import load_index
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.ports.database import Unit
from assay.registry.discover import ServiceEntry
from assay.registry.permission import describe, mask_of
from assay.registry.trip import Fired, Restored


class ShownService(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One service; `history` is every fact about its switch, the oldest first."""

    entry: ServiceEntry
    bits: tuple[str, ...]
    is_fired: bool
    history: tuple[Fired | Restored, ...]


class ServiceList(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`can` are the ids of those that have all the bits asked for; all, where nothing was asked."""

    services: tuple[ShownService, ...]
    can: frozenset[str]
    own: ShownService


def list_services(tools: Tools, tenant_id: TenantId, *, needs: tuple[str, ...] = ()) -> ServiceList:
    """Every service, sorted by id; the node itself is one, and is told of beside the others."""
    needed = mask_of(needs) if needs else 0

    def look(unit: Unit) -> ServiceList:
        index = load_index(unit.registry, tenant_id)
        entries = [entry for _, entry in sorted(index.entries.items())]
        own = ServiceEntry(id=tools.delivery.service, domain="", capability_mask=0, tier=0)
        return ServiceList(
            services=tuple(_shown(unit, tenant_id, entry) for entry in entries),
            can=frozenset(index.who_can(needed)),
            own=_shown(unit, tenant_id, own),
        )

    return tools.database.read(look)


def _shown(unit: Unit, tenant_id: TenantId, entry: ServiceEntry) -> ShownService:
    return ShownService(
        entry=entry,
        bits=describe(entry.capability_mask),
        is_fired=load_switch(unit.registry, tenant_id, entry.id).is_fired,
        history=tuple(load_facts(unit.registry, tenant_id, entry.id)),
    )
