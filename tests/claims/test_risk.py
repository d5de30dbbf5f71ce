"""Tiers by rank, approvals by tier, recommendations by the strictest."""

from itertools import chain, combinations

import pytest

from assay.claims.bundle import Decision, Recommendation
from assay.claims.decide import run_gates
from assay.claims.gate import standard_gates
from assay.claims.guardian import BuiltInGuardian
from assay.claims.policy import DEFAULT_POLICY, ApprovalNeed, ApprovalPolicy, Thresholds, TierNeeds
from assay.claims.risk import approval_needs, highest_tier, recommend, required_approvals, strictest_recommendation
from assay.identity.risk import RiskTier
from tests.claims.making import bundle, claim, facts, tier_claim

_TIERS = list(RiskTier)
_SUBSETS = list(chain.from_iterable(combinations(_TIERS, size) for size in range(1, 6)))


@pytest.mark.clause("claimbundle", "risk-tiers")
@pytest.mark.parametrize("tiers", _SUBSETS, ids="+".join)
def test_every_set_of_tiers_asks_for_the_right_people(tiers: tuple[RiskTier, ...]) -> None:
    """All 31: DELETE asks the ops team, PRIVILEGE the security team, nothing else asks anybody."""
    asked = bundle(*(tier_claim(tier) for tier in tiers))
    expected = [
        role for tier, role in ((RiskTier.DELETE, "ops_team"), (RiskTier.PRIVILEGE, "security_team")) if tier in tiers
    ]
    outcome = run_gates(asked, standard_gates([BuiltInGuardian()]), facts(), DEFAULT_POLICY)
    assert list(outcome.required_approvals) == expected
    assert outcome.decision is (Decision.ESCALATE if expected else Decision.PUBLISH)
    assert highest_tier(asked) is max(tiers, key=lambda tier: tier.rank)


def test_there_are_31_sets_of_tiers() -> None:
    assert len(set(_SUBSETS)) == 31


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, "EXECUTE"), (0.5, "EXECUTE"), (0.500001, "EXPLAIN"), (0.75, "EXPLAIN"), (0.750001, "DEFER"), (1.0, "DEFER")],
)
def test_above_a_threshold_the_answer_is_stricter(value: float, expected: str) -> None:
    """On it, it is not."""
    assert recommend(value, Thresholds()) == expected


def test_recommendations_are_ranked_from_execute_to_refuse() -> None:
    """By strictness, never by their letters."""
    assert strictest_recommendation(Recommendation) is Recommendation.REFUSE
    assert strictest_recommendation((Recommendation.EXECUTE, Recommendation.EXPLAIN)) is Recommendation.EXPLAIN
    assert strictest_recommendation((Recommendation.DEFER, Recommendation.EXPLAIN)) is Recommendation.DEFER


def test_an_agent_may_ask_for_more_people_and_never_for_fewer() -> None:
    """Whom the bundle names comes on top of what its tiers call for."""
    asked = bundle(claim(risk_tier="DELETE"), required_approvals=["legal_team", "ops_team"])
    assert required_approvals(asked, DEFAULT_POLICY.approvals) == ("legal_team", "ops_team")
    assert required_approvals(bundle(claim(risk_tier="DELETE")), DEFAULT_POLICY.approvals) == ("ops_team",)


def test_of_two_needs_of_one_role_the_larger_counts() -> None:
    """Two tiers that both ask the board ask it once, with the larger number."""
    policy = ApprovalPolicy(
        by_tier=(
            TierNeeds(tier=RiskTier.DELETE, needs=(ApprovalNeed(role="board", people=2),)),
            TierNeeds(tier=RiskTier.PRIVILEGE, needs=(ApprovalNeed(role="board", people=1),)),
        )
    )
    asked = bundle(tier_claim(RiskTier.DELETE), tier_claim(RiskTier.PRIVILEGE))
    assert approval_needs(asked, policy) == (ApprovalNeed(role="board", people=2),)
