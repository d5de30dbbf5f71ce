"""The review desk: what waits, exactly what is asked, and a person's answer to it."""

from typing import Any

from litestar import Request, get, post
from litestar.params import FromPath
from litestar.response import Response
from msgspec import Struct

from assay.flows.answer_desk import answer_desk
from assay.flows.answer_review import Answered
from assay.flows.attest_verdict import attest_verdict
from assay.flows.errors import NotFoundError
from assay.flows.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.inspect_review import ReviewView, inspect_review, list_reviews
from assay.flows.ticket_entries import TicketEntry, find_ticket_entries
from assay.kernel.digest import parse_digest
from assay.kernel.errors import Error
from assay.kernel.ids import TicketId, parse_ticket_id
from assay.review.draft import Reply
from assay.review.kind import TicketKind
from assay.review.settle import Settlement
from assay.review.ticket import Ticket
from assay.surfaces.console.desk_rows import OVERRIDES, answer_body, may_open, why_not
from assay.surfaces.console.page import render_page, see_other
from assay.surfaces.console.session import SIGNED_IN, Form, GivenVisit, Visit, read_form
from assay.surfaces.http.problem import problem_of
from assay.surfaces.http.query import parse_query

__all__ = ["DeskQuery", "answer_ticket", "list_tickets", "show_ticket"]

_STATES = ("open", "overdue", "mine", "all")


class DeskQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`state`: open, overdue, mine (open, and this person may answer) or all; `text` is looked for in titles."""

    state: str = "open"
    kind: str = ""
    text: str = ""


class TicketQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`entry` is the one that an answer was just recorded in."""

    entry: str = ""


@get("/review", opt=SIGNED_IN)
async def list_tickets(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """The queue: the most urgent first."""
    wanted, desk = parse_query(DeskQuery, request), visit.desk
    found = await desk.run(
        lambda: list_reviews(
            desk.tools, visit.tenant_id, settled_too=wanted.state == "all", viewer=visit.person, at=visit.at
        )
    )
    rows = sorted((row for row in found if _is_wanted(visit, wanted, *row)), key=_urgency)
    return render_page("review.html", visit, rows=rows, wanted=wanted, states=_STATES, kinds=list(TicketKind))


@get("/review/{ticket_id:str}", opt=SIGNED_IN)
async def show_ticket(request: Request[Any, Any, Any], visit: GivenVisit, ticket_id: FromPath[str]) -> Response[bytes]:
    """What is bound by its hash, who may answer and how, and all that happened so far."""
    wanted = parse_query(TicketQuery, request)
    return await _ticket_page(visit, parse_ticket_id(ticket_id), entry=wanted.entry)


@post("/review/{ticket_id:str}", opt=SIGNED_IN, status_code=303)
async def answer_ticket(request: Request[Any, Any, Any], visit: GivenVisit, ticket_id: FromPath[str]) -> Response[Any]:
    """Record an answer; whatever is refused is shown beside what was written, and nothing was recorded."""
    form, asked = await read_form(request, visit.token), parse_ticket_id(ticket_id)
    ticket = (await _inspect(visit, asked)).ticket
    try:
        done = await visit.desk.act(lambda: _answer(visit, ticket, form))
    except Error as error:
        return await _ticket_page(visit, asked, refused=error, written=form)
    return see_other(f"/review/{asked}?entry={done.receipt.sequence_number}")


def _answer(visit: Visit, ticket: Ticket, form: Form) -> Answered:
    tools, at = visit.desk.tools, visit.desk.tools.clock.now()
    choice, seen = form.get("choice"), parse_digest(form.get("seen"))
    if ticket.kind is TicketKind.ATTESTATION:
        return attest_verdict(
            tools,
            ticket.id,
            choice,
            credential=visit.token,
            follow_ups=ROOM_FOLLOW_UPS,
            reason=form.find("reason"),
            seen=seen,
            at=at,
        )
    reply = Reply(choice=choice, seen=seen, reason=form.find("reason"), body=answer_body(ticket, form, choice))
    return answer_desk(tools, ticket.id, reply, credential=visit.token, at=at).answered


async def _inspect(visit: Visit, ticket_id: TicketId) -> ReviewView:
    desk = visit.desk
    view = await desk.run(
        lambda: inspect_review(desk.tools, visit.tenant_id, ticket_id, viewer=visit.person, at=visit.at)
    )
    if not may_open(visit, view.ticket):
        raise NotFoundError(f"`{visit.tenant_id}` has no ticket `{ticket_id}` for `{visit.person.id}`")
    return view


async def _ticket_page(
    visit: Visit, ticket_id: TicketId, *, entry: str = "", refused: Error | None = None, written: Form | None = None
) -> Response[bytes]:
    view = await _inspect(visit, ticket_id)
    entries = await visit.desk.run(lambda: _entries(visit, view))
    problem = None if refused is None else problem_of(refused)
    return render_page(
        "ticket.html",
        visit,
        status=200 if problem is None else problem.status,
        view=view,
        entries=entries,
        entry=entry,
        problem=problem,
        written=written or Form({}),
        why_not=why_not(visit, view.ticket),
        has_answered=any(one.answer.by == visit.person.id for one in view.answers),
        overrides=OVERRIDES,
    )


def _entries(visit: Visit, view: ReviewView) -> tuple[TicketEntry, ...]:
    settled = () if view.settlement.settled_at is None else (view.settlement.settled_at,)
    moments = (view.ticket.opened_at, *(one.answer.answered_at for one in view.answers), *settled)
    return find_ticket_entries(visit.desk.tools, visit.tenant_id, view.ticket.id, moments)


def _is_wanted(visit: Visit, wanted: DeskQuery, ticket: Ticket, standing: Settlement) -> bool:
    is_kept = {
        "open": standing.is_open,
        "overdue": standing.is_open and standing.overdue,
        "mine": standing.is_open and why_not(visit, ticket) is None,
        "all": True,
    }
    is_named = wanted.text.lower() in f"{ticket.title} {ticket.about or ''}".lower()
    return (
        may_open(visit, ticket)
        and is_kept.get(wanted.state, standing.is_open)
        and wanted.kind in ("", ticket.kind)
        and is_named
    )


def _urgency(row: tuple[Ticket, Settlement]) -> tuple[bool, bool, object]:
    """Open before settled, those with a due time before those without, the soonest first."""
    ticket, standing = row
    return (not standing.is_open, ticket.due_at is None, ticket.due_at or ticket.opened_at)
