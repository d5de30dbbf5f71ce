"""Reviewer performance: one's own figures, and everybody's for admins, operators and auditors."""

from typing import Any

from litestar import Request, get
from litestar.response import Response
from msgspec import Struct

from assay.flows.claims.oversight import MeasureOversight
from assay.flows.review.show_progress import ListProgress
from assay.surfaces.console.page import render_page
from assay.surfaces.console.session import GivenVisit, needs
from assay.surfaces.http.query import parse_query

_PAGE = 100


class ProgressQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`after` is where the page before ended."""

    after: str = ""


@get("/desk/progress", opt=needs("desk.progress"))
async def list_progress(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """A page of reviewers, by name."""
    wanted = parse_query(ProgressQuery, request)
    asked = ListProgress(limit=_PAGE, cursor=wanted.after or None)
    page = await visit.desk.run(lambda: visit.perform("desk.progress", asked))
    measured = await visit.desk.draw_up(lambda: visit.perform("oversight.measure", MeasureOversight()))
    return render_page("progress.html", visit, rows=page.items, following=page.next, figures=measured.figures)
