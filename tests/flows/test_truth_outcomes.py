"""Who was right, by what a final state says."""

from decimal import Decimal

import pytest
from msgspec.structs import replace

from assay.flows.truth.state_signal import judge_outcomes
from assay.trust.signal import OutcomeRole
from assay.truth.consensus import Ballot
from assay.truth.contract import Contract, Standing
from assay.truth.observation import Observation
from assay.truth.state import TruthState
from assay.truth.status import TruthStatus
from tests.truth.compiling import compiled, flood, observed, trusted, voted

_SAID: dict[str, dict[str, object]] = {
    "user:ann": {"severity": "high", "water_level_meters": 1.25, "road_passable": False},
    "user:ben": {"severity": "high", "water_level_meters": 2.6},
    "user:cem": {"severity": "low", "water_level_meters": 1.0},
    "user:dan": {"water_level_meters": 1.1, "road_passable": True},
}


def _observations() -> list[Observation]:
    return [observed(name, dict(payload)).observation for name, payload in _SAID.items()]


def _state(status: TruthStatus, contract: Contract | None = None) -> TruthState:
    given = [observed(name, dict(payload)) for name, payload in _SAID.items()]
    snapshot = trusted(ann="expert", ben="silver", cem="bronze", dan="bronze")
    state = compiled(contract or flood(), given, snapshot)
    return replace(state, status=status, confidence=Decimal("0.75"))


def _right(state: TruthState, contract: Contract | None = None) -> dict[str, bool | None]:
    outcomes = judge_outcomes(contract or flood(), state, _observations(), ())
    assert all(one.role is OutcomeRole.REPORTER for one in outcomes)
    return {one.agent_id.removeprefix("user:"): one.correct for one in outcomes}


def test_of_a_true_claim_those_are_right_who_said_it() -> None:
    """At every field with one right answer; a measure may lie as far off as the contract tolerates, 1.5 metres here."""
    state = _state(TruthStatus.VERIFIED_TRUE)
    assert state.claim["severity"] == "high"
    assert _right(state) == {"ann": True, "ben": True, "cem": False, "dan": False}


def test_a_measure_beyond_the_tolerance_is_wrong() -> None:
    changed = flood(
        {
            "contradiction_rules": [
                {
                    "id": "level_spread",
                    "path": "water_level_meters",
                    "compare": "spread",
                    "tolerance": 0.2,
                    "min_share": 0.9,
                    "action": "flag",
                }
            ]
        }
    )
    assert _right(_state(TruthStatus.VERIFIED_TRUE, changed), changed)["ben"] is False


def test_reporters_of_numbers_are_judged_by_the_median_which_a_few_liars_cannot_move() -> None:
    """Six reports near 40 and two of 50 metres, whose mean lies beyond the tolerance of the six: the six are right."""
    said = {f"user:a{place}": 40 + place / 10 for place in range(6)} | {"user:x": 50, "user:y": 50}
    given = [observed(name, {"severity": "high", "water_level_meters": level}) for name, level in said.items()]
    snapshot = trusted(**{name.removeprefix("user:"): "silver" for name in said})
    final = replace(compiled(flood(), given, snapshot), status=TruthStatus.VERIFIED_TRUE, confidence=Decimal("0.75"))
    observations = [one.observation for one in given]
    right = {one.agent_id: one.correct for one in judge_outcomes(flood(), final, observations, ())}
    assert right == {name: level < 41 for name, level in said.items()}
    first = replace(final, compile_inputs=replace(final.compile_inputs, compiler_version="assay-0.1.0"))
    assert not any(one.correct for one in judge_outcomes(flood(), first, observations, ()))


def test_of_a_false_claim_those_are_wrong_who_said_it_and_nobody_is_right() -> None:
    """To have said another thing is not yet to have been right."""
    assert _right(_state(TruthStatus.VERIFIED_FALSE)) == {"ann": False, "ben": False, "cem": None, "dan": None}


@pytest.mark.parametrize("status", [TruthStatus.INCONCLUSIVE, TruthStatus.EXPIRED])
def test_what_was_not_decided_judges_nobody(status: TruthStatus) -> None:
    assert set(_right(_state(status)).values()) == {None}


def test_where_no_field_has_one_right_answer_nobody_is_judged() -> None:
    """Without a tolerance a measure is right or wrong for nobody."""
    changed = flood(
        {
            "contradiction_rules": [],
            "claim_derivation": {
                "water_level_meters": {"strategy": "median", "path": "water_level_meters", "places": 2},
                "severity": {"strategy": "latest", "path": "severity"},
            },
        }
    )
    assert set(_right(_state(TruthStatus.VERIFIED_TRUE, changed), changed).values()) == {None}


def test_who_was_not_heard_is_not_judged() -> None:
    state = replace(_state(TruthStatus.VERIFIED_TRUE), observation_ids=())
    assert judge_outcomes(flood(), state, _observations(), ()) == ()


@pytest.mark.parametrize(
    ("vote_type", "true", "false"),
    [("RATIFY", True, False), ("REJECT", False, True), ("CHALLENGE", False, True), ("ABSTAIN", None, None)],
)
def test_voters_are_right_with_the_side_that_was_decided(vote_type: str, true: bool | None, false: bool | None) -> None:  # noqa: FBT001  parameters
    for status, right in (
        (TruthStatus.VERIFIED_TRUE, true),
        (TruthStatus.VERIFIED_FALSE, false),
        (TruthStatus.INCONCLUSIVE, None),
    ):
        (outcome,) = judge_outcomes(flood(), _state(status), (), [_ballot(vote_type)])
        assert (outcome.role, outcome.correct) == (OutcomeRole.VOTER, right)


def test_an_override_is_right_if_it_set_the_status() -> None:
    ballot = _ballot("OVERRIDE", override_status="VERIFIED_FALSE")
    outcomes = [
        judge_outcomes(flood(), _state(status), (), [ballot])[0]
        for status in (TruthStatus.VERIFIED_FALSE, TruthStatus.VERIFIED_TRUE)
    ]
    assert [one.correct for one in outcomes] == [True, False]


def test_quality_is_how_sure_the_state_is() -> None:
    """Of a claim found false, how unlikely it was."""
    for status, quality in ((TruthStatus.VERIFIED_TRUE, "0.75"), (TruthStatus.VERIFIED_FALSE, "0.25")):
        assert {one.quality for one in judge_outcomes(flood(), _state(status), _observations(), ())} == {
            Decimal(quality)
        }


def _ballot(vote_type: str, *, override_status: str | None = None) -> Ballot:
    vote = voted("user:eve", vote_type, override_status=override_status)
    return Ballot(vote=vote, vote_hash="0" * 64, standing=Standing.EXPERT, value=Decimal(1))


def test_an_outcome_names_the_probe_that_the_observation_was_made_for() -> None:
    """By which the fold knows who dealt with themselves."""
    given = {"user:ann": "probe-1", "user:ben": None}
    made = [observed(name, dict(_SAID[name]), probe_id=probe) for name, probe in given.items()]
    state = compiled(flood(), made, trusted(ann="expert", ben="silver"))
    final = replace(state, status=TruthStatus.VERIFIED_TRUE)
    outcomes = judge_outcomes(flood(), final, [one.observation for one in made], ())
    assert {one.agent_id: one.probe_id for one in outcomes} == given
