"""Claims: bundles with what was decided about them, gate by gate."""

from typing import Any, Literal

from litestar import Request, get
from litestar.params import FromPath
from litestar.response import Response
from msgspec import Struct

from assay.claims.bundle import Decision, GateName
from assay.flows.claims.show_claims import ClaimsView, ListClaims, ListedClaims, ShowClaim
from assay.flows.request import Page
from assay.flows.show_overview import LedgerStanding, show_ledger_standing
from assay.kernel.ids import parse_principal_id
from assay.surfaces.console.page import render_page
from assay.surfaces.console.session import GivenVisit, needs
from assay.surfaces.http.query import parse_query

_PAGE = 50


class BundlesQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`cursor` is where a page begins: bundles that are received meanwhile move nothing. `agent` is who sent them."""

    agent: str = ""
    decision: Literal["PUBLISH", "DEFER", "ESCALATE", "REFUSE", ""] = ""
    cursor: str = ""


@get("/claims", opt=needs("claims.list"))
async def list_bundles(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """List bundles, the latest first, a page at a time."""
    wanted = parse_query(BundlesQuery, request)
    agent = parse_principal_id(wanted.agent.strip()) if wanted.agent.strip() else None
    asked = ListClaims(agent=agent, decision=wanted.decision or None, cursor=wanted.cursor or None, limit=_PAGE)
    page: Page[ListedClaims] = await visit.desk.run(lambda: visit.perform("claims.list", asked))
    return render_page(
        "claims.html",
        visit,
        rows=page.items,
        wanted=wanted,
        following=page.next,
        decisions=[one.value for one in Decision],
    )


@get("/claims/{bundle_hash:str}", opt=needs("claims.show"))
async def show_bundle(visit: GivenVisit, bundle_hash: FromPath[str]) -> Response[bytes]:
    """Show what was claimed, what each gate said, and who is asked."""

    def look() -> tuple[ClaimsView, LedgerStanding]:
        found: ClaimsView = visit.perform("claims.show", ShowClaim(bundle_hash=bundle_hash))
        return found, show_ledger_standing(visit.desk.tools, visit.tenant_id)

    view, standing = await visit.desk.run(look)
    asked = {one.gate for one in view.gated.outcome.answers}
    return render_page(
        "bundle.html",
        visit,
        view=view,
        not_asked=[one for one in GateName if asked and one not in asked],
        covered=standing.covered,
    )
