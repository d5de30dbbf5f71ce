"""Who reviewed which graph: people look at a graph before it is signed (SKI 2.1.2)."""

from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant


class GraphReview(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person's word on exactly this content; a changed graph has another hash, and nobody's word."""

    content_hash: Digest
    reviewed_by: PrincipalId
    reviewed_at: Instant
    approved: bool
    note: str | None = None


def has_review(reviews: tuple[GraphReview, ...], content_hash: Digest) -> bool:
    """Whether somebody approved this content, and nobody's last word on it was a refusal."""
    last: dict[PrincipalId, GraphReview] = {}
    for review in sorted(reviews, key=lambda each: each.reviewed_at):
        if review.content_hash == content_hash:
            last[review.reviewed_by] = review
    return bool(last) and all(review.approved for review in last.values())
