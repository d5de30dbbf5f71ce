"""The sweep: tickets that are due are settled as their kind says; an approval that nobody gave is denied.

held answers whose time has come -> tickets whose time is up -> those still open are told to more people
"""

from msgspec import Struct

from assay.flows.claims.sampling import open_samples
from assay.flows.claims.watch_scores import watch_scores
from assay.flows.identity.authenticate import confirm
from assay.flows.known import get_ticket
from assay.flows.request import Done, Request
from assay.flows.review.check_answer import desk_key_ring
from assay.flows.review.escalate_reviews import escalate_reviews
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.review.read_tickets import read_tickets
from assay.flows.review.settle_now import settle_now
from assay.flows.review.settle_review import NO_FOLLOW_UPS, FollowUps, settle_review_in
from assay.flows.review.take_effect import Effect, take_effect
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.errors import Blame, Error
from assay.kernel.ids import TenantId, TicketId
from assay.kernel.instant import Instant
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Unit
from assay.review.escalate import Escalation
from assay.review.kind import OnExpiry
from assay.review.settle import Settlement
from assay.review.ticket import Ticket


class SettleTickets(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Stuck(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A ticket that could not be settled, and why; it stays open, so nothing proceeds on it."""

    ticket_id: TicketId
    code: str
    problem: str


class Sweep(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one sweep settled, and what it could not; which held answers count now or lapsed, and who was told.

    `opened` are tickets of oversight: blind reviews, and alarms of the watched scores. `problem` is why there are none.
    """

    settled: tuple[Settlement, ...]
    stuck: tuple[Stuck, ...]
    effects: tuple[Effect, ...] = ()
    escalated: tuple[Escalation, ...] = ()
    opened: tuple[TicketId, ...] = ()
    problem: str | None = None


def settle_tickets(tools: Tools, caller: Caller, request: SettleTickets) -> Done[Sweep]:  # noqa: ARG001 - as every flow
    """Settle every ticket that is due, as its kind says: an approval that nobody gave is denied.

    Held answers that are due take effect first, tickets that are nearly due are escalated, and those of oversight are
    opened. A running server does all of it by itself.
    """
    tools.database.read(lambda unit: confirm(unit, caller))
    return Done(value=settle_reviews(tools, caller.tenant_id, at=caller.at, follow_ups=ROOM_FOLLOW_UPS), is_new=False)


def settle_reviews(tools: Tools, tenant_id: TenantId, *, at: Instant, follow_ups: FollowUps = NO_FOLLOW_UPS) -> Sweep:
    """One commit per ticket, so that one damaged ticket does not hold up the others."""
    # First, since an answer that was given in time counts although the ticket is due.
    effects = take_effect(tools, tenant_id, follow_ups=follow_ups, at=at)
    settled: list[Settlement] = []
    due, stuck = tools.database.read(lambda unit: _find_due(unit, tenant_id, at))
    for ticket in due:
        try:
            settlement = _settle_one(tools, ticket, follow_ups, at)
        except Error as error:
            # A database that cannot write will not write the next one either; that is for the caller to hear. A
            # record that cannot be read says nothing about the others.
            if error.blame is Blame.OURS and not isinstance(error, DamagedRecordError):
                raise
            stuck.append(_stuck(ticket.id, error))
            continue
        if settlement is not None:
            settled.append(settlement)
    escalated = escalate_reviews(tools, tenant_id, at=at)
    opened, problem = _oversee(tools, tenant_id, at)
    return Sweep(
        settled=tuple(settled),
        stuck=tuple(stuck),
        effects=effects,
        escalated=escalated,
        opened=opened,
        problem=problem,
    )


def _oversee(tools: Tools, tenant_id: TenantId, at: Instant) -> tuple[tuple[TicketId, ...], str | None]:
    """Open the tickets of oversight; what hinders that hinders nothing else."""
    try:
        alarm = watch_scores(tools, tenant_id, at=at)
        opened = open_samples(tools, tenant_id, at=at)
    except Error as error:
        if error.blame is Blame.OURS and not isinstance(error, DamagedRecordError):
            raise
        return (), f"{error.code}: {error}"
    return (*opened, *(() if alarm is None else (alarm,))), None


def _find_due(unit: Unit, tenant_id: TenantId, at: Instant) -> tuple[list[Ticket], list[Stuck]]:
    """The tickets whose time is up or that enough agree about, and those of them that cannot be read.

    What is neither due nor answered is not looked at, and what is due and waits all the same is left alone.
    """
    tickets: list[Ticket] = []
    stuck: list[Stuck] = []
    due = unit.review.due_tickets(tenant_id, at)
    for ticket_id, found in read_tickets(unit, tenant_id, due):
        if isinstance(found, DamagedRecordError):
            stuck.append(_stuck(ticket_id, found))
        elif found.on_expiry is not OnExpiry.STAY_OPEN:
            tickets.append(found)
    named = {*(ticket.id for ticket in tickets), *(one.ticket_id for one in stuck)}
    answered = [one for one in unit.review.answered_tickets(tenant_id) if one not in named]
    for ticket_id, found in read_tickets(unit, tenant_id, answered):
        agreed = found if isinstance(found, DamagedRecordError) else _is_agreed(unit, found, at)
        if isinstance(agreed, DamagedRecordError):
            stuck.append(_stuck(ticket_id, agreed))
        elif agreed and isinstance(found, Ticket):
            tickets.append(found)
    return tickets, stuck


def _is_agreed(unit: Unit, ticket: Ticket, at: Instant) -> bool | DamagedRecordError:
    """Enough agree without a further answer: somebody who had could not any more, and now may again."""
    if ticket.quorum == 1:
        return False
    try:
        return not settle_now(unit, ticket, unit.review.answers(ticket.tenant_id, ticket.id), at=at).is_open
    except DamagedRecordError as error:
        return error


def _stuck(ticket_id: TicketId, error: Error) -> Stuck:
    return Stuck(ticket_id=ticket_id, code=error.code, problem=str(error))


def _settle_one(tools: Tools, ticket: Ticket, follow_ups: FollowUps, at: Instant) -> Settlement | None:
    def work(unit: Unit) -> Settlement | None:
        # Somebody's answer may have settled it since it was listed.
        if unit.review.find_settlement(ticket.tenant_id, ticket.id) is not None:
            return None
        current = get_ticket(unit, ticket.tenant_id, ticket.id)
        settlement = settle_review_in(unit, current, desk_key_ring(unit, tools.founder), follow_ups, at=at)
        return None if settlement.is_open else settlement

    return tools.database.write(work)
