"""Whether the indexes of the ledger are what its entries give: each logged one is built again, root and rows.

entries that log an index | their rows; then segment by segment: no gap -> the same leaves -> the same root and pages
"""

from collections.abc import Iterator

import msgspec

from assay.flows.ledger.compare_rows import IndexedTable, RowProblem, compare_rows
from assay.flows.ledger.seal_index import pages_of
from assay.kernel.entry import Entry
from assay.kernel.ids import TenantId
from assay.kernel.ledger import EntryKind
from assay.kernel.term_index import Seal, build_leaves, tree_of
from assay.ports.database import Unit
from assay.ports.index_store import IndexSegment


def check_index(unit: Unit, tenant_id: TenantId) -> Iterator[RowProblem]:
    """Problems: `index.row_…` where a row is not its entry; `index.gap`, `.root`, `.page` where an index is untrue."""
    segments = unit.index.segments(tenant_id)
    table = IndexedTable("index_segment", EntryKind.INDEX_SEALED, segments, _is_segment)
    yield from compare_rows(unit, tenant_id, "index", (table,))
    end, previous = 0, None
    for segment in segments:
        if (segment.first, segment.previous) != (end + 1, previous):
            yield _problem("gap", segment, f"expected an index from entry {end + 1} on, got one from {segment.first}")
        yield from _rebuilt(unit, tenant_id, segment)
        end, previous = segment.last, segment.sequence_number


def _is_segment(row: IndexSegment, entry: Entry) -> bool:
    try:
        seal = msgspec.json.decode(entry.body, type=Seal)
    except msgspec.ValidationError:
        return False
    return seal == _seal(row)


def _rebuilt(unit: Unit, tenant_id: TenantId, segment: IndexSegment) -> Iterator[RowProblem]:
    """A search by this index finds what reading every entry would find."""
    rows = unit.ledger.entries(tenant_id, first=segment.first, last=segment.last)
    leaves = build_leaves(segment.first, (row.text for row in rows))
    if (tree_of(leaves, first=segment.first).root, len(leaves)) != (segment.root, segment.leaves):
        yield _problem("root", segment, f"expected the root that entries {segment.first} to {segment.last} give")
    elif unit.index.pages(tenant_id, segment.sequence_number) != pages_of(
        segment.sequence_number, segment.first, leaves
    ):
        yield _problem("page", segment, "expected the pages that its entries give")


def _seal(row: IndexSegment) -> Seal:
    return Seal(first=row.first, last=row.last, leaves=row.leaves, root=row.root, previous=row.previous)


def _problem(wrong: str, segment: IndexSegment, message: str) -> RowProblem:
    number = segment.sequence_number
    return RowProblem(code=f"index.{wrong}", message=f"the index that entry {number} logs: {message}", entry=number)
