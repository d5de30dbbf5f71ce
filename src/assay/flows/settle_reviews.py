"""The sweep: tickets whose time is up are settled as their kind says; an approval nobody gave is a denial."""

from msgspec import Struct

from assay.flows.check_answer import desk_key_ring
from assay.flows.known import get_ticket
from assay.flows.settle_review import NO_FOLLOW_UPS, FollowUps, settle_review_in
from assay.flows.tools import Tools
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import TenantId, TicketId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.review.settle import Settlement
from assay.review.ticket import Ticket

__all__ = ["Stuck", "Sweep", "settle_reviews"]


class Stuck(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A ticket that could not be settled, and why; it stays open, so nothing proceeds on it."""

    ticket_id: TicketId
    code: str
    problem: str


class Sweep(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one sweep settled, and what it could not."""

    settled: tuple[Settlement, ...]
    stuck: tuple[Stuck, ...]


def settle_reviews(tools: Tools, tenant_id: TenantId, *, at: Instant, follow_ups: FollowUps = NO_FOLLOW_UPS) -> Sweep:
    """One commit per ticket, so that one damaged ticket does not hold up the others."""
    settled: list[Settlement] = []
    stuck: list[Stuck] = []
    for ticket in tools.database.read(lambda unit: unit.review.tickets(tenant_id, unsettled_only=True)):
        if ticket.due_at is None or at < ticket.due_at:
            continue
        try:
            settlement = _settle_one(tools, ticket, follow_ups, at)
        except Error as error:
            # A database that cannot write will not write the next one either; that is for the caller to hear.
            if error.blame is Blame.OURS:
                raise
            stuck.append(Stuck(ticket_id=ticket.id, code=error.code, problem=str(error)))
            continue
        if settlement is not None:
            settled.append(settlement)
    return Sweep(settled=tuple(settled), stuck=tuple(stuck))


def _settle_one(tools: Tools, ticket: Ticket, follow_ups: FollowUps, at: Instant) -> Settlement | None:
    def work(unit: Unit) -> Settlement | None:
        # Somebody's answer may have settled it since it was listed.
        if unit.review.find_settlement(ticket.tenant_id, ticket.id) is not None:
            return None
        current = get_ticket(unit, ticket.tenant_id, ticket.id)
        settlement = settle_review_in(unit, current, desk_key_ring(unit), follow_ups, at=at)
        return None if settlement.is_open else settlement

    return tools.database.write(work)
