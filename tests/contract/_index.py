"""Indexes as stores get them."""

from assay.kernel.digest import digest_of
from assay.kernel.ledger import EntryKind, draft_entry
from assay.kernel.term_index import Seal
from assay.ports.database import Unit
from assay.ports.index_store import IndexPage, IndexSegment
from tests.contract._kit import AT
from tests.contract._records import ACME


def segment(number: int = 9, *, first: int = 1, last: int = 8, previous: int | None = None) -> IndexSegment:
    root = digest_of(b"%d" % number)
    return IndexSegment(sequence_number=number, first=first, last=last, leaves=600, root=root, previous=previous)


def pages(number: int = 9) -> tuple[IndexPage, ...]:
    """Three pages, whose first keys are 10…, 20… and 30…."""
    return tuple(
        IndexPage(
            sequence_number=number,
            position=position,
            first_key=bytes([(position + 1) * 16]) * 16,
            root=bytes([position]) * 32,
            content=bytes([0, 255, position]),
        )
        for position in range(3)
    )


def record_segment(unit: Unit, row: IndexSegment, rows: tuple[IndexPage, ...]) -> int:
    """Record the entry that logs a segment, and its pages; return the number of the entry."""
    seal = Seal(first=row.first, last=row.last, leaves=row.leaves, root=row.root, previous=row.previous)
    receipt = unit.record(draft_entry(ACME, EntryKind.INDEX_SEALED, seal, at=AT))
    unit.index.add_pages(ACME, rows)
    return receipt.sequence_number
