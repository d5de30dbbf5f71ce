"""Measured oversight, in simulation: who does not look is reported, who is slow is not, and shifts are seen."""

from collections.abc import Iterator
from itertools import product
from random import Random

import pytest

from assay.claims.errors import ClaimsError
from assay.claims.oversight.exchange import ALARM_WEALTH, ExchangeWatch
from assay.claims.oversight.reviewers import (
    AlarmKind,
    ReviewedTicket,
    ReviewerFigures,
    cohen_kappa,
    next_known_answer,
    review_figures,
)
from assay.claims.oversight.sample import (
    DrawnOutput,
    SamplePlan,
    commit_seed,
    is_drawn,
    is_known_answer,
    plan_message,
    verify_sample,
)
from assay.identity.risk import RiskTier
from assay.kernel.digest import digest_of
from tests.raising import raises
from tests.scale import scale

_SEED = b"s" * 32
_AGENTS = ("ai:a", "ai:b", "ai:c", "ai:d")
_RATES = {RiskTier.READ_ONLY: 0.1, RiskTier.DELETE: 1.0}


def _plan(**changes: object) -> SamplePlan:
    sound: dict[str, object] = {"id": "q1", "seed_hash": commit_seed(_SEED), "rates": _RATES, "known_answers": 0.2}
    return SamplePlan(**{**sound, **changes})  # type: ignore[arg-type]  # any of its fields


def _stream(reviewer: str, chance: Random, tickets: int = 200) -> Iterator[ReviewedTicket]:
    """Tickets of one reviewer: one in four has a known answer, half of those are wrong."""
    given: list[ReviewedTicket] = []
    for _ in range(tickets):
        known = chance.random() < 0.25
        agent, right = chance.choice(_AGENTS), chance.random() < 0.9
        if known:
            known_ones = [(one.agent, one.should_approve) for one in given if one.should_approve is not None]
            agent, right = next_known_answer(known_ones, product(_AGENTS, (True, False)))
        words = chance.randrange(80, 400)
        looks = not (reviewer == "lazy" or (reviewer == "colluding" and agent == "ai:a"))
        # A careful person errs in one ticket of ten.
        approved = (right if chance.random() < 0.9 else not right) if looks else True
        pace = 4.0 if looks else 40.0 if reviewer == "lazy" else 5.0
        slow = 3.0 if reviewer == "slow" else 1.0
        made = ReviewedTicket(
            reviewer=reviewer,
            kind="approval",
            agent=agent,
            approved=approved,
            words=words,
            seconds=slow * words / pace * chance.uniform(0.7, 1.3),
            should_approve=right if known else None,
        )
        given.append(made)
        yield made


def _figures(reviewer: str, seed: int) -> ReviewerFigures:
    (found,) = review_figures(list(_stream(reviewer, Random(seed))))  # noqa: S311  a simulation
    return found


def test_a_lazy_reviewer_is_reported_within_200_tickets() -> None:
    for seed in range(50):
        kinds = {one.kind for one in _figures("lazy", seed).alarms}
        assert kinds == {AlarmKind.APPROVES_EVERYTHING, AlarmKind.FASTER_THAN_READING}


def test_a_colluding_reviewer_is_reported_with_the_agent_that_is_helped() -> None:
    """Careful with everybody else, so that all tickets together look fine; 19 times in 20 within 200 tickets."""
    named = [{one.about for one in _figures("colluding", seed).alarms} for seed in range(100)]
    assert sum("ai:a" in one for one in named) >= 90
    assert not any(one - {"ai:a", None} for one in named)


def test_a_slow_and_honest_reviewer_is_not_reported() -> None:
    alarms = [_figures("slow", seed).alarms for seed in range(200)]
    assert sum(map(bool, alarms)) <= 2
    found = _figures("slow", 3)
    assert found.kappa is not None
    assert found.kappa.low > 0.3
    assert found.drift is not None
    assert found.drift.low <= 0.0 <= found.drift.high
    assert found.approval.low <= found.approval.value <= found.approval.high
    assert found.seconds > 30


def test_kappa_is_that_of_cohen_with_an_interval() -> None:
    """A worked example: 20 both yes, 15 both no, 5 and 10 apart of 50 gives 0.40."""
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    found = cohen_kappa(pairs)
    assert found is not None
    assert found.value == pytest.approx(0.4)
    assert found.low < 0.4 < found.high
    assert cohen_kappa(pairs[:9]) is None
    constant = cohen_kappa([(True, True)] * 20)
    assert constant is not None
    assert (constant.low, constant.high) == (-1.0, 1.0)
    lazy = cohen_kappa([(True, True)] * 10 + [(True, False)] * 10)
    assert lazy is not None
    assert lazy.value == pytest.approx(0.0)


def test_a_change_of_habit_is_told_as_drift() -> None:
    def ticket(*, approved: bool) -> ReviewedTicket:
        return ReviewedTicket(reviewer="r", kind="k", agent="a", approved=approved, words=10, seconds=60)

    tickets = [ticket(approved=place % 2 == 0) for place in range(100)] + [ticket(approved=True)] * 50
    (found,) = review_figures(tickets)
    assert found.drift is not None
    assert found.drift.low > 0.0
    (short,) = review_figures(tickets[:60])
    assert short.drift is None
    assert short.kappa is None


def test_the_sample_is_fixed_by_a_seed_that_was_committed_in_advance() -> None:
    """Whoever has the seed draws the same; one output more or less in the sample is found."""
    plan = _plan()
    hashes = [digest_of(str(number).encode()) for number in range(2000)]
    outputs = [
        DrawnOutput(bundle_hash=one, tier=RiskTier.READ_ONLY, was_drawn=is_drawn(plan, _SEED, one, RiskTier.READ_ONLY))
        for one in hashes
    ]
    assert 150 <= sum(one.was_drawn for one in outputs) <= 250
    verify_sample(plan, _SEED, outputs)
    left_out = DrawnOutput(
        bundle_hash=outputs[0].bundle_hash, tier=RiskTier.READ_ONLY, was_drawn=not outputs[0].was_drawn
    )
    with raises(ClaimsError.sample, match="another for 1"):
        verify_sample(plan, _SEED, [left_out, *outputs[1:]])
    with raises(ClaimsError.sample, match="expected the seed"):
        verify_sample(plan, b"t" * 32, outputs)
    assert all(is_drawn(plan, _SEED, one, RiskTier.DELETE) for one in hashes[:50])
    assert not any(is_drawn(plan, _SEED, one, RiskTier.MODIFY) for one in hashes[:50])
    assert 300 <= sum(is_known_answer(plan, _SEED, f"tkt_{number}") for number in range(2000)) <= 500


def test_a_plan_says_shares_and_is_signed_whole() -> None:
    with raises(ClaimsError.sample):
        _plan(known_answers=1.5)
    with raises(ClaimsError.sample):
        commit_seed(b"short")
    assert plan_message(_plan()) != plan_message(_plan(known_answers=0.3))


def _scores(chance: Random, number: int, shift: float = 0.0) -> list[tuple[float, float]]:
    return [(min(1.0, chance.betavariate(2.0, 5.0) + shift), chance.random()) for _ in range(number)]


def _watched(certified: list[float], scores: list[tuple[float, float]]) -> ExchangeWatch:
    watch = ExchangeWatch(certified)
    for score, tie_break in scores:
        watch.see(score, tie_break)
    return watch


def test_an_unshifted_stream_alarms_at_most_once_in_a_hundred() -> None:
    """Ville's inequality, seen: of 300 streams of 1,000 scores at most three reach the line."""
    streams = scale(100, 300)
    alarms = 0
    for seed in range(streams):
        chance = Random(seed)  # noqa: S311  a simulation
        certified = [score for score, _ in _scores(chance, 200)]
        alarms += _watched(certified, _scores(chance, 1000)).alarm_at is not None
    assert alarms <= max(1, streams // 100)


@pytest.mark.parametrize("shift", [0.15, -0.15, 0.3])
def test_a_shifted_stream_is_detected(shift: float) -> None:
    for seed in range(20):
        chance = Random(seed)  # noqa: S311  a simulation
        certified = [score for score, _ in _scores(chance, 300)]
        found = _watched(certified, [*_scores(chance, 200), *_scores(chance, 500, shift)])
        assert found.alarm_at is not None
        assert found.alarm_at > 200
        assert found.highest >= ALARM_WEALTH


def test_scores_are_finite_and_ties_are_broken_by_the_given_number() -> None:
    watch = ExchangeWatch([0.5] * 10)
    assert watch.see(0.5, 0.5) == pytest.approx(1.0)
    with raises(ClaimsError.scores):
        watch.see(float("nan"), 0.5)
