"""Make the file that shows what a search finds, and that nothing was left out of it.

logged indexes that the newest checkpoint covers -> their answers -> the entries that have every term -> SearchProof
"""

from collections.abc import Sequence

from assay.flows.errors.ledger import LedgerFlowError
from assay.flows.ledger.prove_record import bundle_of
from assay.flows.ledger.search_entries import consecutive_segments
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.kernel.search_proof import ProvenEntry, SearchProof, SegmentAnswers
from assay.kernel.term import parse_term, term_key
from assay.kernel.term_index import Leaf, TermTree, common_numbers, read_leaves
from assay.kernel.tile import TileCache
from assay.ports.database import Unit
from assay.ports.index_store import IndexSegment

# A file that people still open; whoever asks for more narrows the search, by day for instance.
MAX_PROVEN = 10_000


def prove_search(tools: Tools, tenant_id: TenantId, terms: Sequence[str]) -> SearchProof:
    """Over the entries that logged indexes cover, as of the newest checkpoint; what came later is not in it."""
    wanted = tuple(dict.fromkeys(map(parse_term, terms)))

    def work(unit: Unit) -> SearchProof:
        with tools.tiles.borrow(unit, tenant_id) as cache:
            return _prove(unit, tenant_id, wanted, cache)

    return tools.database.read(work)


def _prove(unit: Unit, tenant_id: TenantId, terms: tuple[str, ...], cache: TileCache) -> SearchProof:
    kept = unit.ledger.find_checkpoint(tenant_id)
    size = 0 if kept is None else kept.size
    segments = [one for one in consecutive_segments(unit, tenant_id) if one.sequence_number <= size]
    if not segments:
        raise LedgerFlowError.search_no_index(
            f"no index of `{tenant_id}` is covered by a checkpoint: seal one, and sign a checkpoint"
        )
    answered = tuple(_answered(unit, tenant_id, segment, terms, cache, size) for segment in segments)
    numbers = [number for one in answered for number in common_numbers(one.answers)]
    if len(numbers) > MAX_PROVEN:
        raise LedgerFlowError.search_size(
            f"expected at most {MAX_PROVEN} entries in a proof, got {len(numbers)}: add a term"
        )
    return SearchProof(
        terms=terms,
        newest=bundle_of(unit, tenant_id, segments[-1].sequence_number, cache=cache),
        segments=answered,
        entries=tuple(_proven(unit, tenant_id, number, cache, size) for number in numbers),
    )


def _answered(
    unit: Unit, tenant_id: TenantId, segment: IndexSegment, terms: Sequence[str], cache: TileCache, size: int
) -> SegmentAnswers:
    number, tree = segment.sequence_number, _tree(unit, tenant_id, segment)
    if tree.root != segment.root:
        raise LedgerFlowError.search_damaged_index(
            f"the index that entry {number} logs has another root than was logged"
        )
    return SegmentAnswers(
        index=_proven(unit, tenant_id, number, cache, size),
        answers=tuple(tree.answer(term, page=_page(unit, tenant_id, number, term)) for term in terms),
    )


def _tree(unit: Unit, tenant_id: TenantId, segment: IndexSegment) -> TermTree:
    number = segment.sequence_number

    def load(page: int) -> Sequence[Leaf]:
        return read_leaves(unit.index.get_page(tenant_id, number, page).content, first=segment.first)

    roots = unit.index.page_roots(tenant_id, number)
    return TermTree(first=segment.first, size=segment.leaves, page_roots=roots, load=load)


def _page(unit: Unit, tenant_id: TenantId, number: int, term: str) -> int:
    """What lies before all others would be on the first page."""
    page = unit.index.find_page(tenant_id, number, term_key(term))
    return 0 if page is None else page.position


def _proven(unit: Unit, tenant_id: TenantId, number: int, cache: TileCache, size: int) -> ProvenEntry:
    texts = unit.ledger.texts(tenant_id, [number])
    if number not in texts:
        raise LedgerFlowError.search_damaged_index(
            f"the index names entry {number} of `{tenant_id}`, which is not there"
        )
    return ProvenEntry(entry=texts[number].decode(), inclusion_path=cache.inclusion_path(number - 1, size))
