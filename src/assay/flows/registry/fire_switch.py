"""A kill switch fired: on record with its figures, and people are asked, in one commit.

fired -> entry and fact -> RESTORE ticket on the review desk
"""

from assay.flows.registry.registry_entry import switch_entry
from assay.flows.registry.switch_facts import is_new, load_switch
from assay.flows.review.open_review import draft_ticket, open_review_in
from assay.flows.tools import Tools
from assay.identity.principal import BuiltInRole
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.registry.errors import RegistryError
from assay.registry.trip import Fired, restore_ticket
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket

REGISTRY_SERVICE = PrincipalId("service:registry")
RESTORE_ROLES = (BuiltInRole.OPERATOR, BuiltInRole.OPS_TEAM)


def fire_switch(tools: Tools, tenant_id: TenantId, fired: Fired, *, at: Instant) -> Ticket:
    """The open ticket about this firing; the same firing told twice is one entry and one ticket."""
    asked = restore_ticket(fired, eligible_roles=RESTORE_ROLES, opened_by=REGISTRY_SERVICE)
    drafted = draft_ticket(tools, tenant_id, asked, at=at)

    def work(unit: Unit) -> Ticket:
        known = _find_ticket(unit, tenant_id, drafted)
        if known is not None:
            return known
        _record(unit, tenant_id, fired, at)
        open_review_in(unit, drafted)
        return drafted

    return tools.database.write(work)


def _find_ticket(unit: Unit, tenant_id: TenantId, drafted: Ticket) -> Ticket | None:
    """The open one that shows exactly this firing, and not only the same number."""
    asked = unit.review.open_tickets_about(tenant_id, TicketKind.RESTORE, drafted.about or "")
    return next((one for one in asked if one.shown_hash == drafted.shown_hash), None)


def _record(unit: Unit, tenant_id: TenantId, fired: Fired, at: Instant) -> None:
    """People may have said no before: then the firing is on record, and they are asked once more."""
    if is_new(unit.registry, tenant_id, fired):
        unit.record(switch_entry(tenant_id, fired, at=at))
    elif load_switch(unit.registry, tenant_id, fired.service_id).fired != fired:
        raise RegistryError.restore(
            f"firing {fired.episode} of `{fired.service_id}` is on record as another one, or is over"
        )
