"""A passage: the words of a source on which a claim rests, and where they stand in it.

pointer + quote + offset | selector -> Passage;   Passage + content -> SupportResult
An extension of the evidence pointer: it travels beside the bundle, so that readers of the specification never see it.
"""

from enum import StrEnum

from msgspec import UNSET, Struct, UnsetType


class SupportResult(StrEnum):
    """What a check of one passage found.

    SUPPORTED: the words are where the pointer says, and they say what the claim says. NOT_FOUND: they are nowhere in
    what is held. MISATTRIBUTED: they are found, elsewhere. STITCHED: only fragments of them are found. ABSENT: the
    content is not held here, or cannot be read. CONTRADICTED and UNCLEAR: the words are there, and say otherwise, or
    do not settle the claim.
    """

    SUPPORTED = "supported"
    NOT_FOUND = "not_found"
    MISATTRIBUTED = "misattributed"
    STITCHED = "stitched"
    ABSENT = "absent"
    CONTRADICTED = "contradicted"
    UNCLEAR = "unclear"


class Selector(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way to name a part of a document: a page (from 1), a JSON pointer, or the cell of a table.

    A table is CSV or TSV whose first row names the columns; `row` counts the rows after it, from 1.
    """

    page: int | UnsetType = UNSET
    pointer: str | UnsetType = UNSET
    row: int | UnsetType = UNSET
    column: str | UnsetType = UNSET


class Passage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The quote that the pointer of that `place` (from 0) of a claim rests on; `offset` counts characters."""

    place: int
    quote: str
    offset: int | UnsetType = UNSET
    selector: Selector | UnsetType = UNSET
