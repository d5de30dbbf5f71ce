"""Saved views of the queue: one's own, and those that others share; they decide nothing, and are in no ledger."""

from typing import Any
from urllib.parse import quote

from litestar import Request, post
from litestar.response import Response

from assay.flows.review.keep_view import DropView, KeepView
from assay.review.kind import TicketKind
from assay.review.queue import QueueFilter, QueueState
from assay.surfaces.console.errors import ConsoleError
from assay.surfaces.console.page import see_other
from assay.surfaces.console.session import Form, GivenVisit, needs, read_form


@post("/desk/views", opt=needs("view.keep"), status_code=303)
async def save_view(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[Any]:
    """Save the filter of the page under a name, in place of one's own view of that name."""
    form = await read_form(request, visit)
    name = form.get("name")
    view = KeepView(name=name, filter=_filter(form), shared=form.find("shared") == "yes")
    await visit.desk.act(lambda: visit.perform("view.keep", view))
    return see_other(f"/review?view={quote(name, safe='')}")


@post("/desk/views/forget", opt=needs("view.drop"), status_code=303)
async def forget_view(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[Any]:
    """Delete a saved view of one's own."""
    form = await read_form(request, visit)
    name = form.get("name")
    await visit.desk.act(lambda: visit.perform("view.drop", DropView(name=name)))
    return see_other("/review")


def queue_filter(*, state: str, kind: str, about: str = "") -> QueueFilter:
    """As a page says it; what is no kind or state is asked of nobody."""
    if kind and kind not in set(TicketKind):
        raise ConsoleError.form_field(f"expected a kind of ticket, got `{kind[:80]}`")
    if state not in set(QueueState):
        raise ConsoleError.form_field(f"expected how tickets stand, got `{state[:80]}`")
    return QueueFilter(state=QueueState(state), kind=TicketKind(kind) if kind else None, about=about or None)


def _filter(form: Form) -> QueueFilter:
    return queue_filter(state=form.get("state"), kind=form.find("kind"), about=form.find("about"))
