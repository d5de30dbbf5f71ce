"""The leases that keep others away: whoever lost the role, or was disabled, works on nothing any more."""

from assay.flows.review.settle_now import Givers
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.review.lease import Lease, live_leases
from assay.review.ticket import Ticket

__all__ = ["leases_in_force"]


def leases_in_force(unit: Unit, ticket: Ticket, at: Instant) -> tuple[Lease, ...]:
    holders = Givers(unit, ticket.tenant_id)
    leases = live_leases(unit.desk.leases(ticket.tenant_id, ticket.id), at)
    return tuple(one for one in leases if holders.may_answer(ticket, one.by, at))
