"""A policy is tried on honest, lazy, spamming, colluding and sybil agents before anybody relies on it."""

import json
from decimal import Decimal
from functools import cache

import msgspec
import pytest

from assay.trust.errors import TrustError
from assay.trust.lint import LintCode, PolicyReport, lint_policy
from assay.trust.parse_policy import parse_policy
from assay.trust.simulate import Behaviour, Crowd, Simulation, simulate
from tests.raising import raises
from tests.trust.signals import policy, policy_text


@cache
def shipped() -> Simulation:
    return simulate(policy())


def ends(simulation: Simulation, behaviour: Behaviour) -> list[Decimal]:
    return [run.standings[-1] for run in simulation.runs if run.behaviour is behaviour]


def test_the_shipped_policies_have_no_finding() -> None:
    assert lint_policy(policy()).findings == ()
    coastal = parse_policy(policy_text("flow_coastal_v1"), parents={"flow_v1": policy_text()})
    assert lint_policy(coastal, runs=1).findings == ()


def test_under_the_shipped_policy_honest_agents_rise_above_all_others() -> None:
    worst = min(ends(shipped(), Behaviour.HONEST))
    others = [kind for kind in Behaviour if kind is not Behaviour.HONEST]
    assert all(max(ends(shipped(), kind)) < worst for kind in others)
    assert max(ends(shipped(), Behaviour.SPAMMER)) == 0


def test_a_simulation_repeats_exactly_and_follows_its_seed() -> None:
    again = simulate(policy())
    assert msgspec.json.encode(again) == msgspec.json.encode(shipped())
    other = simulate(policy(), seed="another", rounds=6)
    assert other.runs != simulate(policy(), rounds=6).runs


def test_sybils_come_after_a_third_and_colluders_lie_after_half() -> None:
    assert {run.first_round for run in shipped().runs if run.behaviour is Behaviour.SYBIL} == {30}
    assert {len(run.standings) for run in shipped().runs} == {90, 60}
    assert simulate(policy(), rounds=30).attacks < shipped().attacks
    assert shipped().keys == 360


def test_a_crowd_of_one_kind_is_enough() -> None:
    """With nobody against them, and a tie of two who never agree decided by nobody."""
    crowd = Crowd(honest=1, lazy=0, spammer=0, colluder=0, sybil=0)
    run = simulate(policy(), rounds=4, crowd=crowd)
    assert [one.behaviour for one in run.runs] == [Behaviour.HONEST]


@pytest.mark.parametrize(
    ("rounds", "crowd"),
    [(0, Crowd()), (10_001, Crowd()), (3, Crowd(honest=0, lazy=0, spammer=0, colluder=0, sybil=0))],
)
def test_a_simulation_without_days_or_agents_is_refused(rounds: int, crowd: Crowd) -> None:
    with raises(TrustError.simulation):
        simulate(policy(), rounds=rounds, crowd=crowd)


@cache
def _linted(changes: str, rounds: int) -> PolicyReport:
    """Once for each policy, whichever of its weaknesses is asked for."""
    return lint_policy(policy(**json.loads(changes)), rounds=rounds, runs=1)


def _network(cap: float, least: int) -> dict[str, object]:
    return {"bonus_per_weight": cap, "cap": cap, "decay_per_day": 0, "endorser_min_standing": least}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"theta_min": 0.5}, LintCode.NEWCOMER_UNHEARD),
        ({"limits": {"window": "P1D", "per_window": 200, "per_day": 200}}, LintCode.QUICK_AUTHORITY),
        ({"initial_standing": 900}, LintCode.QUICK_AUTHORITY),
        ({"updates": {"correct": 0, "incorrect": 5}}, LintCode.HONEST_FALL),
        ({"theta_min": 0.119, "updates": {"correct": 0, "incorrect": 20}}, LintCode.HONEST_UNHEARD),
        ({"updates": {"correct": 0, "incorrect": 5}}, LintCode.LAZY_AS_HONEST),
        ({"updates": {"correct": 3, "incorrect": 0}}, LintCode.SPAMMER_HEARD),
        ({"network": _network(0.2, 0)}, LintCode.SYBILS_LIFT_EACH_OTHER),
        ({"network": _network(1, 0)}, LintCode.COLLUSION_OUTVOTES),
    ],
)
def test_a_policy_that_lets_somebody_through_is_told_so(changes: dict[str, object], code: LintCode) -> None:
    # What is read off the policy needs no long life of its agents.
    rounds = 6 if code in (LintCode.NEWCOMER_UNHEARD, LintCode.QUICK_AUTHORITY) else 90
    report = _linted(json.dumps(changes), rounds)
    assert code in [finding.code for finding in report.findings]
    assert all(finding.message.startswith("expected ") for finding in report.findings)


def test_several_crowds_are_tried_and_the_worst_is_told() -> None:
    """What one run shows is told with what its worst run shows, and in how many runs it was seen."""
    lenient = policy(network=_network(1, 0))
    report = lint_policy(lenient, rounds=24, runs=3)
    alone = [lint_policy(lenient, seed=seed, rounds=24, runs=1) for seed in ("assay", "assay/2", "assay/3")]
    assert report.runs == 3
    seen = [{one.code: one for one in run.findings} for run in alone]
    assert {one.code for one in report.findings} == set().union(*seen)
    for finding in report.findings:
        shown = [found[finding.code].message for found in seen if finding.code in found]
        assert (finding.runs, finding.message in shown) == (len(shown), True)
    lies = next(one for one in report.findings if one.code is LintCode.COLLUSION_OUTVOTES)
    shares = [run.simulation.outvoted / run.simulation.attacks for run in alone]
    worst = alone[shares.index(max(shares))].simulation
    assert f"{worst.outvoted} of {worst.attacks}" in lies.message
    assert report.simulation in [run.simulation for run in alone]
    assert lint_policy(lenient, rounds=3, runs=1).simulation.seed == "assay"


def test_a_lint_without_a_run_is_refused() -> None:
    with raises(TrustError.simulation):
        lint_policy(policy(), runs=0)
