"""The page that verifies a proof bundle in the browser: the file is read there and sent nowhere."""

from typing import Any

from litestar import Request, get
from litestar.response import Response

from assay.surfaces.console.page import render_page
from assay.surfaces.console.session import ANYBODY, find_visit
from assay.surfaces.http.desk import Desk


@get("/verify", opt=ANYBODY)
async def show_verify(request: Request[Any, Any, Any]) -> Response[bytes]:
    """For anybody: whoever checks a proof need not be known here. Whom to trust is theirs to say."""
    desk: Desk = request.app.state.desk
    visit = await find_visit(request)
    return render_page("verify.html", visit, founder="" if visit is None else desk.tools.founder)
