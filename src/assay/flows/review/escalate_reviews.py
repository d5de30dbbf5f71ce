"""Tickets whose time runs out are told to those who look after the desk: an entry and an event, each stage once."""

from collections.abc import Iterable
from functools import partial

from assay.facts.review import escalation_entry
from assay.flows.known import get_ticket
from assay.flows.review.by_ticket import by_ticket
from assay.flows.review.read_tickets import read_tickets
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId, TicketId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.desk_store import StoredEscalation
from assay.review.escalate import Escalation, Stage, find_stage
from assay.review.ticket import Ticket


def escalate_reviews(tools: Tools, tenant_id: TenantId, *, at: Instant) -> tuple[Escalation, ...]:
    """One commit for each; what is decided, or was told already, is left alone."""
    if not tools.desk.escalates:
        return ()
    reached = tools.database.read(lambda unit: _find_reached(unit, tools, tenant_id, at))
    told = (tools.database.write(partial(_tell, tools, tenant_id, one, at)) for one in reached)
    return tuple(one for one in told if one is not None)


def _find_reached(unit: Unit, tools: Tools, tenant_id: TenantId, at: Instant) -> list[TicketId]:
    before = tools.desk.escalate_before
    # The sweep names those that cannot be read among the ones that are stuck, as soon as they are due.
    ids = unit.review.due_tickets(tenant_id, Instant(at + before))
    near = [one for _, one in read_tickets(unit, tenant_id, ids) if isinstance(one, Ticket)]
    told = by_ticket(unit.desk.escalations_on(tenant_id, [one.id for one in near]))
    return [one.id for one in near if find_stage(one, _stages(told.get(one.id, ())), before=before, at=at) is not None]


def _stages(told: Iterable[StoredEscalation]) -> set[Stage]:
    return {one.stage for one in told}


def _tell(tools: Tools, tenant_id: TenantId, ticket_id: TicketId, at: Instant, unit: Unit) -> Escalation | None:
    ticket = get_ticket(unit, tenant_id, ticket_id)
    told = _stages(unit.desk.escalations(tenant_id, ticket_id))
    stage = find_stage(ticket, told, before=tools.desk.escalate_before, at=at)
    if stage is None or ticket.due_at is None or unit.review.find_settlement(tenant_id, ticket_id) is not None:
        return None
    escalation = Escalation(
        ticket_id=ticket.id,
        stage=stage,
        due_at=ticket.due_at,
        roles=tools.desk.escalate_roles,
        persons=tools.desk.escalate_persons,
        escalated_at=at,
    )
    unit.record(escalation_entry(ticket, escalation))
    return escalation
