"""Indexes as stores get them."""

from assay.kernel.digest import digest_of
from assay.ports.index_store import IndexPage, IndexSegment


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
