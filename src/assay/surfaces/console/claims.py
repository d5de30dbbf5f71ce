"""Claims: bundles with what was decided about them, gate by gate."""

from litestar import get
from litestar.params import FromPath
from litestar.response import Response

from assay.flows.claims.show_claims import list_claims, show_claims
from assay.kernel.digest import parse_digest
from assay.surfaces.console.page import render_page
from assay.surfaces.console.session import GivenVisit

__all__ = ["list_bundles", "show_bundle"]

_PAGE = 100


@get("/claims")
async def list_bundles(visit: GivenVisit) -> Response[bytes]:
    """The latest first."""
    desk = visit.desk
    rows = await desk.run(
        lambda: desk.tools.database.read(lambda unit: list_claims(unit, visit.tenant_id, limit=_PAGE))
    )
    return render_page("claims.html", visit, rows=rows)


@get("/claims/{bundle_hash:str}")
async def show_bundle(visit: GivenVisit, bundle_hash: FromPath[str]) -> Response[bytes]:
    """What was claimed, what each gate said, and who is asked."""
    desk, wanted = visit.desk, parse_digest(bundle_hash)
    view = await desk.run(
        lambda: desk.tools.database.read(
            lambda unit: show_claims(unit, desk.tools, visit.tenant_id, wanted, at=visit.at)
        )
    )
    return render_page("bundle.html", visit, view=view)
