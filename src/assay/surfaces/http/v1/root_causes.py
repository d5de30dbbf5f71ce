"""`/api/v1/root-causes`: what went wrong with a rule, what people concluded, and what followed from that.

A root cause is concluded by answering its ticket.
"""

from typing import Any

from litestar import Request, get
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response

from assay.flows.delivery.inspect_delivery import ShownItem, page_items, show_item
from assay.flows.identity.authenticate import Authenticated
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import SEE_ALL, allow
from assay.surfaces.http.query import parse_query, path_text
from assay.surfaces.http.v1.common import PREFIX, PageQuery, found, lists, lists_operation, one_operation
from assay.surfaces.http.v1.one import answer_one, answer_page
from assay.surfaces.http.v1.page import next_cursor, read_number
from assay.surfaces.http.v1.shapes import RootCausePage

__all__ = ["RootCausesQuery", "list_opened_root_causes", "show_opened_root_cause"]

_READ = allow(scope="pramana:read", roles=SEE_ALL)
_ROOT_CAUSES = f"{PREFIX}/root-causes"
_NEWEST = 2**53 - 1


class RootCausesQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`open=true` leaves out those that are concluded."""

    open: bool = False


@get(
    _ROOT_CAUSES,
    opt=_READ,
    operation_class=lists_operation(RootCausesQuery),
    responses=lists(f"GET {_ROOT_CAUSES}", RootCausePage),
)
async def list_opened_root_causes(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Root causes, the newest first: what each shows people, its ticket, and what came of it."""
    wanted, by = parse_query(RootCausesQuery, request), caller.principal
    before = read_number("root_causes", wanted.cursor, first=_NEWEST)
    items, following = await desk.run(
        lambda: page_items(
            desk.tools, by.tenant_id, viewer=by, open_only=wanted.open, before=before, limit=wanted.limit
        )
    )
    cursor = None if following is None else next_cursor("root_causes", following)
    return answer_page(request, RootCausePage(items=items, next=cursor))


@get(
    f"{_ROOT_CAUSES}/{{item_id:str}}",
    opt=_READ,
    operation_class=one_operation(),
    responses=found(f"GET {_ROOT_CAUSES}/{{item_id}}", ShownItem),
)
async def show_opened_root_cause(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    item_id: FromPath[str],
) -> Response[bytes]:
    """One root cause as its ticket shows it, and what came of it."""
    name, by = path_text(item_id), caller.principal
    return answer_one(request, await desk.run(lambda: show_item(desk.tools, by.tenant_id, name, viewer=by)))
