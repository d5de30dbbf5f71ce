"""People decide by weight and type of vote; what is outside the window, the key or the standing is recorded only."""

from decimal import Decimal
from typing import Any

import pytest

from assay.truth.canonical import canonical_json
from assay.truth.consensus import find_window
from assay.truth.contract import Standing
from assay.truth.flag import Flag
from assay.truth.snapshot import AgentTrust, freeze_snapshot
from assay.truth.state import TruthState, shown_hash
from assay.truth.status import TruthStatus
from assay.truth.vote import Vote
from tests.truth.compiling import KEY, at, compiled, flood, observed, scores_for, trusted, voted, window
from tests.truth.records import HASH_A, hash_of_text

CONTRACT = flood()
AMIRA = observed("user:amira")
TRUST = trusted(
    amira="silver", ben="bronze", cleo="silver", dan="expert", eva="expert", fay="authority", gus="-authority"
)


def _score(state: TruthState) -> Decimal:
    """Back from 0..1 to -10..15."""
    return state.confidence_breakdown.components["consensus"].value * 25 - 10


def _voted(*votes: Vote, now: str = "13:30", **given: object) -> TruthState:
    return compiled(CONTRACT, [AMIRA], TRUST, votes=votes, now=now, **{"window_events": [window()], **given})


@pytest.mark.clause("kaori", "13")
@pytest.mark.parametrize(
    ("votes", "score"),
    [
        ([], "0"),
        ([voted("user:dan"), voted("user:cleo")], "10"),
        ([voted("user:dan"), voted("user:ben", "REJECT")], "6"),
        ([voted("user:dan", "ABSTAIN"), voted("user:cleo", "REJECT")], "-3"),
        ([voted("user:dan"), voted("user:cleo", "CHALLENGE")], "5.5"),
        ([voted("user:fay", "OVERRIDE", override_status="VERIFIED_TRUE")], "10"),
        ([voted("user:fay", "OVERRIDE", override_status="VERIFIED_FALSE")], "-10"),
        ([voted("user:fay", "OVERRIDE", override_status="INCONCLUSIVE")], "0"),
    ],
)
def test_the_score_is_the_sum_of_weight_times_value(votes: list[Vote], score: str) -> None:
    """Bronze 1, silver 3, expert 7, authority 10; RATIFY 1, REJECT -1, CHALLENGE -0.5, ABSTAIN 0."""
    assert _score(_voted(*votes)) == Decimal(score)


@pytest.mark.parametrize(
    "vote",
    [
        voted("user:dan", cast="12:29"),
        voted("user:dan", cast="18:30"),
        voted("user:dan", cast="19:30"),
        voted("user:dan", truthkey=KEY.replace("12:00Z", "11:00Z")),
        voted("user:nobody"),
        voted("user:gus"),
        voted("user:dan", "OVERRIDE", override_status="VERIFIED_TRUE"),
        voted("ai:bouncer"),
    ],
)
def test_a_vote_that_may_not_count_is_recorded_and_flagged(vote: Vote) -> None:
    """Too early, too late, not yet cast, for another key, by the unknown, the inadmissible, the unauthorised."""
    state = _voted(vote, now="18:45")
    assert _score(state) == 0
    assert Flag.VOTE_NOT_COUNTED in state.transparency_flags
    assert len(state.compile_inputs.vote_hashes) == 1


def test_a_machine_never_votes_as_a_person_whatever_its_standing() -> None:
    trust = dict(TRUST.agent_trusts) | {"ai:judge": TRUST.agent_trusts["user:fay"]}
    snapshot = freeze_snapshot("s-2", at("11:00"), trust)
    state = compiled(CONTRACT, [AMIRA], snapshot, votes=[voted("ai:judge")], window_events=[window()])
    assert _score(state) == 0


def test_without_a_window_or_in_an_aborted_one_no_vote_counts() -> None:
    assert _score(_voted(voted("user:dan"), window_events=[])) == 0
    aborted = _voted(
        voted("user:dan"), window_events=[window(), window("WINDOW_ABORTED", occurred="13:10", closes=None)]
    )
    assert _score(aborted) == 0
    assert Flag.WINDOW_ABORTED in aborted.transparency_flags
    assert aborted.status == "PENDING"


def test_a_voter_s_latest_vote_stands() -> None:
    changed_mind = [voted("user:dan", cast="12:40"), voted("user:dan", "REJECT", cast="13:00")]
    assert _score(_voted(*changed_mind)) == -7


def test_an_override_that_may_not_count_does_not_undo_an_earlier_vote() -> None:
    late = voted("user:dan", "OVERRIDE", cast="13:10", override_status="VERIFIED_FALSE")
    assert _score(_voted(voted("user:dan"), late)) == 7


@pytest.mark.parametrize(("mode", "score"), [("human_peer", "8"), ("human_expert", "7"), ("authority_gate", "0")])
def test_the_flow_s_mode_says_whose_votes_count(mode: str, score: str) -> None:
    contract = flood({"validation_flow.mode": mode})
    votes = [voted("user:ben"), voted("user:dan")]
    assert _score(compiled(contract, [AMIRA], TRUST, votes=votes, window_events=[window()])) == Decimal(score)


def test_of_two_overrides_the_latest_decides_and_the_reader_is_told() -> None:
    trust = trusted(amira="silver", fay="authority", hal="authority")
    votes = [
        voted("user:fay", "OVERRIDE", cast="13:00", override_status="VERIFIED_FALSE"),
        voted("user:hal", "OVERRIDE", cast="13:01", override_status="INCONCLUSIVE"),
    ]
    state = compiled(CONTRACT, [AMIRA], trust, votes=votes, window_events=[window()])
    assert (state.status, state.verification_basis) == ("INCONCLUSIVE", "AUTHORITY_OVERRIDE")
    assert {Flag.OVERRIDES_DIFFER, Flag.OVERRIDDEN} <= set(state.transparency_flags)


OWN = [voted("user:amira"), voted("user:amira", "OVERRIDE", cast="13:10", override_status="VERIFIED_TRUE")]


@pytest.mark.parametrize("vote", OWN)
def test_nobody_judges_the_own_report(vote: Vote) -> None:
    """Not by an override either; the reader is told."""
    trust = trusted(amira="authority")
    state = compiled(CONTRACT, [AMIRA], trust, votes=[vote], window_events=[window()])
    assert Flag.VOTER_IS_REPORTER in state.transparency_flags
    assert (_score(state), state.status is TruthStatus.VERIFIED_TRUE) == (Decimal(0), False)


def test_a_contract_may_let_reporters_vote_and_the_reader_is_still_told() -> None:
    contract = flood({"consensus_model.reporters_may_vote": True})
    state = compiled(contract, [AMIRA], TRUST, votes=OWN[:1], window_events=[window()])
    assert Flag.VOTER_IS_REPORTER in state.transparency_flags
    assert _score(state) > 0
    assert contract.claim_type_hash != CONTRACT.claim_type_hash


@pytest.mark.parametrize(
    "voter", ["service:bot", "agent:gpt", "robot:1", "ai:bouncer", "sensor:042", "policy:x", "ben"]
)
def test_whoever_is_not_known_as_a_person_does_not_vote(voter: str) -> None:
    """Whatever standing the snapshot gives; an id without a prefix is nobody's."""
    standing = AgentTrust(standing=Standing.AUTHORITY, trust_score=Decimal("0.9"), admissible=True)
    trust = freeze_snapshot("s-1", at("11:00"), {**TRUST.agent_trusts, voter: standing})
    state = compiled(CONTRACT, [AMIRA], trust, votes=[voted(voter)], window_events=[window()])
    assert (_score(state), Flag.VOTE_NOT_COUNTED in state.transparency_flags) == (Decimal(0), True)


def test_a_window_is_no_longer_than_the_contract_allows() -> None:
    """Six hours, and six more for an extension that is allowed."""
    day = window(closes="23:59")
    found, flags = find_window(CONTRACT, KEY, [day], at("13:30"))
    assert found is not None
    assert (found.end, flags) == (at("18:30"), set())
    longer = window("WINDOW_EXTENDED", occurred="13:00", closes="23:50")
    found, _ = find_window(CONTRACT, KEY, [day, longer], at("13:30"))
    assert found is not None
    assert found.end == at("23:50")


def test_an_event_of_another_key_or_from_later_opens_nothing() -> None:
    for event in (window(truthkey=KEY.replace("12:00Z", "11:00Z")), window(occurred="13:40")):
        assert find_window(CONTRACT, KEY, [event], at("13:30")) == (None, {Flag.WINDOW_EVENT_NOT_COUNTED})


def test_a_window_of_centuries_ends_with_the_calendar() -> None:
    endless = flood({"validation_flow.window": "P999999D", "validation_flow.max_extensions": 1000000})
    found, _ = find_window(endless, KEY, [window()], at("13:30"))
    assert found is not None
    assert found.end == at("18:30")
    many = [
        window("WINDOW_EXTENDED", occurred=f"13:{n // 60:02d}", closes="18:40", event_id=f"e{n}") for n in range(1100)
    ]
    found, _ = find_window(endless, KEY, [window(), *many], at("15:30"))
    assert found is not None
    assert found.end == at("18:40")


def test_votes_against_keep_machines_from_verifying() -> None:
    three = [AMIRA, observed("user:cleo"), observed("user:dan")]
    given: dict[str, Any] = {"ai_scores": scores_for(three), "window_events": [window()]}
    assert compiled(CONTRACT, three, TRUST, **given).status == "VERIFIED_TRUE"
    assert compiled(CONTRACT, three, TRUST, votes=[voted("user:eva", "REJECT")], **given).status == "LEANING_FALSE"


def test_a_vote_binds_the_claim_that_its_voter_saw() -> None:
    """Dan ratified `high`; since then eva's report made it `low`, and his vote says nothing about that."""
    shown = _voted()
    bound = voted("user:dan", seen_hash=shown_hash(shown))
    assert _score(_voted(bound)) == 7
    low = observed("user:eva", {"severity": "low", "water_level_meters": 0.1})
    now = compiled(CONTRACT, [AMIRA, low], TRUST, votes=[bound], window_events=[window()])
    assert now.claim["severity"] == "low"
    assert _score(now) == 0
    assert Flag.VOTE_ON_ANOTHER_CLAIM in now.transparency_flags
    assert len(now.compile_inputs.vote_hashes) == 1


def test_what_a_voter_saw_is_a_claim_at_a_key_under_a_contract() -> None:
    """Written out by hand; neither votes nor time change it."""
    state = _voted()
    text = (
        f'{{"claim":{canonical_json(state.claim)},"claim_type_hash":"{CONTRACT.claim_type_hash}","truthkey":"{KEY}"}}'
    )
    assert shown_hash(state) == hash_of_text(text)
    assert shown_hash(_voted(voted("user:dan"), now="14:30")) == shown_hash(state)


def test_a_vote_that_does_not_say_what_was_shown_counts() -> None:
    assert _score(_voted(voted("user:dan", seen_hash=None))) == 7


def test_a_bound_vote_on_a_key_without_observations_is_about_no_claim() -> None:
    state = compiled(CONTRACT, [], TRUST, votes=[voted("user:dan", seen_hash=HASH_A)], window_events=[window()])
    assert state.transparency_flags == ("vote_on_another_claim",)
