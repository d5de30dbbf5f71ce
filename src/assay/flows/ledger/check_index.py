"""Whether the indexes of the ledger are what its entries give: each logged one is built again, root and rows.

entries that log an index | their rows; then segment by segment: no gap -> the same leaves -> the same root and pages
"""

from collections.abc import Iterator

from assay.flows.ledger.compare_rows import RowProblem
from assay.flows.ledger.seal_index import pages_of
from assay.kernel.ids import TenantId
from assay.kernel.term_index import build_leaves, tree_of
from assay.ports.database import Unit
from assay.ports.index_store import IndexSegment


def check_index(unit: Unit, tenant_id: TenantId) -> Iterator[RowProblem]:
    """Problems: `index.gap`, `.root`, `.page` where an index is untrue; the audit compares rows with entries."""
    segments = unit.index.segments(tenant_id)
    end, previous = 0, None
    for segment in segments:
        if (segment.first, segment.previous) != (end + 1, previous):
            yield _problem("gap", segment, f"expected an index from entry {end + 1} on, got one from {segment.first}")
        yield from _rebuilt(unit, tenant_id, segment)
        end, previous = segment.last, segment.sequence_number


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


def _problem(wrong: str, segment: IndexSegment, message: str) -> RowProblem:
    number = segment.sequence_number
    return RowProblem(code=f"index.{wrong}", message=f"the index that entry {number} logs: {message}", entry=number)
