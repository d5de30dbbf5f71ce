"""Tickets whose time runs out are told to those who look after the desk: an entry and an event, each stage once."""

from functools import partial

import msgspec

from assay.flows.known import get_ticket
from assay.flows.review.desk_entry import escalation_entry
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId, TicketId
from assay.kernel.instant import Instant
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.ports.desk_store import StoredEscalation
from assay.review.escalate import Escalation, Stage, find_stage
from assay.review.ticket import Ticket

__all__ = ["escalate_reviews"]


def escalate_reviews(tools: Tools, tenant_id: TenantId, *, at: Instant) -> tuple[Escalation, ...]:
    """One commit for each; what is decided, or was told already, is left alone."""
    if not tools.desk.escalates:
        return ()
    reached = tools.database.read(lambda unit: _find_reached(unit, tools, tenant_id, at))
    told = (tools.database.write(partial(_tell, tools, tenant_id, one, at)) for one in reached)
    return tuple(one for one in told if one is not None)


def _find_reached(unit: Unit, tools: Tools, tenant_id: TenantId, at: Instant) -> list[TicketId]:
    reached: list[TicketId] = []
    for ticket_id in unit.review.ticket_ids(tenant_id, unsettled_only=True):
        try:
            ticket = get_ticket(unit, tenant_id, ticket_id)
        except DamagedRecordError:
            # The sweep names it among those that are stuck.
            continue
        if _stage_of(unit, tools, ticket, at) is not None:
            reached.append(ticket_id)
    return reached


def _stage_of(unit: Unit, tools: Tools, ticket: Ticket, at: Instant) -> Stage | None:
    told = {one.stage for one in unit.desk.escalations(ticket.tenant_id, ticket.id)}
    return find_stage(ticket, told, before=tools.desk.escalate_before, at=at)


def _tell(tools: Tools, tenant_id: TenantId, ticket_id: TicketId, at: Instant, unit: Unit) -> Escalation | None:
    ticket = get_ticket(unit, tenant_id, ticket_id)
    stage = _stage_of(unit, tools, ticket, at)
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
    receipt = unit.ledger.append(escalation_entry(ticket, escalation))
    row = StoredEscalation(
        ticket_id=ticket.id,
        stage=stage,
        text=msgspec.json.encode(escalation).decode(),
        sequence_number=receipt.sequence_number,
    )
    unit.desk.add_escalation(tenant_id, row)
    return escalation
