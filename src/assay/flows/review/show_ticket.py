"""Tickets as one person may see them: what was asked and answered, whether signatures hold, who works on it.

caller -> tickets that concern them -> answers, checked -> others' answers kept back while the caller is to judge alone
"""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from assay.flows.errors import NotFoundError
from assay.flows.identity.standing import SoloGrant, solo_grants
from assay.flows.known import get_ticket
from assay.flows.request import Page, Paged, Request, cut, map_page, read_number
from assay.flows.review.by_ticket import by_ticket
from assay.flows.review.check_answer import AnswerFinding, check_answer, desk_key_ring
from assay.flows.review.comment_review import ShownComment, load_comments
from assay.flows.review.decided_keys import decided_keys
from assay.flows.review.held_answers import find_held
from assay.flows.review.keep_draft import KeptDraft, find_draft
from assay.flows.review.kept_back import is_readable
from assay.flows.review.settle_now import Givers, settle_now
from assay.flows.review.show_queue import placement_of
from assay.flows.review.subjects import subjects_of
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import Principal
from assay.kernel.ids import TenantId, TicketId, parse_ticket_id
from assay.ports.database import Unit
from assay.review.answer import Answer
from assay.review.escalate import Stage
from assay.review.hold import HeldAnswer
from assay.review.kind import TicketKind
from assay.review.lease import Lease, live_leases
from assay.review.placement import Placement
from assay.review.settle import Settlement
from assay.review.sight import hide_others, is_blind
from assay.review.ticket import Ticket, TicketSubject

TicketName = Annotated[str, Meta(description="The id of the ticket.")]
# Where the caller may read few of the tickets, at most so many are read at once.
_MOST = 1000


class ListTickets(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    settled: Annotated[bool, Meta(description="Settled tickets too.")] = False
    kind: Annotated[TicketKind | None, Meta(description="Only tickets of this kind.")] = None
    about: Annotated[str | None, Meta(description="Only tickets about exactly this subject.")] = None


class ShowTicket(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    ticket_id: TicketName


class TicketItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A ticket and its settlement so far; `subject` names the bundle and the answer that it is about."""

    ticket: Ticket
    settlement: Settlement
    subject: TicketSubject | None = None


class ReviewView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ticket. `recorded` says that the settlement is in the ledger, and not only what would be recorded now."""

    ticket: Ticket
    answers: tuple[AnswerFinding, ...]
    settlement: Settlement
    recorded: bool


class DeskTicket(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`blind` says that others' answers and comments are kept back until this person's own answer counts.

    `held` and `draft` are this person's and nobody else's. `decided` is what the room made of the answers while the
    ticket is still open for others to contradict it. `subject` names the bundle and the answer that it is about.
    `solo` are the powers of its askers and reviewers that one person granted alone.
    """

    review: ReviewView
    blind: bool
    placement: Placement
    leases: tuple[Lease, ...]
    stages: tuple[Stage, ...]
    comments: tuple[ShownComment, ...]
    held: HeldAnswer | None = None
    draft: KeptDraft | None = None
    decided: str | None = None
    subject: TicketSubject | None = None
    solo: tuple[SoloGrant, ...] = ()


def tickets(tools: Tools, caller: Caller, request: ListTickets) -> Page[TicketItem]:
    """List the tickets that concern the caller in the order of their opening, each with its settlement so far.

    Signatures are not verified in a list.
    """
    after = read_number("tickets", request.cursor)

    def look(unit: Unit) -> Page[TicketItem]:
        found = _readable_after(unit, caller, request, after)
        page = cut("tickets", found, request.limit, lambda placed: placed[0])
        listed = [ticket for _, ticket in page.items]
        standings, subjects = _standings(unit, caller, listed), subjects_of(unit, caller.tenant_id, listed)

        def item(placed: tuple[int, Ticket]) -> TicketItem:
            ticket = placed[1]
            return TicketItem(ticket=ticket, settlement=standings[ticket.id], subject=subjects.get(ticket.id))

        return map_page(page, item)

    return tools.database.read(look)


def ticket(tools: Tools, caller: Caller, request: ShowTicket) -> ReviewView:
    """Show a ticket with every answer, its signature verified; only answers that hold are counted.

    A reviewer who has yet to answer sees no answers of others. `flow.not_found` for a caller whom it does not concern.
    """
    ticket_id = parse_ticket_id(request.ticket_id)

    def look(unit: Unit) -> ReviewView:
        found = get_readable(unit, caller.tenant_id, ticket_id, caller.viewer)
        return view_review(unit, tools, caller, found)[0]

    return tools.database.read(look)


def desk_ticket(tools: Tools, caller: Caller, request: ShowTicket) -> DeskTicket:
    """Show a ticket with assignment, claims, comments, answers, and the caller's own draft and held answer.

    Every signature is verified. Where several people must answer, a reviewer sees others' answers and comments after
    their own answer counts, or when the ticket is settled.
    """
    ticket_id = parse_ticket_id(request.ticket_id)

    def look(unit: Unit) -> DeskTicket:
        found = get_readable(unit, caller.tenant_id, ticket_id, caller.viewer)
        return _view_desk(unit, tools, caller, found)

    return tools.database.read(look)


def get_readable(unit: Unit, tenant_id: TenantId, ticket_id: TicketId, viewer: Principal | None) -> Ticket:
    """Return a ticket that the viewer may read; to others it is not there."""
    found = get_ticket(unit, tenant_id, ticket_id)
    if not is_readable(unit, found, viewer):
        who = "" if viewer is None else f" for `{viewer.id}`"
        raise NotFoundError(f"tenant `{tenant_id}` has no ticket `{ticket_id}`{who}")
    return found


def view_review(unit: Unit, tools: Tools, caller: Caller, ticket: Ticket) -> tuple[ReviewView, bool]:
    """Return the ticket as the caller may see it, and whether others' answers are kept back."""
    tenant_id, ring = ticket.tenant_id, desk_key_ring(unit, tools.founder)
    findings = tuple(check_answer(unit, ticket, one, ring) for one in unit.review.answers(tenant_id, ticket.id))
    recorded = unit.review.find_settlement(tenant_id, ticket.id)
    standing = recorded or settle_now(unit, ticket, [one.answer for one in findings if one.verified], at=caller.at)
    view = ReviewView(ticket=ticket, answers=findings, settlement=standing, recorded=recorded is not None)
    if not _is_blind(ticket, standing, [one.answer for one in findings], caller.viewer):
        return view, False
    return replace(view, answers=(), settlement=hide_others(standing)), True


def _view_desk(unit: Unit, tools: Tools, caller: Caller, ticket: Ticket) -> DeskTicket:
    tenant_id, viewer = ticket.tenant_id, caller.viewer
    review, blind = view_review(unit, tools, caller, ticket)
    acts = unit.desk.acts(tenant_id, ticket.id)
    comments = load_comments(unit, ticket, acts, desk_key_ring(unit, tools.founder))
    return DeskTicket(
        review=review,
        blind=blind,
        placement=placement_of(unit, ticket),
        leases=live_leases(unit.desk.leases(tenant_id, ticket.id), caller.at),
        stages=tuple(one.stage for one in unit.desk.escalations(tenant_id, ticket.id)),
        # One's own comments stay.
        comments=tuple(one for one in comments if not blind or viewer is None or one.by == viewer.id),
        held=None if viewer is None else find_held(unit, ticket, viewer.id),
        draft=None if viewer is None else find_draft(unit, ticket, viewer.id),
        decided=None if review.recorded else decided_keys(unit, tenant_id, [ticket]).get(ticket.id),
        subject=subjects_of(unit, tenant_id, [ticket]).get(ticket.id),
        # While the viewer is to judge alone, nothing here says who else may answer.
        solo=tuple(one for one in solo_grants(unit, ticket) if not blind or one.principal_id in _named(ticket, viewer)),
    )


def _named(ticket: Ticket, viewer: Principal | None) -> tuple[str | None, ...]:
    return (ticket.requested_by, ticket.opened_by, None if viewer is None else viewer.id)


def _readable_after(unit: Unit, caller: Caller, request: ListTickets, after: int) -> list[tuple[int, Ticket]]:
    """Read one more ticket than the page holds, with positions; where many are not for the caller, in larger parts."""
    wanted = request.limit + 1
    found: list[tuple[int, Ticket]] = []
    place, size = after, min(wanted, _MOST)
    while len(found) < wanted:
        part = unit.review.tickets_after(
            caller.tenant_id,
            place,
            unsettled_only=not request.settled,
            kind=request.kind,
            about=request.about,
            limit=size,
        )
        found += [(position, one) for position, one in part if is_readable(unit, one, caller.viewer)]
        if len(part) < size:
            break
        place, size = part[-1][0], _MOST
    return found[:wanted]


def _standings(unit: Unit, caller: Caller, tickets: Sequence[Ticket]) -> dict[TicketId, Settlement]:
    """Read the settlements of all of them at once, since a list may be long."""
    ids = [ticket.id for ticket in tickets]
    recorded = {one.ticket_id: one for one in unit.review.settlements_on(caller.tenant_id, ids)}
    answers = by_ticket(unit.review.answers_on(caller.tenant_id, ids))
    givers = Givers(unit, caller.tenant_id)
    found: dict[TicketId, Settlement] = {}
    for one in tickets:
        given = answers.get(one.id, ())
        standing = recorded.get(one.id) or settle_now(unit, one, given, at=caller.at, givers=givers)
        found[one.id] = hide_others(standing) if _is_blind(one, standing, given, caller.viewer) else standing
    return found


def _is_blind(ticket: Ticket, standing: Settlement, answers: Sequence[Answer], viewer: Principal | None) -> bool:
    given_by = [one.by for one in answers]
    return viewer is not None and is_blind(ticket, viewer, given_by, settled=not standing.is_open)
