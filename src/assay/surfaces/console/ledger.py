"""The ledger: its entries, one of them as it is hashed, and the checkpoint that vouches for them."""

from typing import Any

from litestar import Request, get
from litestar.params import FromPath
from litestar.response import Response
from msgspec import Struct

from assay.flows.ledger.show_entries import ShownEntry, show_entries
from assay.flows.show_overview import LedgerStanding, show_ledger_standing
from assay.surfaces.console.numbers import parse_number
from assay.surfaces.console.page import render_page
from assay.surfaces.console.session import READERS, GivenVisit
from assay.surfaces.http.query import parse_query

__all__ = ["LedgerQuery", "list_entries", "show_entry"]

_PAGE = 50


class LedgerQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`last` is the highest number to show; without it, the newest entries."""

    last: str = ""


@get("/ledger", opt=READERS)
async def list_entries(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """The newest first, by number, so that what is appended meanwhile moves nothing."""
    wanted, desk = parse_query(LedgerQuery, request), visit.desk

    def look() -> tuple[list[ShownEntry], LedgerStanding]:
        found: list[ShownEntry] = []
        last = parse_number(wanted.last) if wanted.last else None
        show_entries(desk.tools, visit.tenant_id, found.append, last=last, limit=_PAGE)
        return found[::-1], show_ledger_standing(desk.tools, visit.tenant_id)

    rows, standing = await desk.run(look)
    following = rows[-1].sequence_number - 1 if rows else 0
    return render_page("ledger.html", visit, rows=rows, wanted=wanted, standing=standing, following=following)


@get("/ledger/{number:str}", opt=READERS)
async def show_entry(visit: GivenVisit, number: FromPath[str]) -> Response[bytes]:
    """An entry with the exact text that its hash is of."""
    desk, wanted = visit.desk, parse_number(number)

    def look() -> tuple[ShownEntry, LedgerStanding]:
        found: list[ShownEntry] = []
        show_entries(desk.tools, visit.tenant_id, found.append, first=wanted, last=wanted)
        return found[0], show_ledger_standing(desk.tools, visit.tenant_id)

    entry, standing = await desk.run(look)
    covered = standing.checkpoint is not None and standing.checkpoint.size >= wanted
    return render_page("entry.html", visit, entry=entry, standing=standing, covered=covered)
