"""`/api/v1/search` and `/api/v1/indexes`: entries by what is in them, and the proof that none was left out."""

from typing import Annotated, Any

from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.response import Response
from msgspec import Meta, Struct

from assay.flows.answer_once import Reply
from assay.flows.identity.authenticate import Authenticated
from assay.flows.ledger.prove_search import prove_search
from assay.flows.ledger.seal_index import seal_index
from assay.flows.ledger.search_entries import search_entries
from assay.flows.tools import Tools
from assay.identity.principal import BuiltInRole
from assay.kernel.search_proof import render_search
from assay.kernel.term import MAX_TERM
from assay.ports.index_store import IndexSegment
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import allow
from assay.surfaces.http.query import parse_query
from assay.surfaces.http.v1.change import change, reply_json
from assay.surfaces.http.v1.common import (
    PREFIX,
    PageQuery,
    changes,
    found,
    lists,
    lists_operation,
    made,
    one_operation,
)
from assay.surfaces.http.v1.ledger import entry_item
from assay.surfaces.http.v1.one import answer_one, answer_page
from assay.surfaces.http.v1.page import cut, next_cursor, read_number
from assay.surfaces.http.v1.shapes import EntryPage, IndexItem, IndexPage, NewIndexes

__all__ = ["ProofQuery", "SearchQuery", "list_indexes", "prove_terms", "seal_indexes", "search_terms"]

_READ = allow(scope="log:read", roles=[BuiltInRole.AUDITOR, BuiltInRole.OPERATOR])
_WRITE = allow(scope="log:write", roles=[BuiltInRole.OPERATOR])
_SEARCH, _INDEXES = f"{PREFIX}/search", f"{PREFIX}/indexes"
# `name=value`, repeated: an entry is found when it has them all.
Terms = Annotated[
    tuple[Annotated[str, Meta(min_length=3, max_length=MAX_TERM, pattern="^[^=]+=.")], ...],
    Meta(min_length=1, max_length=16),
]


class SearchQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The oldest first."""

    term: Terms


class ProofQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to prove."""

    term: Terms


@get(
    _SEARCH,
    opt=_READ,
    operation_class=lists_operation(SearchQuery),
    responses=lists(f"GET {_SEARCH}", EntryPage),
)
async def search_terms(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Entries that have every term, such as `rule_id=R-1` or `day=2026-03-01`, indexed or not."""
    wanted, tenant_id = parse_query(SearchQuery, request), caller.principal.tenant_id
    after = read_number("search", wanted.cursor)
    answer = await desk.run(lambda: search_entries(desk.tools, tenant_id, wanted.term, after=after, limit=wanted.limit))
    following = next_cursor("search", answer.entries[-1].sequence_number) if answer.more else None
    return answer_page(request, EntryPage(items=tuple(map(entry_item, answer.entries)), next=following))


@get(
    f"{_SEARCH}/proof",
    opt=_READ,
    operation_class=one_operation(ProofQuery),
    responses=found(f"GET {_SEARCH}/proof", dict[str, Any], 409, words="a search proof"),
)
async def prove_terms(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """The file that shows what a search finds and that nothing is missing; 409 while no checkpoint covers an index."""
    wanted, tenant_id = parse_query(ProofQuery, request), caller.principal.tenant_id
    return answer_one(request, await desk.run(lambda: render_search(prove_search(desk.tools, tenant_id, wanted.term))))


@get(_INDEXES, opt=_READ, operation_class=lists_operation(), responses=lists(f"GET {_INDEXES}", IndexPage))
async def list_indexes(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Logged indexes in order: which entries each covers, and its root."""
    wanted, tenant_id = parse_query(PageQuery, request), caller.principal.tenant_id
    after = read_number("indexes", wanted.cursor)
    rows = await desk.run(
        lambda: desk.tools.database.read(lambda unit: unit.index.segments(tenant_id, ending_after=after))
    )
    page, following = cut("indexes", rows, wanted.limit, lambda row: row.last)
    return answer_page(request, IndexPage(items=tuple(map(_index, page)), next=following))


@post(
    _INDEXES,
    opt=_WRITE,
    operation_class=changes(),
    responses=made(f"POST {_INDEXES}", NewIndexes),
)
async def seal_indexes(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Index what no index covers yet, and log the roots; the node does so by itself now and then."""
    tenant_id = caller.principal.tenant_id

    def work(tools: Tools) -> Reply:
        sealed = seal_index(tools, tenant_id, at=tools.clock.now())
        return reply_json(NewIndexes(indexes=tuple(map(_index, sealed))), status=201)

    return await change(request, desk, caller, await request.body(), work, is_repeatable=True)


def _index(segment: IndexSegment) -> IndexItem:
    return IndexItem(
        sequence_number=segment.sequence_number,
        first=segment.first,
        last=segment.last,
        leaves=segment.leaves,
        root=segment.root,
    )
