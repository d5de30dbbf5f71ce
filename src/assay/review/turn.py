"""Whose turn it is: a ticket waits for whoever may answer it, has not, and is kept away by nobody."""

from assay.identity.authorise import has_role
from assay.identity.principal import Principal
from assay.review.queue import QueuedTicket


def waits_for(queued: QueuedTicket, person: Principal) -> bool:
    """Whether this person is asked, now: not what others were given or work on, nor what they have answered.

    An answer that is on hold is not in a settlement: the caller knows of those.
    """
    ticket, standing = queued.ticket, queued.settlement
    if not standing.is_open or person.id in (ticket.opened_by, ticket.requested_by):
        return False
    if not has_role(person, ticket.eligible_roles) or any(person.id in one.by for one in standing.counted):
        return False
    return _is_given_to(queued, person) and _is_free_for(queued, person)


def _is_given_to(queued: QueuedTicket, person: Principal) -> bool:
    placed = queued.placement
    if placed.person is not None:
        return placed.person == person.id
    return placed.role is None or has_role(person, (placed.role,))


def _is_free_for(queued: QueuedTicket, person: Principal) -> bool:
    """A ticket has one lease for each person who must agree."""
    return sum(lease.by != person.id for lease in queued.leases) < queued.ticket.quorum
