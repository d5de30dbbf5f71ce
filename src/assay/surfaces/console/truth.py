"""Truth: the map of what is known, and one key's state field by field."""

from typing import Any

import msgspec
from litestar import Request, get
from litestar.response import Response
from msgspec import Struct

from assay.flows.truth.states import ShownTruth, map_features, show_history, show_truth
from assay.surfaces.console.page import render_page
from assay.surfaces.console.session import GivenVisit, Visit, needs
from assay.surfaces.http.query import parse_query
from assay.truth.status import TruthStatus

_PAGE = 100
_MOST_CELLS = 5000


class TruthQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`after` is the last key of the page before."""

    status: str = ""
    after: str = ""


class StateQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key has slashes and colons of its own, so it is asked for by name."""

    key: str


@get("/truth", opt=needs("states.map"))
async def list_truth(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """Keys with their latest states; the map above shows the same."""
    wanted = parse_query(TruthQuery, request)
    found = await visit.desk.run(lambda: _features(visit, wanted, _PAGE + 1))
    following = found[_PAGE - 1]["id"] if len(found) > _PAGE else None
    return render_page(
        "truth.html", visit, features=found[:_PAGE], wanted=wanted, statuses=list(TruthStatus), following=following
    )


@get("/truth/map.json", opt=needs("states.map"))
async def show_truth_map(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """GeoJSON for the map; a state without a place is in the list alone."""
    wanted = parse_query(TruthQuery, request)
    found = await visit.desk.run(lambda: _features(visit, wanted, _MOST_CELLS))
    document = {"type": "FeatureCollection", "features": [one for one in found if one["geometry"] is not None]}
    headers = {"cache-control": "no-store"}
    return Response(msgspec.json.encode(document), media_type="application/geo+json", headers=headers)


@get("/truth/state", opt=needs("state.show"))
async def show_truth_state(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """The signed state, what age left of it, and every state before it."""
    wanted, desk = parse_query(StateQuery, request), visit.desk

    def look() -> tuple[ShownTruth, tuple[ShownTruth, ...]]:
        shown = show_truth(desk.tools, visit.tenant_id, wanted.key, at=visit.at)
        return shown, show_history(desk.tools, visit.tenant_id, wanted.key, at=visit.at)

    shown, history = await desk.run(look)
    return render_page("state.html", visit, shown=shown, history=history[::-1])


def _features(visit: Visit, wanted: TruthQuery, limit: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    map_features(
        visit.desk.tools,
        visit.tenant_id,
        found.append,
        at=visit.at,
        statuses=[wanted.status] if wanted.status else None,
        after=wanted.after or None,
        limit=limit,
    )
    return found
