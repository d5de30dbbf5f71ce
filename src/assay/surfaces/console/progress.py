"""How reviewers get on: one's own figures, and everybody's for whoever looks after the desk."""

from litestar import get
from litestar.response import Response

from assay.flows.review.show_progress import show_progress
from assay.surfaces.console.page import render_page
from assay.surfaces.console.session import SIGNED_IN, GivenVisit

__all__ = ["list_progress"]


@get("/desk/progress", opt=SIGNED_IN)
async def list_progress(visit: GivenVisit) -> Response[bytes]:
    tools, tenant_id = visit.desk.tools, visit.tenant_id
    rows = await visit.desk.run(lambda: show_progress(tools, tenant_id, viewer=visit.person, at=visit.at))
    return render_page("progress.html", visit, rows=rows)
