"""The ladder follows recorded scores by the contract's thresholds and routes, and asks nobody."""

from decimal import Decimal

import pytest

from assay.truth.flag import Flag
from assay.truth.ladder import Ending, choose_scores, climb_ladder
from tests.truth.compiling import at, compiled, flood, observed, scored, scores_for, trusted

CONTRACT = flood()
ONE = observed("user:amira")
TRUST = trusted(amira="silver", ben="silver", cleo="expert")


def _climbed(*scores: tuple[str, float]) -> tuple[Ending, Decimal | None]:
    given = [scored(ONE, stage, score) for stage, score in scores]
    chosen, _ = choose_scores(CONTRACT.ai_validation_routing, given, at("13:30"))
    climb = climb_ladder(CONTRACT.ai_validation_routing, ONE.observation_hash, chosen)
    return climb.ending, climb.score


@pytest.mark.clause("kaori", "1.1")
@pytest.mark.parametrize(
    ("scores", "ending", "last"),
    [
        ([], Ending.WAITING, None),
        ([("generalist", 0.9)], Ending.WAITING, None),
        ([("bouncer", 0.6)], Ending.WAITING, None),
        ([("bouncer", 0.2)], Ending.REJECTED, None),
        ([("bouncer", 0.21), ("generalist", 0.85)], Ending.ACCEPTED, "0.85"),
        ([("bouncer", 0.9), ("generalist", 0.15)], Ending.HUMAN, "0.15"),
        ([("bouncer", 0.9), ("generalist", 0.84)], Ending.WAITING, "0.84"),
        ([("bouncer", 0.9), ("generalist", 0.5), ("specialist", 0.8)], Ending.ACCEPTED, "0.8"),
        ([("bouncer", 0.9), ("generalist", 0.5), ("specialist", 0.5)], Ending.HUMAN, "0.5"),
        ([("bouncer", 0.9), ("generalist", 0.9), ("specialist", 0.1)], Ending.ACCEPTED, "0.9"),
    ],
)
def test_an_observation_climbs_as_far_as_its_scores_lead(
    scores: list[tuple[str, float]], ending: Ending, last: str | None
) -> None:
    """Both thresholds belong to their outcome; a score of a rung that was not routed to is not looked at.

    What the bouncer's form checks say leads on and is no machine's confidence.
    """
    assert _climbed(*scores) == (ending, None if last is None else Decimal(last))


def test_the_latest_score_of_a_rung_stands_and_of_two_at_once_the_lower() -> None:
    older = scored(ONE, "bouncer", 0.1, scored_at="2026-01-07T12:20:00Z")
    newer, lower = scored(ONE, "bouncer", 0.9), scored(ONE, "bouncer", 0.7)
    for order in ([older, newer, lower], [lower, older, newer]):
        chosen, flags = choose_scores(CONTRACT.ai_validation_routing, order, at("13:30"))
        assert [score.score for score in chosen.values()] == [Decimal("0.7")]
        assert flags == set()


@pytest.mark.parametrize("members", [{"engine": "other"}, {"scored_at": "2026-01-07T14:00:00Z"}])
def test_a_score_of_another_engine_or_from_later_does_not_count(members: dict[str, object]) -> None:
    chosen, flags = choose_scores(CONTRACT.ai_validation_routing, [scored(ONE, "bouncer", 0.9, **members)], at("13:30"))
    assert (chosen, flags) == ({}, {Flag.AI_SCORE_NOT_COUNTED})


def test_a_score_for_a_rung_that_the_contract_leaves_out_does_not_count() -> None:
    coral = flood(name="coral_bleaching_v1")
    _, flags = choose_scores(coral.ai_validation_routing, [scored(ONE, "generalist", 0.9)], at("13:30"))
    assert flags == {Flag.AI_SCORE_NOT_COUNTED}


def test_what_the_machines_say_together_is_a_mean_by_weight() -> None:
    """Silver 3 at 0.9 and expert 7 at 0.95: 9.35 / 10; ben was not scored and is left out."""
    amira, ben, cleo = (observed(f"user:{name}") for name in ("amira", "ben", "cleo"))
    given = [*scores_for([amira], 0.9), *scores_for([cleo], 0.95)]
    state = compiled(CONTRACT, [amira, ben, cleo], TRUST, ai_scores=given)
    assert state.ai_confidence == Decimal("0.935")
    assert Flag.LADDER_UNFINISHED in state.transparency_flags


def test_an_observation_that_the_bouncer_rejects_does_not_speak() -> None:
    bad = observed("user:cleo", {"severity": "low", "water_level_meters": 9})
    state = compiled(CONTRACT, [ONE, bad], TRUST, ai_scores=[scored(bad, "bouncer", 0.1)])
    assert state.claim["water_level_meters"] == 1.25
    assert state.observation_ids == (ONE.observation.observation_id,)
    assert Flag.AI_REJECTED in state.transparency_flags
