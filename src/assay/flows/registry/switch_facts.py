"""Facts about a switch, to the store and back: a fact is added only where the switch still stands as it was judged."""

from datetime import timedelta

import msgspec

from assay.identity.principal import Principal
from assay.kernel.canonical import canonical_json
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.clock import Clock
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Database
from assay.ports.registry_store import ServiceStore, SwitchFact, SwitchStore
from assay.registry.action import Tier
from assay.registry.trip import Fired, Restored, Switch, follow

_FRESH = timedelta(seconds=1)
# The counters of a service: attempts at more power than was issued (FRJ-011), and tests of its switch.
ATTEMPTS, SELF_TESTS = "self_escalation_attempts", "switch_self_tests"
_KINDS: dict[str, type[Fired] | type[Restored]] = {"fired": Fired, "restored": Restored}


class SwitchTier:
    """What the node's own switch leaves to a principal, as recorded in the database at most a second ago.

    There is one switch, of the node's own tenant, and it counts for the machines of every tenant; people keep all.
    """

    def __init__(self, database: Database, tenant_id: TenantId, service_id: str, clock: Clock) -> None:
        self._database = database
        self._named = (tenant_id, service_id)
        self._clock = clock
        self._known: tuple[Instant, bool] | None = None

    def __call__(self, principal: Principal) -> int:
        if principal.is_person():
            return Tier.FULL
        now, known = self._clock.now(), self._known
        if known is None or now - known[0] > _FRESH or now < known[0]:
            known = self._known = (now, self._is_fired())
        return Tier.READ if known[1] else Tier.FULL

    def _is_fired(self) -> bool:
        return self._database.read(lambda unit: load_switch(unit.registry, *self._named)).is_fired


def load_switch(store: SwitchStore, tenant_id: TenantId, service_id: str) -> Switch:
    """Where the switch stands, by everything that was recorded of it."""
    return follow(Switch(service_id=service_id), load_facts(store, tenant_id, service_id))


def load_facts(store: SwitchStore, tenant_id: TenantId, service_id: str) -> list[Fired | Restored]:
    return [_parsed(row) for row in store.facts(tenant_id, service_id)]


def is_new(store: SwitchStore, tenant_id: TenantId, fact: Fired | Restored) -> bool:
    """Whether the fact is still to be recorded. One that does not follow is an error."""
    known = load_facts(store, tenant_id, fact.service_id)
    if any(type(one) is type(fact) and one.episode == fact.episode for one in known):
        return False
    follow(Switch(service_id=fact.service_id), [*known, fact])
    return True


def add_fact(store: ServiceStore, tenant_id: TenantId, fact: Fired | Restored, *, at: Instant) -> bool:
    """Add the fact to the file of a service; False where it is there."""
    if not is_new(store, tenant_id, fact):
        return False
    row = SwitchFact(
        service_id=fact.service_id,
        position=len(store.facts(tenant_id, fact.service_id)) + 1,
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
