"""A graph is reviewed by people before it is signed."""

import pytest

from assay.kernel.digest import Digest, digest_of
from assay.kernel.ids import PrincipalId
from assay.verdicts.graph.review import GraphReview, has_review
from tests.verdicts.graph.graphs import at

_HASH, _OTHER = digest_of(b"graph"), digest_of(b"another")


def _review(day: int, by: str, *, approved: bool, content: Digest = _HASH) -> GraphReview:
    return GraphReview(
        content_hash=content,
        reviewed_by=PrincipalId(f"user:{by}"),
        reviewed_at=at(f"2026-01-{day:02d}T00:00:00+00:00"),
        approved=approved,
    )


@pytest.mark.clause("ski", "2.1.2")
def test_an_approval_is_of_exactly_one_content() -> None:
    """A changed graph has another hash, and nobody's word."""
    reviews = (_review(1, "ada", approved=True),)
    assert has_review(reviews, _HASH)
    assert not has_review(reviews, _OTHER)
    assert not has_review((), _HASH)


def test_each_persons_last_word_counts() -> None:
    """A refusal stands until that person takes it back, whatever the order in which reviews are given."""
    yes, no = _review(1, "ada", approved=True), _review(2, "bob", approved=False)
    again = _review(3, "bob", approved=True)
    assert not has_review((yes, no), _HASH)
    assert has_review((again, no, yes), _HASH)
