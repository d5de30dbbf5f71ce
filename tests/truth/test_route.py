"""Every status is reached, by the rule that the contract names, and for the reason that the basis says."""

from typing import Any

import pytest

from assay.truth.flag import Flag
from assay.truth.observation import HashedObservation
from assay.truth.state import TruthState
from tests.truth.compiling import compiled, flood, observed, scored, scores_for, trusted, voted, window

CONTRACT = flood()
# Certain from the start, so that only the rule under test decides.
SURE: dict[str, object] = {
    "confidence_model.components": {
        "agreement": {"weight": 1, "source": "agreement", "normalize": {"method": "clamp"}}
    },
    "confidence_model.modifiers": {},
}
CRITICAL: dict[str, object] = SURE | {"risk_profile": "critical", "validation_flow.mode": "human_peer"}
NO_IMPLICIT: dict[str, object] = {"implicit_consensus.enabled": False}
ALONE = [observed("user:amira")]
THREE = [observed(f"user:{name}") for name in ("amira", "ben", "cleo")]
TRUST = trusted(amira="silver", ben="silver", cleo="expert", dan="expert", eva="expert", fay="authority")


def _compiled(changes: dict[str, object], observations: list[HashedObservation], **given: Any) -> TruthState:  # noqa: ANN401 - whatever the compiler takes
    return compiled(flood(changes), observations, TRUST, **given)


def _is(state: TruthState, status: str, basis: str, *flags: Flag) -> None:
    assert (state.status, state.verification_basis) == (status, basis)
    assert set(flags) <= set(state.transparency_flags)


@pytest.mark.clause("kaori", "law 4")
def test_no_observations_is_unverified_and_claims_nothing() -> None:
    state = _compiled(
        {}, [], votes=[voted("user:fay", "OVERRIDE", override_status="VERIFIED_TRUE")], window_events=[window()]
    )
    _is(state, "UNVERIFIED", "NONE")
    assert (state.claim, state.observation_ids, state.evidence_refs) == ({}, (), ())
    assert state.confidence == state.ai_confidence == 0
    assert len(state.compile_inputs.vote_hashes) == 1


@pytest.mark.clause("kaori", "10.1")
def test_an_observation_without_scores_and_votes_is_pending() -> None:
    _is(_compiled({}, ALONE), "PENDING", "NONE", Flag.LADDER_UNFINISHED, Flag.SINGLE_REPORTER)


@pytest.mark.clause("kaori", "10.1")
@pytest.mark.clause("kaori", "15.1")
def test_machines_verify_in_the_monitor_lane_from_the_threshold_on() -> None:
    sure = _compiled(SURE | NO_IMPLICIT, THREE, ai_scores=scores_for(THREE, 0.86))
    _is(sure, "VERIFIED_TRUE", "AI_AUTOVALIDATION")
    unsure = _compiled(NO_IMPLICIT, THREE, ai_scores=scores_for(THREE, 0.86))
    _is(unsure, "LEANING_TRUE", "NONE", Flag.CONFIDENCE_TOO_LOW)


def test_machines_verify_nothing_where_the_lane_forbids_it() -> None:
    forbidden = SURE | NO_IMPLICIT | {"state_verification_policy.monitor_lane.allow_ai_verification": False}
    _is(_compiled(forbidden, THREE, ai_scores=scores_for(THREE)), "LEANING_TRUE", "NONE")


ANY_SCORE: dict[str, object] = {
    "ai_validation_routing.generalist.routes": {"pass": "accept", "fail": "accept", "uncertain": "accept"},
    "human_gating.min_ai_confidence": 0,
}


@pytest.mark.parametrize(
    ("score", "status", "basis"),
    [
        (0.82, "VERIFIED_TRUE", "AI_AUTOVALIDATION"),
        (0.81, "LEANING_TRUE", "NONE"),
        (0.65, "UNDECIDED", "NONE"),
        (0.35, "UNDECIDED", "NONE"),
        (0.34, "LEANING_FALSE", "NONE"),
        (0.2, "VERIFIED_FALSE", "AI_AUTOVALIDATION"),
    ],
)
def test_the_machines_confidence_decides_outside_the_band(score: float, status: str, basis: str) -> None:
    """True from 0.82, false up to 0.2; from 0.35 to 0.65 it is always uncertain."""
    _is(_compiled(SURE | ANY_SCORE | NO_IMPLICIT, THREE, ai_scores=scores_for(THREE, score)), status, basis)


def test_votes_for_keep_machines_from_verifying_false() -> None:
    state = _compiled(
        SURE | ANY_SCORE | NO_IMPLICIT,
        THREE,
        ai_scores=scores_for(THREE, 0.1),
        votes=[voted("user:dan")],
        window_events=[window()],
    )
    _is(state, "LEANING_TRUE", "NONE")


def test_a_band_that_reaches_a_threshold_wins_over_it() -> None:
    wide = SURE | ANY_SCORE | NO_IMPLICIT | {"autovalidation.uncertainty_band": {"low": 0.2, "high": 0.82}}
    _is(_compiled(wide, THREE, ai_scores=scores_for(THREE, 0.82)), "UNDECIDED", "NONE")


def test_agreeing_observations_of_trusted_agents_verify_implicitly() -> None:
    _is(_compiled({}, THREE, ai_scores=scores_for(THREE)), "VERIFIED_TRUE", "IMPLICIT_CONSENSUS")


@pytest.mark.parametrize(
    "spoiled",
    [
        {"implicit_consensus.min_observations": 4},
        {"implicit_consensus.min_network_trust": 2.5},
        {"implicit_consensus.min_ai_confidence": 0.96},
        {"implicit_consensus": ...},
        {"implicit_consensus.enabled": False},
    ],
)
def test_implicit_consensus_needs_everything_that_the_contract_says(spoiled: dict[str, object]) -> None:
    alone = {"state_verification_policy.monitor_lane.allow_ai_verification": False}
    _is(_compiled(SURE | alone | spoiled, THREE, ai_scores=scores_for(THREE)), "LEANING_TRUE", "NONE")


def test_machines_that_differ_make_no_implicit_consensus() -> None:
    """0.72 and 1.0 by silver 3 and 3, expert 7 at 0.72: 3/13 x 10/13 x 0.28 ** 2 = 0.013917."""
    scores = [*scores_for(THREE[:1], 1), *scores_for(THREE[1:], 0.72)]
    rules = SURE | ANY_SCORE | {"implicit_consensus.max_ai_variance": 0.013917}
    _is(_compiled(rules, THREE, ai_scores=scores), "VERIFIED_TRUE", "IMPLICIT_CONSENSUS")
    rules["implicit_consensus.max_ai_variance"] = 0.013916
    _is(_compiled(rules, THREE, ai_scores=scores), "LEANING_TRUE", "NONE")


def test_an_authority_who_is_present_sets_implicit_consensus_aside() -> None:
    """It is asked instead; where the contract says that more are needed, one is not enough."""
    four = [*THREE, observed("user:fay")]
    alone: dict[str, object] = SURE | {"state_verification_policy.monitor_lane.allow_ai_verification": False}
    _is(_compiled(alone, four, ai_scores=scores_for(four)), "LEANING_TRUE", "NONE", Flag.AUTHORITY_SETS_ASIDE)
    two = alone | {"implicit_consensus.override_min_authority_count": 2}
    _is(_compiled(two, four, ai_scores=scores_for(four)), "VERIFIED_TRUE", "IMPLICIT_CONSENSUS")
    never = alone | {"implicit_consensus.override_if_authority_present": False}
    _is(_compiled(never, four, ai_scores=scores_for(four)), "VERIFIED_TRUE", "IMPLICIT_CONSENSUS")


@pytest.mark.parametrize(
    "gate",
    [
        {"human_gating.always_require_human": True},
        {"human_gating.required_for_risk_profiles": ["monitor"]},
        {"human_gating.min_trust_score": 0.81},
        {"human_gating.min_ai_confidence": 0.96},
    ],
)
@pytest.mark.clause("kaori", "1.1")
def test_people_are_asked_where_the_contract_gates(gate: dict[str, object]) -> None:
    state = _compiled(SURE | gate, THREE, ai_scores=scores_for(THREE))
    _is(state, "PENDING_HUMAN_REVIEW", "NONE", Flag.HUMAN_REQUIRED)


def test_people_are_asked_where_the_ladder_sends_an_observation() -> None:
    scores = [*scores_for(THREE[:2]), scored(THREE[2], "bouncer", 0.9), scored(THREE[2], "generalist", 0.1)]
    gate = {"human_gating.min_ai_confidence": 0}
    _is(_compiled(SURE | gate, THREE, ai_scores=scores), "PENDING_HUMAN_REVIEW", "NONE", Flag.SENT_TO_PEOPLE)


def test_people_are_asked_below_the_review_threshold() -> None:
    low = NO_IMPLICIT | {"confidence_model.thresholds.review": 0.75, "confidence_model.modifiers": {}}
    weak: dict[str, object] = low | {"confidence_model.components.agreement.weight": 0.1}
    _is(_compiled(weak, THREE, ai_scores=scores_for(THREE)), "PENDING_HUMAN_REVIEW", "NONE", Flag.CONFIDENCE_TOO_LOW)


@pytest.mark.parametrize(
    ("action", "status"),
    [("undecided", "UNDECIDED"), ("human_review", "PENDING_HUMAN_REVIEW"), ("flag", "VERIFIED_TRUE")],
)
def test_a_contradiction_acts_as_its_rule_says(action: str, status: str) -> None:
    """Amira and ben (3 + 3) against cleo (7): 6 / 13 is more than 0.34."""
    split = [*THREE[:2], observed("user:cleo", {"severity": "low", "water_level_meters": 1.25})]
    rules = {
        "contradiction_rules.0.action": action,
        "confidence_model.thresholds.verify": 0.3,
        "confidence_model.thresholds.review": 0.3,
        "state_verification_policy.monitor_lane.min_confidence": 0.3,
    }
    state = _compiled(SURE | rules, split, ai_scores=scores_for(split))
    assert state.status == status
    assert {"contradiction", "contradiction_severity_differs"} <= set(state.transparency_flags)
    assert state.claim["severity"] == "low"


def test_a_contradiction_lowers_the_confidence_where_the_contract_says_so() -> None:
    split = [*THREE[:2], observed("user:cleo", {"severity": "low", "water_level_meters": 1.25})]
    assert "contradicted" in _compiled({}, split).confidence_breakdown.modifiers


def test_people_finalise_and_reject_at_the_thresholds() -> None:
    """15 = 10 + 7 - 3 + 1 is out of reach by one; 17 finalises, and -10 rejects."""
    given = {"window_events": [window()]}
    true = _compiled(SURE, ALONE, votes=[voted("user:dan"), voted("user:fay")], **given)
    _is(true, "VERIFIED_TRUE", "HUMAN_CONSENSUS")
    leaning = _compiled(SURE, ALONE, votes=[voted("user:dan"), voted("user:eva")], **given)
    _is(leaning, "LEANING_TRUE", "NONE")
    false = _compiled(SURE, ALONE, votes=[voted("user:fay", "REJECT")], **given)
    _is(false, "VERIFIED_FALSE", "HUMAN_CONSENSUS")
    unsure = _compiled({}, ALONE, votes=[voted("user:dan"), voted("user:fay")], **given)
    _is(unsure, "LEANING_TRUE", "NONE", Flag.CONFIDENCE_TOO_LOW)


def test_votes_that_cancel_leave_it_undecided_and_abstentions_are_no_answer() -> None:
    votes = [voted("user:dan"), voted("user:eva", "REJECT")]
    _is(_compiled(SURE, ALONE, votes=votes, window_events=[window()]), "UNDECIDED", "NONE")
    silent = _compiled(SURE, ALONE, votes=[voted("user:dan", "ABSTAIN")], window_events=[window()])
    _is(silent, "PENDING", "NONE")


@pytest.mark.clause("kaori", "15.2")
def test_the_critical_lane_waits_for_people_however_sure_machines_are() -> None:
    waiting = _compiled(CRITICAL, THREE, ai_scores=scores_for(THREE, 1), window_events=[window()])
    _is(waiting, "PENDING_HUMAN_REVIEW", "NONE", Flag.HUMAN_REQUIRED)
    one = _compiled(
        CRITICAL | {"consensus_model.finalize_threshold": 5}, THREE, votes=[voted("user:dan")], window_events=[window()]
    )
    _is(one, "LEANING_TRUE", "NONE")
    two = _compiled(CRITICAL, THREE, votes=[voted("user:dan"), voted("user:fay")], window_events=[window()])
    _is(two, "VERIFIED_TRUE", "HUMAN_CONSENSUS")


@pytest.mark.clause("kaori", "15.2")
@pytest.mark.parametrize(
    ("vote_type", "status"), [("RATIFY", "VERIFIED_TRUE"), ("REJECT", "VERIFIED_FALSE"), ("ABSTAIN", None)]
)
def test_authorities_decide_once_the_critical_lane_escalates(vote_type: str, status: str | None) -> None:
    """After two hours one authority is enough, which before was not."""
    given: dict[str, Any] = {"votes": [voted("user:fay", vote_type)], "window_events": [window()]}
    before = _compiled(CRITICAL, THREE, now="14:29", **given)
    assert before.verification_basis == "NONE"
    after = _compiled(CRITICAL, THREE, now="14:30", **given)
    if status is None:
        _is(after, "PENDING_HUMAN_REVIEW", "NONE")
    else:
        _is(after, status, "HUMAN_CONSENSUS", Flag.ESCALATED)


def test_people_come_first_where_the_flow_says_so_and_machines_after_their_window() -> None:
    peers: dict[str, object] = SURE | {"validation_flow.mode": "human_peer"}
    given: dict[str, Any] = {"ai_scores": scores_for(THREE), "window_events": [window()]}
    _is(_compiled(peers, THREE, now="18:29", **given), "LEANING_TRUE", "NONE")
    _is(_compiled(peers, THREE, now="18:30", **given), "VERIFIED_TRUE", "IMPLICIT_CONSENSUS")
    without = _compiled(peers, THREE, ai_scores=scores_for(THREE))
    _is(without, "LEANING_TRUE", "NONE")


@pytest.mark.clause("kaori", "10.1")
def test_a_window_that_ends_without_a_decision_is_inconclusive() -> None:
    given: dict[str, Any] = {"votes": [voted("user:dan")], "window_events": [window()]}
    _is(_compiled(SURE, ALONE, now="18:29", **given), "LEANING_TRUE", "NONE")
    _is(_compiled(SURE, ALONE, now="18:30", **given), "INCONCLUSIVE", "TIMEOUT_DEFAULT")


@pytest.mark.clause("kaori", "10.1")
def test_past_its_validity_everything_has_expired() -> None:
    """Two days after the bucket's end, and an override does not outlive it."""
    given: dict[str, Any] = {
        "votes": [voted("user:fay", "OVERRIDE", override_status="VERIFIED_TRUE")],
        "window_events": [window()],
    }
    _is(_compiled({}, ALONE, now="2026-01-09T13:00:00Z", **given), "VERIFIED_TRUE", "AUTHORITY_OVERRIDE")
    _is(_compiled({}, ALONE, now="2026-01-09T13:00:00.000001Z", **given), "EXPIRED", "TIMEOUT_DEFAULT")


@pytest.mark.parametrize(
    ("action", "status", "basis"),
    [
        ("inconclusive", "INCONCLUSIVE", "TIMEOUT_DEFAULT"),
        ("expire", "EXPIRED", "TIMEOUT_DEFAULT"),
        ("reject", "VERIFIED_FALSE", "TIMEOUT_DEFAULT"),
        ("escalate", "PENDING_HUMAN_REVIEW", "NONE"),
        ("stay_open", "UNDECIDED", "NONE"),
    ],
)
def test_a_dispute_that_nobody_settles_ends_as_the_contract_says(action: str, status: str, basis: str) -> None:
    """Challenged at 13:00, twelve hours to answer."""
    rules = SURE | {"dispute_resolution.default_action_on_timeout": action}
    given: dict[str, Any] = {
        "votes": [voted("user:dan", "CHALLENGE")],
        "window_events": [window()],
        "ai_scores": scores_for(THREE),
    }
    _is(_compiled(rules, THREE, now="2026-01-08T00:59:00Z", **given), "PENDING_HUMAN_REVIEW", "NONE", Flag.DISPUTED)
    _is(_compiled(rules, THREE, now="2026-01-08T01:00:00Z", **given), status, basis, Flag.DISPUTED)


def test_a_dispute_is_settled_by_a_quorum_that_decides() -> None:
    """Three answers: -3.5 + 10 + 10 = 16.5; two are no quorum, however heavy."""
    trust = trusted(amira="silver", dan="expert", fay="authority", hal="authority")
    votes = [voted("user:dan", "CHALLENGE"), voted("user:fay"), voted("user:hal")]
    settled = compiled(flood(SURE), ALONE, trust, votes=votes, window_events=[window()])
    _is(settled, "VERIFIED_TRUE", "HUMAN_CONSENSUS")
    lighter = flood(SURE | {"consensus_model.finalize_threshold": 5})
    held = compiled(lighter, ALONE, trust, votes=votes[:2], window_events=[window()])
    _is(held, "PENDING_HUMAN_REVIEW", "NONE", Flag.DISPUTED)


def test_who_answered_a_dispute_in_time_may_say_the_same_again_later() -> None:
    """A vote after the time-out takes nobody out of the quorum, in whatever order the votes are given."""
    rules = flood(SURE | {"dispute_resolution.timeout": "PT1H"})
    trust = trusted(amira="silver", dan="expert", fay="authority", hal="authority")
    votes = [voted("user:dan", "CHALLENGE"), voted("user:fay", cast="13:10"), voted("user:hal", cast="13:20")]
    again = [voted("user:fay", "ABSTAIN", cast="13:30"), voted("user:fay", cast="14:30")]
    for given in (votes, [*votes, *again], [*reversed(again), *votes]):
        state = compiled(rules, ALONE, trust, now="15:00", votes=given, window_events=[window()])
        _is(state, "VERIFIED_TRUE", "HUMAN_CONSENSUS")
    late = [*votes[:2], voted("user:hal", cast="14:00")]
    state = compiled(rules, ALONE, trust, now="15:00", votes=late, window_events=[window()])
    _is(state, "INCONCLUSIVE", "TIMEOUT_DEFAULT", Flag.DISPUTED)


def test_a_monitor_contract_without_a_lane_of_the_other_kind_still_rules() -> None:
    without = SURE | {"state_verification_policy.critical_lane": ...}
    _is(_compiled(without, THREE, ai_scores=scores_for(THREE)), "VERIFIED_TRUE", "IMPLICIT_CONSENSUS")
