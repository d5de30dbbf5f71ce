"""What waits for one person: the part of the queue in which it is their turn, and the next of it."""

from collections.abc import Callable

from assay.flows.review.show_queue import QueuePage, show_queue
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.kernel.ids import TenantId, TicketId
from assay.kernel.instant import Instant
from assay.review.queue import QueuedTicket, QueueFilter
from assay.review.turn import waits_for

__all__ = ["find_next", "show_waiting", "turn_of"]

Wanted = Callable[[QueuedTicket], bool]


def turn_of(tools: Tools, tenant_id: TenantId, person: Principal) -> Wanted:
    """Whether a ticket waits for this person; an answer of theirs that is on hold was given."""
    held = tools.database.read(
        lambda unit: frozenset(row.ticket_id for row in unit.desk.held_of(tenant_id, [person.id]))
    )
    return lambda row: row.ticket.id not in held and waits_for(row, person)


def show_waiting(
    tools: Tools,
    tenant_id: TenantId,
    wanted: QueueFilter,
    *,
    viewer: Principal,
    only: Wanted = lambda _: True,
    after: TicketId | None = None,
    limit: int = 100,
    counted: bool = False,
    at: Instant,
) -> QueuePage:
    """As `show_queue`, without what is not theirs to answer now."""
    is_theirs = turn_of(tools, tenant_id, viewer)
    return show_queue(
        tools,
        tenant_id,
        wanted,
        viewer=viewer,
        only=lambda row: is_theirs(row) and only(row),
        after=after,
        limit=limit,
        counted=counted,
        at=at,
    )


def find_next(
    tools: Tools,
    tenant_id: TenantId,
    wanted: QueueFilter,
    *,
    viewer: Principal,
    only: Wanted = lambda _: True,
    after: TicketId | None,
    at: Instant,
) -> TicketId | None:
    """The next one after a ticket in the order of the queue, and after the last one the first; never that ticket."""

    def look(begins: TicketId | None) -> TicketId | None:
        page = show_waiting(
            tools,
            tenant_id,
            wanted,
            viewer=viewer,
            only=lambda row: row.ticket.id != after and only(row),
            after=begins,
            limit=1,
            at=at,
        )
        return page.tickets[0].ticket.id if page.tickets else None

    return look(after) or (None if after is None else look(None))
