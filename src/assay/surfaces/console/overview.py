"""The first page: what waits, what was decided, whether the node is well."""

from typing import Any

from litestar import Request, get
from litestar.response import Response

from assay.flows.review.show_queue import page_queue, turn_of
from assay.flows.show_overview import show_overview
from assay.review.queue import QueueFilter
from assay.surfaces.console.page import render_page
from assay.surfaces.console.session import SIGNED_IN, GivenVisit, Visit
from assay.surfaces.http.health import Readiness


@get("/", opt=SIGNED_IN)
async def show_front(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """Whoever only answers tickets sees those; whoever may look at everything sees how the node stands."""
    if not visit.sees_all:
        return await _show_own(visit)
    desk = visit.desk
    view = await desk.run(lambda: show_overview(desk.tools, visit.caller))
    readiness: Readiness = request.app.state.readiness
    problems = await readiness.problems(desk)
    return render_page("overview.html", visit, view=view, problems=problems)


async def _show_own(visit: Visit) -> Response[bytes]:
    tools, caller = visit.desk.tools, visit.permitted("desk.queue")
    page = await visit.desk.run(
        lambda: page_queue(tools, caller, QueueFilter(), only=turn_of(tools, caller), counted=True)
    )
    return render_page("front_own.html", visit, waiting=page.tickets, total=page.total)
