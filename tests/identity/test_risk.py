"""Risk tiers are ranked, never spelled."""

from itertools import pairwise

import pytest

from assay.identity.errors import IdentityError
from assay.identity.risk import RiskTier, parse_risk_tier
from tests.raising import raises


def test_the_five_tiers_rise_in_the_order_of_the_specification() -> None:
    """By spelling, DELETE would come before READ_ONLY."""
    assert [tier.value for tier in sorted(RiskTier)] == ["READ_ONLY", "WRITE_LIMITED", "MODIFY", "DELETE", "PRIVILEGE"]
    assert max(RiskTier.DELETE, RiskTier.READ_ONLY) is RiskTier.DELETE
    assert [tier.rank for tier in RiskTier] == [0, 1, 2, 3, 4]


def test_each_tier_is_below_the_next_by_every_operator() -> None:
    """All four comparisons follow the rank, also against the plain text of a tier."""
    for lower, higher in pairwise(RiskTier):
        assert lower < higher
        assert lower <= higher
        assert higher > lower
        assert higher >= lower
        assert lower <= lower.value
        assert not lower > higher.value


@pytest.mark.parametrize("text", ["", "delete", "ADMIN"])
def test_an_unknown_tier_is_refused_in_parsing_and_in_comparing(text: str) -> None:
    """A tier that nobody knows has no rank, so no answer would be honest."""
    with raises(IdentityError.risk_tier):
        parse_risk_tier(text)
    with raises(IdentityError.risk_tier):
        assert max(RiskTier.MODIFY, text)
