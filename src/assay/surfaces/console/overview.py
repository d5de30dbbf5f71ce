"""The first page: required actions, one stream of decisions, and figures over time; and the banner of every page."""

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, NamedTuple

from litestar import Request, get
from litestar.response import Response

from assay.flows.delivery.answers import AnswerLine, ListAnswers
from assay.flows.delivery.root_causes import ListRootCauses
from assay.flows.ledger.activity import Activity, CountActivity, ListActivity
from assay.flows.request import MOST_ITEMS, Page
from assay.flows.review.show_queue import page_queue, turn_of
from assay.flows.review.ticket_titles import ticket_title
from assay.flows.show_overview import Overview, show_overview
from assay.flows.verdicts.coverage import ListCoverage
from assay.identity.problem import Problem
from assay.review.kind import TicketKind
from assay.review.queue import QueuedTicket, QueueFilter
from assay.surfaces.console.page import render_page
from assay.surfaces.console.session import SIGNED_IN, GivenVisit, Visit
from assay.surfaces.http.health import Readiness

_STREAM = 30
_DAYS = 14
_AGES = (("under 1 day", 1), ("1 to 3 days", 3), ("3 to 7 days", 7), ("over 7 days", 10**6))
Days = list[tuple[str, dict[str, int]]]


class Action(NamedTuple):
    """Something that a person must do, with its severity: the smaller, the more urgent."""

    severity: int
    label: str
    text: str
    path: str


@get("/", opt=SIGNED_IN)
async def show_front(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """Everything that happens, for roles that may see it; else the tickets of this person."""
    if not visit.sees_all:
        return await _show_own(visit)
    readiness: Readiness = request.app.state.readiness
    problems = await readiness.problems(visit.desk)
    values = await visit.desk.run(lambda: _gather(visit, problems))
    return render_page("overview.html", visit, problems=problems, **values)


@get("/banner", opt=SIGNED_IN)
async def show_banner(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """What is wrong with the node, for the head of every page; empty where nothing is."""
    readiness: Readiness = request.app.state.readiness
    problems = await readiness.problems(visit.desk)
    return render_page("banner.html", visit, words=[_trouble(one) for one in problems])


def _trouble(problem: Problem) -> str:
    words = {
        "database": "The database does not answer",
        "writer": "Read-only: nothing can be recorded",
        "resume": "Behind: the ledger does not continue the newest checkpoint",
        "witnesses": "A witness saw another history; nothing is recorded until this is resolved",
        "damage": "Damaged: a stored record was changed",
    }
    return f"{words.get(problem.field, problem.field)} ({problem.message})"


def _gather(visit: Visit, problems: Iterable[Problem]) -> dict[str, Any]:
    view = show_overview(visit.desk.tools, visit.caller)
    stream: Page[Activity] = visit.perform("activity.list", ListActivity(limit=_STREAM))
    counted = visit.perform("activity.days", CountActivity(days=_DAYS)).days
    answers: Page[AnswerLine] = visit.perform("answers.list", ListAnswers(limit=MOST_ITEMS))
    gaps = visit.perform("coverage.list", ListCoverage(open=True, limit=MOST_ITEMS)).items
    causes = visit.perform("rootcauses.list", ListRootCauses(open=True, limit=MOST_ITEMS)).items
    return {
        "view": view,
        "actions": sorted([*_actions(view, problems), *_cause_actions(causes)]),
        "stream": stream.items,
        "days": [(one.day, one.counts) for one in counted],
        "levels": _levels(visit, answers.items),
        "ages": _ages(visit, view.waiting),
        "gaps": gaps,
        "agreement": view.agreement,
        "uncheckable": view.agreement.counts.get("UNVERIFIABLE", 0),
    }


def _actions(view: Overview, problems: Iterable[Problem]) -> Iterable[Action]:
    for problem in problems:
        yield Action(0, "Node", _trouble(problem), "/ledger")
    for row in view.waiting:
        path, title = f"/review/{row.ticket.id}", ticket_title(row.ticket)
        if row.ticket.kind is TicketKind.RESTORE:
            yield Action(1, "Kill switch fired", title, path)
        elif row.ticket.kind is TicketKind.EFFECT:
            yield Action(3, "Unknown effect", title, path)
    if view.overdue:
        words = f"{view.overdue} {'ticket is' if view.overdue == 1 else 'tickets are'} overdue"
        yield Action(2, "Overdue", words, "/review?state=overdue")
    agreement = view.agreement
    if not (agreement.is_healthy or agreement.status == "no_data"):
        yield Action(2, "Agreement", f"Model and verifier agree too rarely: {agreement.status}", "/decisions")


def _cause_actions(causes: Iterable[Any]) -> Iterable[Action]:
    for one in causes:
        rule = one.item.rule.rule_id
        path = "/learning" if one.ticket is None else f"/review/{one.ticket.id}"
        yield Action(4, "Root cause open", f"Rule {rule} keeps failing ({one.item.signals} reports)", path)


def _levels(visit: Visit, rows: Iterable[AnswerLine]) -> tuple[Days, list[str]]:
    counted: dict[str, Counter[str]] = {day: Counter() for day in _days(visit)}
    names: set[str] = set()
    for row in rows:
        names.add(row.level)
        if (day := row.answered_at.date().isoformat()) in counted:
            counted[day][row.level] += 1
    return [(day, dict(counts)) for day, counts in counted.items()], sorted(names)


def _days(visit: Visit) -> list[str]:
    today = visit.at.date()
    return [(today - timedelta(days=back)).isoformat() for back in reversed(range(_DAYS))]


def _ages(visit: Visit, waiting: Iterable[QueuedTicket]) -> list[tuple[str, int]]:
    counts: Counter[str] = Counter()
    for row in waiting:
        days = (visit.at - row.ticket.opened_at) / timedelta(days=1)
        counts[next(name for name, most in _AGES if days < most)] += 1
    return [(name, counts[name]) for name, _ in _AGES]


async def _show_own(visit: Visit) -> Response[bytes]:
    tools, caller = visit.desk.tools, visit.permitted("desk.queue")
    page = await visit.desk.run(
        lambda: page_queue(tools, caller, QueueFilter(), only=turn_of(tools, caller), counted=True)
    )
    return render_page("front_own.html", visit, waiting=page.tickets, total=page.total)
