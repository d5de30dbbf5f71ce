"""Services: who can do what, at which tier, and whose kill switch fired."""

from typing import Any

from litestar import Request, get
from litestar.response import Response
from msgspec import Struct

from assay.flows.registry.show_services import list_services
from assay.registry.permission import ANKR_32BIT_V1
from assay.surfaces.console.page import render_page
from assay.surfaces.console.session import GivenVisit, needs
from assay.surfaces.http.query import parse_query


class ServicesQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`needs` are names of bits with commas between them."""

    needs: str = ""


@get("/services", opt=needs("services.list"))
async def list_known_services(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """All of them; with `needs`, those that have every bit asked for."""
    wanted, desk = parse_query(ServicesQuery, request), visit.desk
    needs = tuple(name.strip().upper() for name in wanted.needs.split(",") if name.strip())
    view = await desk.run(lambda: list_services(desk.tools, visit.tenant_id, needs=needs))
    known = [name for name in ANKR_32BIT_V1.names if name is not None]
    return render_page("services.html", visit, view=view, needs=needs, known=known)
