"""Some tickets, read with a few questions; one that is damaged hides no other."""

from collections.abc import Iterator, Sequence

from assay.flows.known import get_ticket
from assay.kernel.ids import TenantId, TicketId
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.review.ticket import Ticket


def read_tickets(
    unit: Unit, tenant_id: TenantId, ids: Sequence[TicketId]
) -> Iterator[tuple[TicketId, Ticket | DamagedRecordError]]:
    """In the order given, each with what it is or why it cannot be read."""
    try:
        found = {one.id: one for one in unit.review.find_tickets(tenant_id, ids)}
    except DamagedRecordError:
        found = {}
    for ticket_id in ids:
        if ticket_id in found:
            yield ticket_id, found[ticket_id]
            continue
        try:
            yield ticket_id, get_ticket(unit, tenant_id, ticket_id)
        except DamagedRecordError as error:
            yield ticket_id, error
