"""A person claims a ticket for a while, or gives it back: others are kept away, and it allows nobody anything."""

from datetime import timedelta

from assay.flows.review.act_review import Seat, Wish
from assay.flows.review.leases_in_force import leases_in_force
from assay.flows.review.settle_review import require_unsettled
from assay.flows.tools import Tools
from assay.identity.authorise import has_role
from assay.kernel.ids import PrincipalId
from assay.ports.database import Unit
from assay.review.act import Act, Claim, Release, parse_act_body
from assay.review.draft import require_not_own, require_reviewer
from assay.review.errors import AlreadyAnsweredError, NotLeasedError
from assay.review.lease import Lease, lease_until, live_leases, require_claimable, require_unleased
from assay.review.sight import STEWARDS
from assay.review.ticket import Ticket

__all__ = ["claim_wish", "release_wish"]


def claim_wish(tools: Tools, span: timedelta | None = None) -> Wish:
    """To work on a ticket; claiming again moves the end. Whoever could not answer it cannot claim it."""
    wanted = tools.desk.lease if span is None else span

    def body(seat: Seat) -> Claim:
        ticket, person = seat.ticket, seat.person
        require_reviewer(ticket, person, seat.at)
        require_claimable(ticket)
        require_unsettled(seat.unit, ticket)
        _require_unanswered(seat)
        require_unleased(ticket, person.id, leases_in_force(seat.unit, ticket, seat.at), seat.at)
        return Claim(until=lease_until(seat.acted_at, wanted, tools.desk.longest_lease))

    return Wish(body=body, change=_lease)


def release_wish(holder: PrincipalId | None = None) -> Wish:
    """To end one's own lease; those who look after the desk may end another's, unless it is about their own request."""

    def body(seat: Seat) -> Release:
        whose = holder or seat.person.id
        leases = live_leases(seat.unit.desk.leases(seat.ticket.tenant_id, seat.ticket.id), seat.at)
        mine = [lease for lease in leases if lease.by == whose]
        if not mine or (whose != seat.person.id and not has_role(seat.person, STEWARDS)):
            raise NotLeasedError(f"expected a lease of `{whose}` that `{seat.person.id}` may end, got none")
        if whose != seat.person.id:
            # Whoever asked for something does not choose who judges it.
            require_not_own(seat.ticket, seat.person)
        return Release(holder=whose)

    return Wish(body=body, change=_release)


def _require_unanswered(seat: Seat) -> None:
    tenant_id, ticket_id, person = seat.ticket.tenant_id, seat.ticket.id, seat.person.id
    answered = any(answer.by == person for answer in seat.unit.review.answers(tenant_id, ticket_id))
    if answered or seat.unit.desk.find_held(tenant_id, ticket_id, person) is not None:
        raise AlreadyAnsweredError(f"`{person}` has answered `{ticket_id}`")


def _lease(unit: Unit, ticket: Ticket, act: Act) -> None:
    body = parse_act_body(act)
    assert isinstance(body, Claim)  # noqa: S101 - it was made above
    lease = Lease(ticket_id=ticket.id, by=act.by, claimed_at=act.acted_at, expires_at=body.until)
    unit.desk.put_lease(ticket.tenant_id, lease)


def _release(unit: Unit, ticket: Ticket, act: Act) -> None:
    body = parse_act_body(act)
    assert isinstance(body, Release)  # noqa: S101 - it was made above
    unit.desk.drop_lease(ticket.tenant_id, ticket.id, body.holder)
