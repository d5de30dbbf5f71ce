"""Answers outside the largest meaning, and evidence that this node never saw: both count, and both are told."""

import pytest
from msgspec.structs import replace

from assay.claims.bundle import Decision, GateName, Recommendation
from assay.claims.decide import Outcome, run_gates
from assay.claims.errors import ClaimsError
from assay.claims.estimate.cluster import SampledAnswer
from assay.claims.estimate.disagree import estimate_disagreement
from assay.claims.estimate.entropy import estimate_entropy
from assay.claims.estimate.equivalence import RuleJudge
from assay.claims.estimate.estimate import Dissent, Estimate, dissent_of
from assay.claims.finding import FindingCode
from assay.claims.gate import GateRules, standard_gates
from assay.claims.guardian import BuiltInGuardian
from assay.claims.parse_policy import check_policy, parse_policy
from assay.claims.policy import DEFAULT_POLICY, ClaimsPolicy, UncertaintyPolicy, policy_hash
from assay.claims.render_policy import render_policy
from assay.identity.risk import RiskTier
from tests.claims.making import bundle, claim, facts
from tests.raising import raises

_WORDS = ("the red house", "a green boat", "one blue train", "nine old maps", "some dry bread")


def _estimate(*sizes: int) -> Estimate:
    answers = [text for text, size in zip(_WORDS, sizes, strict=False) for _ in range(size)]
    return estimate_entropy("What is it?", [SampledAnswer(text=one) for one in answers], RuleJudge())


def _gated(estimate: Estimate, policy: ClaimsPolicy = DEFAULT_POLICY, **changes: object) -> Outcome:
    given = facts(estimates={"c-1": estimate}, **changes)
    return run_gates(bundle(), standard_gates([BuiltInGuardian()]), given, policy)


@pytest.mark.clause("claimbundle", "semantic-entropy")
@pytest.mark.parametrize(
    ("sizes", "called"),
    [
        ((5,), Recommendation.EXECUTE),
        ((4, 1), Recommendation.EXPLAIN),
        ((3, 2), Recommendation.DEFER),
        ((3, 1, 1), Recommendation.DEFER),
        ((2, 2, 1), Recommendation.DEFER),
        ((9, 1), Recommendation.EXPLAIN),
    ],
)
def test_a_split_of_answers_counts_whatever_the_entropy_says(sizes: tuple[int, ...], called: Recommendation) -> None:
    """Three against two has an entropy of 0.42, which alone would pass; any minority is at least a caveat."""
    made = _estimate(*sizes)
    assert made.recommendation is called
    outcome = _gated(made)
    assert outcome.decision is (Decision.DEFER if called is Recommendation.DEFER else Decision.PUBLISH)
    assert bool(outcome.caveats) is (called is Recommendation.EXPLAIN)


def test_the_finding_tells_share_and_entropy_with_their_interval() -> None:
    outcome = _gated(_estimate(3, 2))
    assert outcome.stopped_by is GateName.UNCERTAINTY
    (found,) = outcome.findings
    assert found.code is FindingCode.UNCERTAIN
    assert "semantic_entropy 0.418" in found.message
    assert "2 of 5 answers outside the largest meaning (0.40; 95 % interval 0.05 to 0.85)" in found.message


def test_the_interval_of_a_share_is_that_of_clopper_and_pearson() -> None:
    """Worked out by hand where one end is closed: 1 - 0.025 ** (1 / 5), and 0.975 ** … from the other side."""
    none = dissent_of((5,))
    assert (none.outside, none.low) == (0, 0.0)
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 5), abs=1e-9)
    one = dissent_of((4, 1))
    assert one.low == pytest.approx(1 - 0.975 ** (1 / 5), abs=1e-9)
    with raises(ClaimsError.scores):
        Dissent(answers=2, outside=2, low=0.0, high=1.0)


def test_a_policy_may_lower_the_share_and_never_raise_it() -> None:
    strict = replace(DEFAULT_POLICY, uncertainty=UncertaintyPolicy(defer_share=0.2))
    assert _gated(_estimate(4, 1), strict).decision is Decision.DEFER
    assert parse_policy(render_policy(strict)) == strict
    raised = render_policy(strict).replace("defer_share: 0.2", "defer_share: 0.5")
    assert check_policy(raised).policy is None


def test_three_answers_of_rising_temperature_are_split_too() -> None:
    made = estimate_disagreement("What is it?", ["the red house", "the red house", "a green boat"], RuleJudge())
    assert made.dissent == dissent_of((2, 1))
    assert made.recommendation is Recommendation.EXPLAIN


@pytest.mark.parametrize("tier", RiskTier)
@pytest.mark.parametrize("claim_type", ["FACT", "INFERENCE"])
def test_evidence_that_this_node_never_saw_is_a_caveat_below_and_deferred_above(
    tier: RiskTier, claim_type: str
) -> None:
    made = bundle(claim(risk_tier=str(tier), claim_type=claim_type))
    outcome = run_gates(made, standard_gates([BuiltInGuardian()]), facts(seen=frozenset()), DEFAULT_POLICY)
    if tier.rank <= RiskTier.WRITE_LIMITED.rank:
        assert outcome.decision is Decision.PUBLISH
        assert "this node never saw the content" in outcome.reason
    else:
        assert (outcome.decision, outcome.stopped_by) == (Decision.DEFER, GateName.EVIDENCE)
        assert [(one.code, one.resumable) for one in outcome.findings] == [(FindingCode.ABSENT, True)]


def test_a_decision_needs_no_evidence_so_none_is_missed() -> None:
    made = bundle(claim(claim_type="DECISION", risk_tier="MODIFY"))
    outcome = run_gates(made, standard_gates([BuiltInGuardian()]), facts(seen=frozenset()), DEFAULT_POLICY)
    assert (outcome.decision, outcome.caveats) == (Decision.PUBLISH, ())


def test_a_policy_asks_for_more_and_never_for_less() -> None:
    """A rule of the policy counts where it is stricter than the default."""
    text = render_policy(DEFAULT_POLICY).replace(
        "  require_content: false\n",
        "  require_content: false\n"
        "  support: [{result: absent, recommendation: REFUSE, claim_types: [FACT], tiers: [READ_ONLY]},"
        " {result: not_found, recommendation: EXECUTE}]\n",
    )
    policy = parse_policy(text)
    assert parse_policy(render_policy(policy)) == policy
    gates = standard_gates([BuiltInGuardian()])
    unseen = facts(seen=frozenset())
    assert run_gates(bundle(), gates, unseen, policy).decision is Decision.REFUSE
    other = bundle(claim(claim_type="INFERENCE"))
    assert run_gates(other, gates, unseen, policy).decision is Decision.PUBLISH
    for wrong in ("result: seen", "tiers: [HIGH]", "claim_types: [TRUTH]", "other: 1"):
        assert check_policy(text.replace("result: absent", f"result: absent, {wrong}")).policy is None


def test_decisions_of_the_first_release_replay_by_its_rules() -> None:
    """Neither a split nor unseen evidence counted then; a policy of then keeps its hash."""
    outcome = _gated(_estimate(3, 2), rules=GateRules.FIRST, seen=frozenset())
    assert (outcome.decision, outcome.caveats) == (Decision.PUBLISH, ())
    assert policy_hash(DEFAULT_POLICY) == "sha256:0b950516a16f700707c8ecbba546491c2a86803048fb8c06c97daeadf673a699"
