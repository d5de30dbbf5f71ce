"""A question goes to people: a ticket on the review desk."""

from assay.facts.review import ticket_entry
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Receipt
from assay.ports.database import Unit
from assay.review.ticket import TICKET_ENTROPY_BYTES, Ticket, TicketDraft, open_ticket, ticket_id_from


def open_review(tools: Tools, tenant_id: TenantId, draft: TicketDraft, *, at: Instant) -> tuple[Ticket, Receipt]:
    """Open a ticket in a commit of its own. The caller has authenticated `opened_by`."""
    ticket = draft_ticket(tools, tenant_id, draft, at=at)
    return ticket, tools.database.write(lambda unit: open_review_in(unit, ticket))


def open_review_in(unit: Unit, ticket: Ticket) -> Receipt:
    """Open it together with what it is about, for a flow that must not do one without the other."""
    unit.review.add_ticket(ticket)
    return unit.record(ticket_entry(ticket))


def draft_ticket(tools: Tools, tenant_id: TenantId, draft: TicketDraft, *, at: Instant) -> Ticket:
    """The ticket with an id nobody can guess; refused with every problem at once."""
    return open_ticket(draft, id=ticket_id_from(tools.entropy.token(TICKET_ENTROPY_BYTES)), tenant_id=tenant_id, at=at)
