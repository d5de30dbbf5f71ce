"""Find the entries that have every one of some terms: by the indexes as far as they reach, and by reading the rest.

terms -> each index's pages -> numbers that all terms share -> texts; then the entries that no index covers yet
"""

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from msgspec import Struct

from assay.flows.errors.ledger import LedgerFlowError
from assay.flows.ledger.show_entries import ShownEntry, show_stored
from assay.flows.tools import Tools
from assay.kernel.canonical import canonical_json
from assay.kernel.ids import TenantId
from assay.kernel.term import parse_term, term_key, terms_of
from assay.kernel.term_index import find_numbers
from assay.ports.database import Unit
from assay.ports.index_store import IndexSegment
from assay.ports.ledger_store import StoredEntry

# So many texts are read at once while entries without an index are searched.
_AT_ONCE = 1000


class SearchAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was found, oldest first; `more` says whether there is more after the last of them.

    `covered` is how far indexes reach: so far the same search can be proven to be complete.
    """

    entries: tuple[ShownEntry, ...]
    more: bool
    covered: int
    size: int


def search_entries(
    tools: Tools, tenant_id: TenantId, terms: Sequence[str], *, after: int = 0, limit: int = 20
) -> SearchAnswer:
    """At most `limit` entries after an entry's number; every one of them has all terms in its proven text."""
    wanted = tuple(dict.fromkeys(map(parse_term, terms)))

    def work(unit: Unit) -> SearchAnswer:
        latest = unit.index.find_latest(tenant_id)
        covered = 0 if latest is None else latest.last
        found = list(islice(_found(unit, tenant_id, wanted, after, covered), limit + 1))
        return SearchAnswer(
            entries=tuple(show_stored(unit, row) for row in found[:limit]),
            more=len(found) > limit,
            covered=covered,
            size=unit.ledger.head(tenant_id).sequence_number,
        )

    return tools.database.read(work)


def consecutive_segments(unit: Unit, tenant_id: TenantId, *, after: int = 0) -> tuple[IndexSegment, ...]:
    """Those that cover entries after this one; what a missing one would have named must not go unsaid."""
    segments = unit.index.segments(tenant_id, ending_after=after)
    is_begun = not segments or segments[0].first <= after + 1
    if not is_begun or any(one.last + 1 != following.first for one, following in pairwise(segments)):
        raise LedgerFlowError.search_damaged_index(f"an index of `{tenant_id}` is missing between others")
    return segments


def _common_numbers(unit: Unit, tenant_id: TenantId, segment: IndexSegment, terms: Sequence[str]) -> list[int]:
    """The entries of a segment that have all of the terms, by its pages."""
    common: set[int] | None = None
    for term in terms:
        page = unit.index.find_page(tenant_id, segment.sequence_number, term_key(term))
        numbers = () if page is None else find_numbers(page.content, term, first=segment.first)
        common = set(numbers) if common is None else common.intersection(numbers)
        if not common:
            return []
    return sorted(common or ())


def _found(unit: Unit, tenant_id: TenantId, terms: Sequence[str], after: int, covered: int) -> Iterator[StoredEntry]:
    for segment in consecutive_segments(unit, tenant_id, after=after):
        for number in _common_numbers(unit, tenant_id, segment, terms):
            if number > after:
                yield _stored(unit, tenant_id, number, terms)
    # An entry that has a term has the bytes of its name and value; most others are passed over without being parsed.
    needles = [needle for term in terms for needle in _needles(term)]
    first = max(after, covered) + 1
    while texts := unit.ledger.texts_from(tenant_id, first, _AT_ONCE):
        for number, text in texts:
            if all(needle in text for needle in needles) and terms_of(text).issuperset(terms):
                yield _stored(unit, tenant_id, number, terms)
        first = texts[-1][0] + 1


def _needles(term: str) -> tuple[bytes, ...]:
    """Bytes that every entry with this term has in its canonical text."""
    name, _, value = term.partition("=")
    written = canonical_json(value)[1:-1].encode()
    return (written,) if name == "day" else (canonical_json(name).encode(), written)


def _stored(unit: Unit, tenant_id: TenantId, number: int, terms: Sequence[str]) -> StoredEntry:
    row = unit.ledger.find_entry(tenant_id, number)
    if row is None or not terms_of(row.text).issuperset(terms):
        raise LedgerFlowError.search_damaged_index(
            f"the index names entry {number} of `{tenant_id}`, which does not say so"
        )
    return row
