"""What seals a round, told to the compiler as data: nothing that came after it moves what people or its end decided."""

from decimal import Decimal
from typing import Any

import pytest

from assay.truth.ai_score import ai_score_hash
from assay.truth.contract import SimilarityMethod
from assay.truth.errors import NumberFormError, RecordError, SigningTimeError, StateError, TruthError
from assay.truth.evidence import Fingerprint, Resemblance, fingerprint_hash
from assay.truth.gather import gather_observations
from assay.truth.observation import observation_hash, parse_observation, read_stored_observation, render_observation
from assay.truth.report import latest_reports
from assay.truth.state import parse_truth_state, render_truth_state
from assay.truth.status import TruthStatus
from tests.raising import raises
from tests.truth.compiling import KEY, at, compiled, flood, observed, scored, scores_for, trusted, window
from tests.truth.records import OBSERVATION

TRUST = trusted(ann="silver", ben="silver", cem="silver")
SAID = [observed("user:ann"), observed("user:ben"), observed("user:cem")]
EASY = flood(
    {
        "implicit_consensus.min_network_trust": 0.01,
        "human_gating.min_trust_score": 0,
        "confidence_model.thresholds.verify": 0.1,
        "confidence_model.thresholds.review": 0.05,
        "state_verification_policy.monitor_lane.min_confidence": 0.1,
    }
)


def test_scores_that_are_given_after_a_round_do_not_verify_what_it_left_open() -> None:
    """The end of a round seals scores as it seals observations; one at the very end is too late."""
    round_ = [window(occurred="12:15", closes="13:00")]
    over = compiled(EASY, SAID, TRUST, window_events=round_)
    for minute in ("13:00", "13:20"):
        moment = f"2026-01-07T{minute}:00Z"
        late = [scored(one, "generalist", 0.95, scored_at=moment) for one in SAID]
        late += [scored(one, "bouncer", 0.9, scored_at=moment) for one in SAID]
        state = compiled(EASY, SAID, TRUST, window_events=round_, ai_scores=late)
        assert over.status is state.status is TruthStatus.INCONCLUSIVE
        assert state.ai_confidence == 0
    timely = scores_for(SAID)
    assert compiled(EASY, SAID, TRUST, window_events=round_, ai_scores=timely).ai_confidence > 0


def test_what_is_late_is_among_the_inputs_and_is_not_heard() -> None:
    """An observation, a score and a fingerprint; a state without any keeps the bytes that it always had."""
    marks = [
        Fingerprint(sha256=one.observation.evidence_refs[0].sha256, method=SimilarityMethod.PHASH, bits="0" * 16)
        for one in SAID[:2]
    ]
    scores = scores_for(SAID)
    given: dict[str, Any] = {"window_events": [window()], "ai_scores": scores, "fingerprints": marks}
    plain = compiled(flood(), SAID, TRUST, **given)
    assert b"late_hashes" not in render_truth_state(plain)
    late = (SAID[2].observation_hash, ai_score_hash(scores[0]), fingerprint_hash(marks[0]))
    state = compiled(flood(), SAID, TRUST, late=late, **given)
    assert state.compile_inputs.late_hashes == tuple(sorted(late))
    assert state.compile_inputs.observation_hashes == plain.compile_inputs.observation_hashes
    assert "obs-user-cem-1210" not in state.observation_ids
    flags = {"late_observation", "late_fingerprint", "ai_score_not_counted"}
    assert flags <= {*state.transparency_flags}
    assert flags.isdisjoint(plain.transparency_flags)
    assert ("duplicate_evidence" in plain.transparency_flags, "duplicate_evidence" in state.transparency_flags) == (
        True,
        False,
    )
    assert parse_truth_state(render_truth_state(state)) == state


def test_without_a_round_nothing_is_late() -> None:
    state = compiled(flood(), SAID, TRUST, late=[SAID[2].observation_hash])
    assert len(state.observation_ids) == 3


def test_only_what_is_given_can_be_late() -> None:
    with raises(StateError.inputs_mismatch):
        compiled(flood(), SAID, TRUST, late=["f" * 64])


def test_an_answer_of_people_that_is_still_to_come_is_refused() -> None:
    """It would let scores count, or hush reports, that nobody judged; in a state that somebody shows too."""
    with raises(StateError.inputs_mismatch):
        compiled(flood(), SAID, TRUST, window_events=[window()], sealed_at=[at("23:00")])
    state = compiled(flood(), SAID, TRUST, window_events=[window()], sealed_at=[at("13:00")])
    text = render_truth_state(state).replace(b'"sealed_at":["2026-01-07T13:', b'"sealed_at":["2026-01-07T23:')
    with pytest.raises(RecordError):
        parse_truth_state(text)


@pytest.mark.parametrize("reason", ["", "  "])
def test_a_reason_for_another_time_of_signing_says_something(reason: str) -> None:
    with pytest.raises(SigningTimeError):
        compiled(flood(), SAID, TRUST, signed_at=at("13:40"), signed_at_reason=reason)


@pytest.mark.parametrize("similarity", ["5", "-1", "NaN", "Infinity"])
def test_a_resemblance_that_is_no_share_is_refused(similarity: str) -> None:
    first, second = sorted(one.observation.evidence_refs[0].sha256 for one in SAID[:2])
    pair = Resemblance(sha256=first, other=second, model="m-1", similarity=Decimal(similarity))
    with pytest.raises(NumberFormError):
        compiled(flood(), SAID, TRUST, fingerprints=[pair])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{"artifact":null,', '{"artifact":null,"probe_id":"probe-x",'),
        ('{"artifact":null,', '{"artifact":{"provided_id":"abc"},'),
        ('],"geo":', '],"probe_id":"probe-x","evidence_refs":[],"geo":'),
        ('],"geo":', '] ,"probe_id":"probe-x","evidence_refs":[],"geo":'),
    ],
)
def test_a_stored_text_with_a_member_that_its_hash_does_not_cover_is_refused(old: str, new: str) -> None:
    """Only evidence is left out of the bytes that are compared; nothing else can stand there."""
    observation = parse_observation(dict(OBSERVATION))
    text, hash_ = render_observation(observation).decode(), observation_hash(observation)
    assert read_stored_observation(text, hash_).observation == observation
    assert old in text
    with raises(TruthError.observation_hash):
        read_stored_observation(text.replace(old, new, 1), hash_)


def test_the_report_that_would_speak_is_the_one_that_the_compiler_hears() -> None:
    """Of a reporter's reports the latest that belongs, is in time, and that the ladder did not reject."""
    early = observed("user:ann", reported="12:05")
    rejected = observed("user:ann", reported="12:20")
    foreign = observed("user:ann", reported="12:25", evidence_refs=[])
    after = observed("user:ann", reported="12:28", received="19:00")
    given = [early, rejected, foreign, after]
    scores = [scored(rejected, "bouncer", 0.0), scored(early, "bouncer", 0.9)]
    contract, events = flood(), [window()]
    found = latest_reports(
        contract,
        KEY,
        gather_observations(contract, given),
        ai_scores=scores,
        window_events=events,
        compile_time=at("19:30"),
    )
    state = compiled(contract, given, TRUST, now="19:30", ai_scores=scores, window_events=events)
    assert [one.observation_id for one in found.values()] == [*state.observation_ids] == ["obs-user-ann-1205"]
