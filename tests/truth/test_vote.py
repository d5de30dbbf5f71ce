"""Votes and machine scores are data: bound to what was seen, in one form, hashed in one way."""

from typing import Any

import pytest

from assay.truth.ai_score import ai_score_hash, parse_ai_score, render_ai_score
from assay.truth.errors import RecordError
from assay.truth.vote import parse_vote, render_vote, vote_hash
from tests.truth.records import HASH_A, KEY, changed, hash_of_text

VOTE: dict[str, Any] = {
    "vote_id": "vote-1",
    "truthkey": KEY,
    "voter_id": "user:amira",
    "vote_type": "RATIFY",
    "cast_at": "2026-01-07T13:00:00Z",
}
SCORE: dict[str, Any] = {
    "score_id": "score-1",
    "observation_hash": HASH_A,
    "stage": "bouncer",
    "engine": "rules",
    "engine_version": "1.0",
    "score": 0.9,
    "scored_at": "2026-01-07T12:01:00Z",
}


def test_a_vote_is_hashed_with_all_its_fields() -> None:
    """The text written out by hand, absent fields as null."""
    text = (
        f'{{"cast_at":"2026-01-07T13:00:00Z","override_status":null,"reason":"","seen_hash":null,"truthkey":"{KEY}",'
        '"vote_id":"vote-1","vote_type":"RATIFY","voter_id":"user:amira"}'
    )
    vote = parse_vote(VOTE)
    assert vote_hash(vote) == hash_of_text(text)
    assert render_vote(vote) == text.encode()
    assert parse_vote(render_vote(vote)) == vote


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"vote_type": "LIKE"}, "vote_type"),
        ({"truthkey": "earth:flood"}, "truthkey"),
        ({"vote_type": "OVERRIDE"}, "override_status"),
        ({"vote_type": "OVERRIDE", "override_status": "PENDING"}, "override_status"),
        ({"override_status": "VERIFIED_TRUE"}, "override_status"),
        ({"weight": 10}, "weight"),
    ],
)
def test_a_vote_out_of_form_is_refused(changes: dict[str, object], where: str) -> None:
    """An OVERRIDE, and nothing else, names the final status it sets; nobody names a weight."""
    with pytest.raises(RecordError) as refused:
        parse_vote({**VOTE, **changes})
    assert [problem.path for problem in refused.value.problems] == [where]


def test_an_override_names_a_final_status() -> None:
    vote = parse_vote({**VOTE, "vote_type": "OVERRIDE", "override_status": "VERIFIED_FALSE"})
    assert vote.override_status == "VERIFIED_FALSE"


def test_a_score_is_bound_to_the_observation_it_judges() -> None:
    """The text written out by hand."""
    text = (
        f'{{"engine":"rules","engine_version":"1.0","failed_checks":[],"observation_hash":"{HASH_A}","score":0.9,'
        '"score_id":"score-1","scored_at":"2026-01-07T12:01:00Z","stage":"bouncer"}'
    )
    score = parse_ai_score(SCORE)
    assert ai_score_hash(score) == hash_of_text(text)
    assert parse_ai_score(render_ai_score(score)) == score


@pytest.mark.parametrize("bad", [-0.1, 1.1, True, "0.5", None])
def test_a_score_is_a_number_from_zero_to_one(bad: object) -> None:
    with pytest.raises(RecordError) as refused:
        parse_ai_score(changed(SCORE, "score", bad))
    assert [problem.path for problem in refused.value.problems] == ["score"]


def test_a_score_is_read_once_and_another_text_is_another_score() -> None:
    """Each compilation of a key reads all scores of it again."""
    text = render_ai_score(parse_ai_score(SCORE)).decode()
    assert parse_ai_score(text) is parse_ai_score(str(text.encode(), "utf-8")) == parse_ai_score(SCORE)
    assert parse_ai_score({**SCORE, "engine": "other_v1"}).engine == "other_v1"
    assert parse_ai_score(text.replace(SCORE["engine"], "other_v1")).engine == "other_v1"
