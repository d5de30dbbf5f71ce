"""Claims: bundles with what was decided about them, gate by gate."""

from typing import Any

from litestar import Request, get
from litestar.params import FromPath
from litestar.response import Response
from msgspec import Struct

from assay.claims.bundle import GateName
from assay.flows.claims.show_claims import ClaimsView, ListedClaims, list_claims, show_claims
from assay.flows.show_overview import LedgerStanding, show_ledger_standing
from assay.kernel.digest import parse_digest
from assay.kernel.ids import parse_principal_id
from assay.ports.database import Unit
from assay.surfaces.console.numbers import parse_number
from assay.surfaces.console.page import render_page
from assay.surfaces.console.session import GivenVisit
from assay.surfaces.http.query import parse_query

_PAGE = 50


class BundlesQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`before` is an entry's number: what is received meanwhile moves nothing. `agent` is who handed them in."""

    agent: str = ""
    before: str = ""


@get("/claims")
async def list_bundles(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """The latest first, a page at a time."""
    wanted, desk = parse_query(BundlesQuery, request), visit.desk
    before = parse_number(wanted.before) if wanted.before else None
    agent = parse_principal_id(wanted.agent.strip()) if wanted.agent.strip() else None

    def look(unit: Unit) -> tuple[ListedClaims, ...]:
        return list_claims(
            unit, visit.tenant_id, submitted_by=agent, viewer=visit.person, before=before, limit=_PAGE + 1
        )

    rows = await desk.run(lambda: desk.tools.database.read(look))
    following = rows[_PAGE - 1].sequence_number if len(rows) > _PAGE else None
    return render_page("claims.html", visit, rows=rows[:_PAGE], wanted=wanted, following=following)


@get("/claims/{bundle_hash:str}")
async def show_bundle(visit: GivenVisit, bundle_hash: FromPath[str]) -> Response[bytes]:
    """What was claimed, what each gate said, and who is asked."""
    desk, wanted = visit.desk, parse_digest(bundle_hash)

    def look() -> tuple[ClaimsView, LedgerStanding]:
        found = desk.tools.database.read(
            lambda unit: show_claims(unit, desk.tools, visit.tenant_id, wanted, viewer=visit.person, at=visit.at)
        )
        return found, show_ledger_standing(desk.tools, visit.tenant_id)

    view, standing = await desk.run(look)
    asked = {one.gate for one in view.gated.outcome.answers}
    return render_page(
        "bundle.html",
        visit,
        view=view,
        not_asked=[one for one in GateName if asked and one not in asked],
        covered=standing.covered,
    )
