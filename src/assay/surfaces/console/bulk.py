"""One answer to many tickets: a dry run first, then exactly the tickets and the texts that it showed.

kind and choice -> dry run, every ticket with its text -> those that stay ticked, each with the hash of it -> answers
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from litestar import Request, get, post
from litestar.response import Response
from msgspec import Struct

from assay.flows.review.answer_bulk import MOST_AT_ONCE, AnswerTickets, BulkReport, Pick, PlanAnswers
from assay.kernel.errors import Error
from assay.operations.problem import problem_of
from assay.review.kind import KIND_RULES, TicketKind
from assay.review.queue import QueueFilter
from assay.surfaces.console.errors import ConsoleError
from assay.surfaces.console.page import render_page
from assay.surfaces.console.session import Form, GivenVisit, Visit, needs, read_form
from assay.surfaces.http.query import parse_query

# A field for each ticket that stays ticked; its value is the hash of what was shown.
_PICK = "pick."


class BulkQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to begin with."""

    kind: str = ""


class BulkChoice(NamedTuple):
    """A choice of a kind that may be answered many at a time."""

    kind: TicketKind
    choice: str
    needs_reason: bool

    @property
    def value(self) -> str:
        return f"{self.kind} {self.choice}"


_CHOICES = tuple(
    BulkChoice(kind, choice, choice in rule.rejecting)
    for kind, rule in KIND_RULES.items()
    if rule.bulk
    for choice in rule.choices
)


@get("/desk/bulk", opt=needs("desk.bulk.plan"))
async def show_bulk(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """Which answer, and to which tickets; nothing is looked up yet."""
    wanted = parse_query(BulkQuery, request)
    first = next((one.value for one in _CHOICES if one.kind == wanted.kind), "")
    return _page(visit, Form({"answer": first}))


@post("/desk/bulk/plan", opt=needs("desk.bulk.plan"), status_code=200)
async def plan_many(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """The dry run: every ticket with what it shows, and what the answer would do; nothing is recorded."""
    form = await read_form(request, visit)
    return await _told(visit, form, lambda: _plan(visit, form))


@post("/desk/bulk", opt=needs("desk.bulk.answer"), status_code=200)
async def answer_many(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """The tickets of the dry run that stayed ticked, each by itself and bound to the text that was shown."""
    form = await read_form(request, visit)
    return await _told(visit, form, lambda: _answer(visit, form))


async def _told(visit: Visit, form: Form, work: Callable[[], BulkReport]) -> Response[bytes]:
    try:
        report = await visit.desk.act(work)
    except Error as error:
        return _page(visit, form, refused=error)
    return _page(visit, form, report=report)


def _plan(visit: Visit, form: Form) -> BulkReport:
    chosen, about = _chosen(form), form.find("about")
    wanted = QueueFilter(kind=chosen.kind, about=about or None)
    asked = PlanAnswers(choice=chosen.choice, filter=wanted, reason=form.find("reason"))
    report: BulkReport = visit.perform("desk.bulk.plan", asked)
    return report


def _answer(visit: Visit, form: Form) -> BulkReport:
    chosen = _chosen(form)
    picks = tuple(
        Pick(ticket_id=name.removeprefix(_PICK), seen=seen)
        for name, seen in form.fields.items()
        if name.startswith(_PICK)
    )
    if not picks:
        raise ConsoleError.form_field("expected at least one ticket that stays ticked, got none")
    asked = AnswerTickets(choice=chosen.choice, picks=picks, reason=form.find("reason"))
    report: BulkReport = visit.perform("desk.bulk.answer", asked)
    return report


def _chosen(form: Form) -> BulkChoice:
    asked = form.get("answer")
    found = next((one for one in _CHOICES if one.value == asked), None)
    if found is None:
        raise ConsoleError.form_field(f"expected an answer that is given to many tickets at a time, got `{asked[:80]}`")
    return found


def _page(
    visit: Visit, form: Form, *, report: BulkReport | None = None, refused: Error | None = None
) -> Response[bytes]:
    problem = None if refused is None else problem_of(refused)
    return render_page(
        "bulk.html",
        visit,
        status=200 if problem is None else problem.status,
        choices=_CHOICES,
        written=form,
        report=report,
        problem=problem,
        most=MOST_AT_ONCE,
        pick=_PICK,
    )
