"""The same log under another policy: what would be different, and for whom."""

from decimal import Decimal

from assay.trust.counterfactual import replay_under
from tests.trust.signals import CLAIM_TYPE, emitted, instant, outcome, policy, registered

LOG = [
    registered("user:a"),
    registered("user:b"),
    registered("user:c"),
    emitted(outcome("user:a"), outcome("user:b", correct=False)),
]


def test_a_stricter_policy_shows_whom_it_would_cost_what() -> None:
    """The greatest change first; who would be trusted the same is counted, not listed."""
    found = replay_under(
        iter(LOG), policy(), policy(updates={"correct": 3, "incorrect": 9}), claim_type=CLAIM_TYPE, at=instant()
    )
    [one] = found.differences
    assert (one.agent_id, found.unchanged, found.signals) == ("user:b", 2, 4)
    assert one.under_policy.standing == Decimal("296.534264")
    assert one.under_other.standing == Decimal("293.761675")
    assert one.change == one.under_other.trust_score - one.under_policy.trust_score < 0


def test_differences_are_ordered_by_size_then_name() -> None:
    found = replay_under(LOG, policy(), policy(initial_standing=500), claim_type=CLAIM_TYPE, at=instant())
    assert [one.agent_id for one in found.differences] == ["user:a", "user:c", "user:b"]
    assert (found.unchanged, found.policy_hash == policy().policy_hash) == (0, True)


def test_the_same_policy_differs_nowhere() -> None:
    found = replay_under(LOG, policy(), policy(), claim_type=CLAIM_TYPE, at=instant())
    assert (found.differences, found.unchanged) == ((), 3)
