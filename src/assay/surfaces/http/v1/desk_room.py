"""`/api/v1/desk`: the queue, saved views, many answers at once, and how reviewers get on."""

from typing import Any

from litestar import Request, delete, get, post, put
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response

from assay.flows.answer_once import Reply as Answer
from assay.flows.identity.authenticate import Authenticated
from assay.flows.review.answer_bulk import BulkReport, Pick, answer_bulk, plan_bulk
from assay.flows.review.keep_view import KeptView, drop_view, find_view, keep_view, list_views
from assay.flows.review.show_progress import show_progress
from assay.flows.review.show_queue import show_queue
from assay.flows.tools import Tools
from assay.kernel.digest import parse_digest
from assay.kernel.ids import PrincipalId, parse_principal_id, parse_ticket_id
from assay.review.act import Priority
from assay.review.kind import TicketKind
from assay.review.queue import QueueFilter, QueueState
from assay.surfaces.fields import Moment, PrincipalName
from assay.surfaces.http.body import parse_body, read_body
from assay.surfaces.http.desk import Desk, GivenDesk
from assay.surfaces.http.guard import allow
from assay.surfaces.http.query import parse_moment, parse_query, path_text
from assay.surfaces.http.v1.change import change, reply_json
from assay.surfaces.http.v1.common import PREFIX, FormQuery, PageQuery, changes, found, lists, lists_operation
from assay.surfaces.http.v1.desk_shapes import (
    BulkPlan,
    BulkRequest,
    ProgressPage,
    QueuePageOut,
    ViewPage,
    ViewRequest,
)
from assay.surfaces.http.v1.one import answer_page, answer_value
from assay.surfaces.http.v1.page import next_cursor, read_text

__all__ = [
    "QueueQuery",
    "answer_many",
    "delete_view",
    "list_queue",
    "list_saved_views",
    "plan_many",
    "put_view",
    "show_reviewers",
]

_DESK = f"{PREFIX}/desk"
_READ, _WRITE = allow(scope="review:read"), allow(scope="review:answer", session=True)
_PLANNING = allow(scope="review:read", session=True)
_PLAN = {"choice": "approve", "filter": {"kind": "approval", "about": "batch:"}}


class QueueQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that is said must hold; `view` is a saved one, in place of the rest."""

    kind: TicketKind | None = None
    about: str | None = None
    priority: Priority | None = None
    assignee: PrincipalName | None = None
    role: str | None = None
    holder: PrincipalName | None = None
    due_before: Moment | None = None
    state: QueueState = QueueState.OPEN
    view: str | None = None


@get(
    f"{_DESK}/queue",
    opt=_READ,
    operation_class=lists_operation(QueueQuery),
    responses=lists(f"GET {_DESK}/queue", QueuePageOut),
)
async def list_queue(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """The tickets that concern the caller, what should be looked at first on top."""
    wanted, now = parse_query(QueueQuery, request), desk.tools.clock.now()
    after = read_text("queue", wanted.cursor)
    last = None if after is None else parse_ticket_id(after)

    def look() -> QueuePageOut:
        chosen = _filter_of(desk, caller, wanted)
        tenant_id = caller.principal.tenant_id
        page = show_queue(
            desk.tools, tenant_id, chosen, viewer=caller.principal, after=last, limit=wanted.limit, at=now
        )
        following = None if page.next_after is None else next_cursor("queue", page.next_after)
        return QueuePageOut(items=page.tickets, next=following)

    return answer_page(request, await desk.run(look))


@get(
    f"{_DESK}/views",
    opt=_READ,
    operation_class=lists_operation(FormQuery),
    responses=lists(f"GET {_DESK}/views", ViewPage),
)
async def list_saved_views(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """One's own views, and those that others share."""
    parse_query(FormQuery, request)
    person = caller.principal
    kept = await desk.run(lambda: list_views(desk.tools, person.tenant_id, person.id))
    return answer_page(request, ViewPage(items=kept))


@put(
    f"{_DESK}/views/{{name:str}}",
    opt=_WRITE,
    operation_class=changes(ViewRequest, example={"filter": {"kind": "approval"}, "shared": True}),
    responses=found(f"PUT {_DESK}/views/{{name}}", KeptView, 409, 413, 415),
)
async def put_view(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
    name: FromPath[str],
) -> Response[bytes]:
    """Keep a filter under a name, in place of one's own of that name."""
    title, received = path_text(name), await read_body(request)

    def work(tools: Tools) -> Answer:
        wanted, at = parse_body(ViewRequest, received), tools.clock.now()
        kept = keep_view(tools, title, wanted.filter, shared=wanted.shared, credential=credential, at=at)
        return reply_json(kept)

    return await change(request, desk, caller, received, work)


@delete(
    f"{_DESK}/views/{{name:str}}",
    opt=_WRITE,
    status_code=200,
    operation_class=changes(),
    responses=found(f"DELETE {_DESK}/views/{{name}}", dict[str, bool], 409),
)
async def delete_view(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
    name: FromPath[str],
) -> Response[bytes]:
    """Forget a view of one's own."""
    title = path_text(name)

    def work(tools: Tools) -> Answer:
        drop_view(tools, title, credential=credential, at=tools.clock.now())
        return reply_json({"dropped": True})

    return await change(request, desk, caller, b"", work)


@get(
    f"{_DESK}/progress",
    opt=_READ,
    operation_class=lists_operation(FormQuery),
    responses=lists(f"GET {_DESK}/progress", ProgressPage),
)
async def show_reviewers(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """How reviewers get on: one's own figures, or everybody's for whoever looks after the desk."""
    parse_query(FormQuery, request)
    person, now = caller.principal, desk.tools.clock.now()
    figures = await desk.run(lambda: show_progress(desk.tools, person.tenant_id, viewer=person, at=now))
    return answer_page(request, ProgressPage(items=figures))


@post(
    f"{_DESK}/bulk/plan",
    opt=_PLANNING,
    status_code=200,
    operation_class=changes(BulkPlan, example=_PLAN),
    responses=found(f"POST {_DESK}/bulk/plan", BulkReport, 409, 413, 415),
)
async def plan_many(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    credential: NamedDependency[str],
) -> Response[bytes]:
    """A dry run: every ticket of the filter with what it shows, and what the answer would do; nothing is recorded."""
    received, now = await read_body(request), desk.tools.clock.now()

    def plan() -> BulkReport:
        wanted = parse_body(BulkPlan, received)
        return plan_bulk(desk.tools, wanted.filter, wanted.choice, reason=wanted.reason, credential=credential, at=now)

    return answer_value(await desk.act(plan))


@post(
    f"{_DESK}/bulk",
    opt=_WRITE,
    status_code=200,
    operation_class=changes(BulkRequest),
    responses=found(f"POST {_DESK}/bulk", BulkReport, 409, 413, 415),
)
async def answer_many(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Answer the tickets of a dry run, each by itself and bound to what it showed; every refusal is a line."""
    received = await read_body(request)

    def work(tools: Tools) -> Answer:
        wanted = parse_body(BulkRequest, received)
        picks = [Pick(ticket_id=parse_ticket_id(one.ticket_id), seen=parse_digest(one.seen)) for one in wanted.picks]
        at = tools.clock.now()
        return reply_json(answer_bulk(tools, picks, wanted.choice, reason=wanted.reason, credential=credential, at=at))

    return await change(request, desk, caller, received, work)


def _filter_of(desk: Desk, caller: Authenticated, wanted: QueueQuery) -> QueueFilter:
    if wanted.view is not None:
        return find_view(desk.tools, caller.principal.tenant_id, caller.principal.id, wanted.view).filter
    return QueueFilter(
        kind=wanted.kind,
        about=wanted.about,
        priority=wanted.priority,
        assignee=_principal(wanted.assignee),
        role=wanted.role,
        holder=_principal(wanted.holder),
        due_before=parse_moment(wanted.due_before),
        state=wanted.state,
    )


def _principal(text: str | None) -> PrincipalId | None:
    return None if text is None else parse_principal_id(text)
