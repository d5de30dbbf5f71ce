"""Facts about a switch, to the store and back: a fact is added only where the switch still stands as it was judged."""

import msgspec

from assay.kernel.canonical import canonical_json
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.damage import DamagedRecordError
from assay.ports.registry_store import RegistryStore, SwitchFact
from assay.registry.trip import Fired, Restored, Switch, follow

_KINDS: dict[str, type[Fired] | type[Restored]] = {"fired": Fired, "restored": Restored}


def load_switch(store: RegistryStore, tenant_id: TenantId, service_id: str) -> Switch:
    """Where the switch stands, by everything that was recorded of it."""
    return follow(Switch(service_id=service_id), load_facts(store, tenant_id, service_id))


def load_facts(store: RegistryStore, tenant_id: TenantId, service_id: str) -> list[Fired | Restored]:
    return [_parsed(row) for row in store.facts(tenant_id, service_id)]


def add_fact(store: RegistryStore, tenant_id: TenantId, fact: Fired | Restored, *, at: Instant) -> bool:
    """Record the fact; False where it was recorded before. One that does not follow is an error."""
    known = load_facts(store, tenant_id, fact.service_id)
    if any(type(one) is type(fact) and one.episode == fact.episode for one in known):
        return False
    follow(Switch(service_id=fact.service_id), [*known, fact])
    row = SwitchFact(
        service_id=fact.service_id,
        position=len(known) + 1,
        kind="fired" if isinstance(fact, Fired) else "restored",
        text=canonical_json(fact),
        recorded_at=at,
    )
    store.add_fact(tenant_id, row)
    return True


def _parsed(row: SwitchFact) -> Fired | Restored:
    try:
        return msgspec.json.decode(row.text, type=_KINDS[row.kind])
    except (msgspec.DecodeError, KeyError) as error:
        raise DamagedRecordError(f"fact {row.position} about `{row.service_id}` cannot be read: {error}") from error
