"""What was read about many tickets at once, sorted by ticket."""

from collections.abc import Iterable
from typing import TypeVar

from assay.kernel.ids import TicketId
from assay.ports.desk_store import StoredAct, StoredEscalation
from assay.review.answer import Answer
from assay.review.lease import Lease

_OfTicket = TypeVar("_OfTicket", Answer, StoredAct, Lease, StoredEscalation)


def by_ticket(rows: Iterable[_OfTicket]) -> dict[TicketId, list[_OfTicket]]:
    """Those of one ticket in the order in which they came; a ticket without any is not there."""
    found: dict[TicketId, list[_OfTicket]] = {}
    for row in rows:
        found.setdefault(row.ticket_id, []).append(row)
    return found
