"""The review desk: open tickets, one ticket with its evidence, and how people answer it."""

from typing import Any, NamedTuple

from litestar import Request, get, post
from litestar.params import FromPath
from litestar.response import Response
from msgspec import Struct
from msgspec.structs import asdict

from assay.flows.review.act_review import (
    ActOnTicket,
    AssignTicket,
    ClaimTicket,
    CommentTicket,
    PrioritiseTicket,
    ReleaseTicket,
    UndoAnswer,
)
from assay.flows.review.answer_desk import AnswerTicket
from assay.flows.review.keep_view import KeptView, ListViews
from assay.flows.review.show_queue import NextTicket, QueueChoice, QueuePage, filter_of, matcher, page_queue
from assay.flows.review.show_ticket import DeskTicket, ShowTicket
from assay.flows.review.show_timeline import TimelineEntry
from assay.flows.verdicts.attest_verdict import AttestVerdict
from assay.identity.authorise import has_role
from assay.kernel.digest import parse_digest
from assay.kernel.errors import Error
from assay.kernel.ids import TicketId, parse_ticket_id
from assay.kernel.ledger import Receipt
from assay.operations.problem import problem_of
from assay.review.act import Priority
from assay.review.kind import TicketKind
from assay.review.queue import QueueFilter, QueueState
from assay.review.sight import STEWARDS, require_steward
from assay.review.ticket import Ticket
from assay.surfaces.console.bodies import Body, body_of
from assay.surfaces.console.consequences import CONSEQUENCES, silence_words, who_decides
from assay.surfaces.console.desk_rows import OVERRIDES, about_path, answer_body, listed_sub_categories, why_not
from assay.surfaces.console.drafts import drafted_form
from assay.surfaces.console.errors import ConsoleError
from assay.surfaces.console.page import render_page, see_other
from assay.surfaces.console.session import PREFIX, Form, GivenVisit, Visit, needs, read_form
from assay.surfaces.console.views import queue_filter
from assay.surfaces.http.query import parse_query

_PAGE = 50
# Where the keyboard goes on after an answer; no form leads elsewhere.
_NEXT = f"{PREFIX}/desk/next?"
_WITH_SETTLED = (QueueState.SETTLED, QueueState.ANY)


class DeskQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`mine` is what waits for this person; `text` is looked for in titles and subjects.

    `view` is a saved one, in place of how tickets stand, their kind and what they are about. A page begins `after` a
    ticket, by its place in the order: what is asked or answered meanwhile moves nothing else.
    """

    state: QueueState = QueueState.OPEN
    kind: str = ""
    about: str = ""
    view: str = ""
    text: str = ""
    mine: str = ""
    after: str = ""


class TicketQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`entry` is the one that this person's act was just recorded in."""

    entry: str = ""


@get("/review", opt=needs("desk.queue"))
async def list_tickets(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """What concerns this person, a page at a time; what should be looked at first is on top."""
    wanted, desk = parse_query(DeskQuery, request), visit.desk
    after = parse_ticket_id(wanted.after) if wanted.after else None

    def look() -> tuple[tuple[KeptView, ...], QueueFilter, QueuePage]:
        views = visit.perform("views.list", ListViews()).items
        tools, caller, choice = desk.tools, visit.permitted("desk.queue"), _choice(wanted)
        chosen = filter_of(tools, caller, choice)
        page = page_queue(
            tools,
            caller,
            chosen,
            only=matcher(tools, caller, choice, mine=bool(wanted.mine)),
            after=after,
            limit=_PAGE,
            # What was ever settled only grows, and nobody works through it.
            counted=chosen.state not in _WITH_SETTLED,
        )
        return views, chosen, page

    views, chosen, page = await desk.run(look)
    return render_page(
        "review.html",
        visit,
        rows=page.tickets,
        total=page.total,
        following=page.next_after,
        wanted=wanted,
        chosen=chosen,
        views=views,
        own=next((one for one in views if one.name == wanted.view and one.by == visit.person.id), None),
        states=list(QueueState),
        kinds=list(TicketKind),
    )


@get("/desk/next", opt=needs("desk.next"), status_code=303)
async def go_to_next(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[Any]:
    """The ticket that waits for this person `after` another, among those of a filter; where there is none, the desk."""
    wanted = parse_query(DeskQuery, request)
    asked = NextTicket(**asdict(_choice(wanted)), after=wanted.after or None)
    found = (await visit.desk.run(lambda: visit.perform("desk.next", asked))).ticket_id
    return see_other("/review?mine=yes" if found is None else f"/review/{found}")


@get("/review/{ticket_id:str}", opt=needs("desk.ticket"))
async def show_desk_ticket(
    request: Request[Any, Any, Any], visit: GivenVisit, ticket_id: FromPath[str]
) -> Response[bytes]:
    """The question with its evidence, how to answer, and everything that happened to it."""
    wanted = parse_query(TicketQuery, request)
    return await _ticket_page(visit, parse_ticket_id(ticket_id), entry=wanted.entry)


@post("/review/{ticket_id:str}", opt=needs("ticket.answer"), status_code=303)
async def answer_ticket(request: Request[Any, Any, Any], visit: GivenVisit, ticket_id: FromPath[str]) -> Response[Any]:
    """Record an answer; whatever is refused is shown beside what was written, and nothing was recorded."""
    form, asked = await read_form(request, visit), parse_ticket_id(ticket_id)
    ticket = (await _look(visit, asked)).desk.review.ticket
    try:
        receipt = await visit.desk.act(lambda: _answer(visit, ticket, form))
    except Error as error:
        return await _ticket_page(visit, asked, refused=error, written=form)
    then = form.find("then")
    if then.startswith(_NEXT):
        return see_other(then.removeprefix(PREFIX))
    return see_other(f"/review/{asked}?entry={receipt.sequence_number}")


@post("/review/{ticket_id:str}/acts", opt=needs("ticket.comment"), status_code=303)
async def act_on_ticket(request: Request[Any, Any, Any], visit: GivenVisit, ticket_id: FromPath[str]) -> Response[Any]:
    """Claim it for a while, give it back, comment, or undo one's own answer while that does not count."""
    form, asked = await read_form(request, visit), parse_ticket_id(ticket_id)
    await _look(visit, asked)
    try:
        receipt = await visit.desk.act(lambda: _act(visit, asked, form))
    except Error as error:
        return await _ticket_page(visit, asked, refused=error, written=form)
    return see_other(f"/review/{asked}?entry={receipt.sequence_number}")


def _answer(visit: Visit, ticket: Ticket, form: Form) -> Receipt:
    choice, seen = form.get("choice"), parse_digest(form.get("seen"))
    if ticket.kind is TicketKind.ATTESTATION:
        attested = AttestVerdict(ticket_id=ticket.id, choice=choice, seen=seen, reason=form.find("reason"))  # type: ignore[arg-type]  # the desk refuses another choice
        receipt: Receipt = visit.perform("verdict.attest", attested).answered.receipt
        return receipt
    answer = AnswerTicket(
        ticket_id=ticket.id,
        choice=choice,
        seen=seen,
        reason=form.find("reason"),
        body=answer_body(ticket, form, choice),
    )
    answered: Receipt = visit.perform("ticket.answer", answer).answered.receipt
    return answered


def _act(visit: Visit, ticket_id: TicketId, form: Form) -> Receipt:
    operation, request = _asked(ticket_id, form)
    receipt: Receipt = visit.perform(operation, request).receipt
    return receipt


def _asked(ticket_id: TicketId, form: Form) -> tuple[str, ActOnTicket]:
    """The operation that a form asks for, and its request."""
    name, seen = form.get("act"), form.get("seen")
    if name == "claim":
        return "ticket.claim", ClaimTicket(ticket_id=ticket_id, seen=seen)
    if name == "release":
        holder = form.find("holder")
        return "ticket.release", ReleaseTicket(ticket_id=ticket_id, seen=seen, holder=holder or None)
    if name == "comment":
        return "ticket.comment", CommentTicket(ticket_id=ticket_id, seen=seen, text=form.find("text"))
    if name == "undo":
        return "ticket.undo", UndoAnswer(ticket_id=ticket_id, seen=seen, reason=form.find("reason"))
    return _placing(name, ticket_id, seen, form)


def _placing(name: str, ticket_id: TicketId, seen: str, form: Form) -> tuple[str, ActOnTicket]:
    """Assignment and priority, for the stewards of the desk."""
    if name == "assign":
        person, role = form.find("person"), form.find("role")
        return "ticket.assign", AssignTicket(ticket_id=ticket_id, seen=seen, person=person or None, role=role or None)
    if name == "prioritise" and form.find("priority") in set(Priority):
        priority = Priority(form.find("priority"))
        return "ticket.prioritise", PrioritiseTicket(ticket_id=ticket_id, seen=seen, priority=priority)
    raise ConsoleError.form_field(f"expected claim, release, comment, undo, assign or prioritise, got `{name[:80]}`")


class _Seen(NamedTuple):
    """A ticket as one person may see it, what happened to it, and the page of what it is about."""

    desk: DeskTicket
    steps: tuple[TimelineEntry, ...]
    about_path: str | None
    body: Body


async def _look(visit: Visit, ticket_id: TicketId) -> _Seen:
    """As this person may see it: to whom it does not concern it is not there, and others' words may have to wait."""

    def look() -> _Seen:
        asked = ShowTicket(ticket_id=ticket_id)
        seen: DeskTicket = visit.perform("desk.ticket", asked)
        steps = visit.perform("ticket.timeline", asked).items
        return _Seen(seen, steps, about_path(visit, seen.review.ticket), body_of(visit, seen.review.ticket))

    return await visit.desk.run(look)


async def _ticket_page(
    visit: Visit, ticket_id: TicketId, *, entry: str = "", refused: Error | None = None, written: Form | None = None
) -> Response[bytes]:
    seen, steps, about, body = await _look(visit, ticket_id)
    problem, ticket, me = None if refused is None else problem_of(refused), seen.review.ticket, visit.person.id
    return render_page(
        "ticket.html",
        visit,
        status=200 if problem is None else problem.status,
        seen=seen,
        view=seen.review,
        steps=steps,
        entry=entry,
        problem=problem,
        written=written or drafted_form(seen.draft),
        why_not=why_not(visit, ticket),
        about_path=about,
        body=body,
        consequences=CONSEQUENCES[ticket.kind],
        who_decides=who_decides(ticket),
        silence=silence_words(ticket),
        has_answered=any(one.answer.by == me for one in seen.review.answers),
        is_mine=any(lease.by == me for lease in seen.leases),
        overrides=OVERRIDES,
        sub_categories=listed_sub_categories(ticket),
        priorities=list(Priority),
        may_place=_may_place(visit, ticket),
        may_end_leases=has_role(visit.person, STEWARDS),
    )


def _may_place(visit: Visit, ticket: Ticket) -> bool:
    """Told before they try; the flow decides all the same."""
    try:
        require_steward(ticket, visit.person, visit.at)
    except Error:
        return False
    return True


def _choice(wanted: DeskQuery) -> QueueChoice:
    chosen = queue_filter(state=wanted.state, kind=wanted.kind, about=wanted.about)
    return QueueChoice(
        state=chosen.state,
        kind=chosen.kind,
        about=chosen.about,
        view=wanted.view or None,
        text=wanted.text or None,
    )
