"""Who sees what of a ticket: whom it concerns, and not yet what others said where each shall judge by themselves."""

from collections.abc import Collection

from msgspec.structs import replace

from assay.identity.authorise import has_role
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.review.draft import require_eligible, require_not_own, require_person
from assay.review.errors import ReviewError
from assay.review.settle import Settlement
from assay.review.ticket import Ticket

# They see that work gets done: they assign, set priorities, and take back a lease that nobody works on.
STEWARDS = (BuiltInRole.ADMIN, BuiltInRole.OPERATOR)
_READERS = (*STEWARDS, BuiltInRole.AUDITOR)


def may_read(ticket: Ticket, principal: Principal) -> bool:
    """Whoever may answer it, whose request it is, and those who look after the desk or audit it."""
    if principal.tenant_id != ticket.tenant_id:
        return False
    return _is_own(ticket, principal) or has_role(principal, (*ticket.eligible_roles, *_READERS))


def is_blind(ticket: Ticket, principal: Principal, answered_by: Collection[PrincipalId], *, settled: bool) -> bool:
    """Where several must agree, a reviewer sees the others' words only when it is settled, or after an answer in force.

    Whoever cannot answer judges nothing, and sees all that they may read.
    """
    if settled or ticket.quorum == 1 or principal.id in answered_by:
        return False
    return not _is_own(ticket, principal) and has_role(principal, ticket.eligible_roles)


def hide_others(standing: Settlement) -> Settlement:
    """Where an open ticket stands, without what others said: whoever is to judge by themselves is told no number."""
    return replace(standing, reason="waiting: others' answers are shown after yours", counted=(), ignored=0)


def require_steward(ticket: Ticket, principal: Principal, at: Instant) -> None:
    """Raise unless this person may say whose turn it is: a reviewer of the ticket or a steward, about others' requests.

    Whoever asked for something does not choose who judges it.
    """
    require_person(ticket, principal, at)
    require_not_own(ticket, principal)
    if not has_role(principal, STEWARDS):
        require_eligible(ticket, principal)


def require_commenter(ticket: Ticket, principal: Principal, at: Instant) -> None:
    """Raise unless it concerns this person: whoever may answer, asked, or looks after the desk; auditors only read."""
    require_person(ticket, principal, at)
    if not _is_own(ticket, principal) and not has_role(principal, (*ticket.eligible_roles, *STEWARDS)):
        raise ReviewError.not_eligible(f"expected somebody whom `{ticket.id}` concerns, got `{principal.id}`")


def _is_own(ticket: Ticket, principal: Principal) -> bool:
    return principal.id in (ticket.opened_by, ticket.requested_by)
