"""The node as the desk of a service: its principals are the callers, its review desk restores."""

from dataclasses import dataclass

from assay.flows.identity.authenticate import authenticate, check_credential
from assay.flows.registry.fire_switch import fire_switch
from assay.flows.registry.restore_switch import find_restored, restore_switch
from assay.flows.registry.switch_facts import load_facts
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.tools import Tools
from assay.identity.authorise import has_role
from assay.identity.caller import Via
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.service_desk import Caller
from assay.registry.trip import Fired, Restored

# A credential that was issued for something else is nobody's here: actions are judged by the principal's own grant.
FORJA_SCOPE = "forja:act"
_SEE_OTHERS = (BuiltInRole.ADMIN, BuiltInRole.AUDITOR, BuiltInRole.OPERATOR)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDesk:
    """Implements `ports.service_desk.ServiceDesk` inside the node's own process."""

    tools: Tools
    tenant_id: TenantId

    def find_caller(self, credential: str, *, at: Instant) -> Caller | None:
        _, proved = self.tools.database.read(lambda unit: check_credential(unit, credential, at=at))
        if proved is None or proved.principal.tenant_id != self.tenant_id or not proved.has_scope(FORJA_SCOPE):
            return None
        return Caller(principal=proved.principal, is_session=proved.via is Via.SESSION)

    def find_principal(self, principal_id: str, *, asked_by: Caller) -> Principal | None:
        if principal_id == asked_by.principal.id:
            return asked_by.principal
        if not has_role(asked_by.principal, _SEE_OTHERS):
            return None
        wanted = PrincipalId(principal_id)
        return self.tools.database.read(lambda unit: unit.identity.find_principal(self.tenant_id, wanted))

    def tell_fired(self, fired: Fired, *, at: Instant) -> None:
        fire_switch(self.tools, self.tenant_id, fired, at=at)

    def facts(self, service_id: str) -> tuple[Fired | Restored, ...]:
        return tuple(self.tools.database.read(lambda unit: load_facts(unit.registry, self.tenant_id, service_id)))

    def find_restored(self, fired: Fired) -> Restored | None:
        return self.tools.database.read(lambda unit: find_restored(unit, self.tenant_id, fired))

    def restore(self, fired: Fired, *, credential: str, at: Instant) -> Restored:
        proved = authenticate(self.tools, credential, at=at)
        return restore_switch(self.tools, proved, fired, follow_ups=ROOM_FOLLOW_UPS)
