"""Risk: what a bundle's tiers and uncertainties call for.

tiers -> the highest -> who must approve;   value + thresholds -> recommendation -> the strictest of all
"""

from collections.abc import Iterable

from assay.claims.bundle import ClaimBundle, Recommendation
from assay.claims.policy import ApprovalNeed, ApprovalPolicy, Thresholds
from assay.identity.risk import RiskTier


def highest_tier(bundle: ClaimBundle) -> RiskTier:
    """The highest tier of the claims, by rank and never by spelling."""
    return max((claim.risk_tier for claim in bundle.claims), key=lambda tier: tier.rank)


def recommend(value: float, thresholds: Thresholds) -> Recommendation:
    """A threshold itself is still allowed: only above it the answer is stricter."""
    if value > thresholds.defer_above:
        return Recommendation.DEFER
    return Recommendation.EXPLAIN if value > thresholds.explain_above else Recommendation.EXECUTE


def recommend_share(share: float, defer_from: float) -> Recommendation:
    """What the share of answers outside the largest meaning calls for: any is a caveat, from the line on DEFER."""
    if share >= defer_from:
        return Recommendation.DEFER
    return Recommendation.EXPLAIN if share > 0.0 else Recommendation.EXECUTE


def strictest_recommendation(recommendations: Iterable[Recommendation]) -> Recommendation:
    return max(recommendations, key=lambda one: one.rank)


def approval_needs(bundle: ClaimBundle, policy: ApprovalPolicy) -> tuple[ApprovalNeed, ...]:
    """Who must approve, each role once with the largest number, by name.

    Whoever the bundle itself names is needed too: an agent may ask for more people, never for fewer.
    """
    people = dict.fromkeys(bundle.required_approvals, 1)
    tiers = {claim.risk_tier for claim in bundle.claims}
    for row in policy.by_tier:
        for need in row.needs if row.tier in tiers else ():
            people[need.role] = max(people.get(need.role, 0), need.people)
    return tuple(ApprovalNeed(role=role, people=people[role]) for role in sorted(people))


def required_approvals(bundle: ClaimBundle, policy: ApprovalPolicy) -> tuple[str, ...]:
    return tuple(need.role for need in approval_needs(bundle, policy))
