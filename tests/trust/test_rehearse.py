"""The whole circle in one process: reports are compiled, final states teach, and the next key is compiled better."""

from decimal import Decimal
from functools import cache
from statistics import mean

import pytest

from assay.trust.parse_policy import parse_policy
from assay.trust.policy import TrustPolicy
from assay.trust.rehearse import Rehearsal
from assay.trust.simulated_contract import simulated_contract
from assay.truth.state import render_truth_state
from assay.truth.status import TruthStatus
from tests.trust.signals import policy_text

_HONEST = [f"user:h{number}" for number in range(6)]
_LIARS = [f"user:x{number}" for number in range(4)]
_VALUES = ("low", "moderate", "high", "critical")


@cache
def _policy() -> TrustPolicy:
    return parse_policy(policy_text("flow_v2"), parents={"flow_v1": policy_text()})


def _rehearsed(keys: int, *, missing: frozenset[str] = frozenset()) -> tuple[Rehearsal, list[str]]:
    """Honest agents say the truth but for one that errs in turn; liars agree on one lie at every key."""
    rehearsal = Rehearsal(simulated_contract(), _policy(), [*_HONEST, *_LIARS])
    lies = []
    for number in range(keys):
        truth, lie = _VALUES[number % 4], _VALUES[(number + 1) % 4]
        said = dict.fromkeys(_LIARS, lie)
        for place, name in enumerate(_HONEST):
            said[name] = _VALUES[(number + 2) % 4] if (number + place) % 6 == 0 else truth
        rehearsal.report({name: {"value": value} for name, value in sorted(said.items()) if name not in missing})
        lies.append(lie)
    return rehearsal, lies


def test_liars_are_found_out_and_their_word_counts_against_them() -> None:
    rehearsal, lies = _rehearsed(24)
    late = list(zip(rehearsal.states, lies, strict=True))[8:]
    assert all(one.state.claim["value"] != lie for one, lie in late)
    assert all(one.state.status is TruthStatus.VERIFIED_TRUE for one, _ in late)
    snapshot = rehearsal.freeze([*_HONEST, *_LIARS])
    accuracy = {}
    for name, trust in snapshot.agent_trusts.items():
        assert trust.competence is not None
        field = trust.competence.fields["value"]
        accuracy[name] = field.right / (field.right + field.wrong)
    assert max(accuracy[name] for name in _LIARS) < Decimal("0.2")
    assert min(accuracy[name] for name in _HONEST) > Decimal("0.6")


def test_the_same_reports_give_the_same_bytes() -> None:
    one, other = _rehearsed(6)[0], _rehearsed(6)[0]
    assert [render_truth_state(done.state) for done in one.states] == [
        render_truth_state(done.state) for done in other.states
    ]


@pytest.mark.parametrize("missing", [{"user:h0"}, {"user:h0", "user:h3"}, {"user:h1", "user:h2", "user:h4"}])
def test_without_some_honest_reports_a_lie_is_believed_no_more_on_average(missing: set[str]) -> None:
    """The mean share of the lie does not fall when honest agents report as well."""
    whole, lies = _rehearsed(20)
    fewer, _ = _rehearsed(20, missing=frozenset(missing))
    assert _belief_in(whole, lies) <= _belief_in(fewer, lies)


def _belief_in(rehearsal: Rehearsal, lies: list[str]) -> float:
    """The confidence of states that claim the lie; 0 where something else is claimed."""
    return mean(
        float(done.state.confidence) if done.state.claim["value"] == lie else 0
        for done, lie in zip(rehearsal.states, lies, strict=True)
    )
