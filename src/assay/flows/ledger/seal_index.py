"""The newest entries are indexed, and the root of the index is logged: from then on a search over them can be proven.

entries after the last index, at most a segment -> leaves -> root -> entry and rows in one commit -> the next segment
"""

from functools import partial
from typing import NamedTuple

from assay.flows.ledger.in_force import require_newest
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, draft_entry
from assay.kernel.term_index import MAX_SEGMENT, Leaf, Seal, build_leaves, page_root, paged, tree_of, write_leaves
from assay.ports.database import Unit
from assay.ports.index_store import IndexPage, IndexSegment


class _Built(NamedTuple):
    """An index of a segment, built and not yet in the ledger."""

    seal: Seal
    leaves: list[Leaf]


def seal_index(tools: Tools, tenant_id: TenantId, *, at: Instant, at_least: int = 1) -> tuple[IndexSegment, ...]:
    """Index what no index covers yet, once that is `at_least` entries; the last index's own entry alone never is.

    Others may append meanwhile: what came after the look is for the next time. Of two at once, one finds it done.
    """
    sealed: list[IndexSegment] = []
    end = tools.database.read(lambda unit: unit.ledger.head(tenant_id).sequence_number)
    while built := tools.database.read(partial(_build, tenant_id, end, at_least)):
        draft = draft_entry(tenant_id, EntryKind.INDEX_SEALED, built.seal, at=at)
        segment = tools.database.write(partial(_log, tenant_id, built, draft))
        if segment is None:
            break
        sealed.append(segment)
    return tuple(sealed)


def pages_of(sequence_number: int, first: int, leaves: list[Leaf]) -> tuple[IndexPage, ...]:
    """Leaves as they are stored with the index that this entry logs."""
    return tuple(
        IndexPage(
            sequence_number=sequence_number,
            position=position,
            first_key=page[0].key,
            root=page_root(page, first=first),
            content=write_leaves(page, first=first),
        )
        for position, page in enumerate(paged(leaves))
    )


def _build(tenant_id: TenantId, end: int, at_least: int, unit: Unit) -> _Built | None:
    latest = unit.index.find_latest(tenant_id)
    # Whoever took the newest row away would have the same entries indexed twice.
    require_newest(unit, tenant_id, EntryKind.INDEX_SEALED, None if latest is None else latest.sequence_number)
    covered, previous = (0, None) if latest is None else (latest.last, latest.sequence_number)
    # An index over nothing but the last index would be followed by one over that, and so on for ever.
    if end - covered < at_least or end == previous:
        return None
    first, last = covered + 1, min(covered + MAX_SEGMENT, end)
    leaves = build_leaves(first, (row.text for row in unit.ledger.entries(tenant_id, first=first, last=last)))
    root = tree_of(leaves, first=first).root
    return _Built(Seal(first=first, last=last, leaves=len(leaves), root=root, previous=previous), leaves)


def _log(tenant_id: TenantId, built: _Built, draft: Draft, unit: Unit) -> IndexSegment | None:
    """The index on record, unless another covers some of it by now."""
    seal = built.seal
    latest = unit.index.find_latest(tenant_id)
    if seal.previous != (None if latest is None else latest.sequence_number):
        return None
    number = unit.record(draft).sequence_number
    unit.index.add_pages(tenant_id, pages_of(number, seal.first, built.leaves))
    return unit.index.find_latest(tenant_id)
