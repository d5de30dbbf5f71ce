"""The ledger: its entries as sentences, a search, and one entry with the exact text that is hashed."""

from collections.abc import Sequence
from typing import Any

import msgspec
from litestar import Request, get
from litestar.params import FromPath
from litestar.response import Response
from msgspec import Struct

from assay.flows.ledger.activity import Sentence, describe_body
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.ledger.search_entries import SearchAnswer, search_entries
from assay.flows.ledger.show_entries import ShownEntry, show_entries
from assay.flows.show_overview import LedgerStanding, show_ledger_standing
from assay.surfaces.console.numbers import parse_number
from assay.surfaces.console.page import render_page
from assay.surfaces.console.places import entry_path
from assay.surfaces.console.session import GivenVisit, Visit, needs
from assay.surfaces.http.query import parse_query

_PAGE = 50


class LedgerQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`last` is the highest number to show; without it, the newest entries. `find` are terms, in place of a number."""

    last: str = ""
    find: str = ""
    after: str = ""


@get("/ledger", opt=needs("entries.list"))
async def list_entries(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """The newest first, by number, so that what is appended meanwhile moves nothing."""
    wanted, desk = parse_query(LedgerQuery, request), visit.desk
    if wanted.find.strip():
        return await _found(visit, wanted)

    def look() -> tuple[list[ShownEntry], LedgerStanding]:
        found: list[ShownEntry] = []
        last = parse_number(wanted.last) if wanted.last else None
        show_entries(desk.tools, visit.tenant_id, found.append, last=last, limit=_PAGE)
        return found[::-1], show_ledger_standing(desk.tools, visit.tenant_id)

    rows, standing = await desk.run(look)
    following = rows[-1].sequence_number - 1 if rows else 0
    return _page(visit, wanted, standing, rows, following=following)


async def _found(visit: Visit, wanted: LedgerQuery) -> Response[bytes]:
    """What a search finds, the oldest first."""
    desk, after = visit.desk, parse_number(wanted.after) if wanted.after else 0

    def look() -> tuple[SearchAnswer, LedgerStanding]:
        terms = _terms(wanted.find)
        answer = search_entries(desk.tools, visit.tenant_id, terms, after=after, limit=_PAGE)
        return answer, show_ledger_standing(desk.tools, visit.tenant_id)

    answer, standing = await desk.run(look)
    more = answer.entries[-1].sequence_number if answer.more else 0
    return _page(visit, wanted, standing, answer.entries, answer=answer, more=more)


def _page(
    visit: Visit,
    wanted: LedgerQuery,
    standing: LedgerStanding,
    rows: Sequence[ShownEntry],
    *,
    answer: SearchAnswer | None = None,
    more: int = 0,
    following: int = 0,
) -> Response[bytes]:
    """`more` is the entry after which a search goes on, `following` the next older one of a list; 0 is the end."""
    return render_page(
        "ledger.html",
        visit,
        rows=[(row, _sentence(row)) for row in rows],
        wanted=wanted,
        standing=standing,
        answer=answer,
        more=more,
        following=following,
    )


def _terms(text: str) -> list[str]:
    """`name=value` with spaces between them; a word without a sign belongs to the value before it."""
    terms: list[str] = []
    for word in text.split():
        if "=" in word or not terms:
            terms.append(word)
        else:
            terms[-1] += f" {word}"
    return terms


@get("/ledger/verification", opt=needs("ledger.verify"))
async def download_verification(visit: GivenVisit) -> Response[bytes]:
    """The report of a full verification, as a file: what was checked, the first bad entry, the last good checkpoint."""
    desk = visit.desk
    report = await desk.draw_up(lambda: audit_ledger(desk.tools, visit.tenant_id, full=True, leave_mark=False))
    headers = {
        "cache-control": "no-store",
        "content-disposition": f'attachment; filename="verification-{visit.tenant_id}.json"',
    }
    return Response(msgspec.json.encode(report), media_type="application/json", headers=headers)


@get("/ledger/{number:str}", opt=needs("entry.show"))
async def show_entry(visit: GivenVisit, number: FromPath[str]) -> Response[bytes]:
    """An entry with the exact text that its hash is of."""
    desk, wanted = visit.desk, parse_number(number)

    def look() -> tuple[ShownEntry, LedgerStanding]:
        found: list[ShownEntry] = []
        show_entries(desk.tools, visit.tenant_id, found.append, first=wanted, last=wanted)
        return found[0], show_ledger_standing(desk.tools, visit.tenant_id)

    entry, standing = await desk.run(look)
    told = _sentence(entry)
    return render_page(
        "entry.html",
        visit,
        entry=entry,
        sentence=told.text,
        path=entry_path(entry.kind, told.about, entry.sequence_number),
        standing=standing,
        covered=standing.covered >= wanted,
    )


def _sentence(entry: ShownEntry) -> Sentence:
    return describe_body(entry.kind, msgspec.json.decode(bytes(entry.body)), rule=_rule(entry))


def _rule(entry: ShownEntry) -> str:
    return str(msgspec.json.decode(entry.text).get("rule_id") or "")
