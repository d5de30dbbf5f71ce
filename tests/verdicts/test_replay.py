"""Replay compares all six steps, and what was not checked is never a match."""

from typing import Any

import pytest
from msgspec.structs import replace

from assay.verdicts.envelope import VerdictPath, VerifierResult, VerifierStatus
from assay.verdicts.replay import (
    Recorded,
    Recovered,
    Replay,
    ReplayResult,
    ReplayStep,
    StepResult,
    compare_replay,
    summarise_replays,
)
from tests.verdicts.judging import PROVENANCE, digest

AGREED = VerifierResult(status=VerifierStatus.AGREED, checked_assertions=1)
RECORDED = Recorded(
    sequence_number=4,
    schema_version="3.0.0",
    entry_hash=digest("entry"),
    provenance=PROVENANCE,
    response_text="{}",
    verifier_result=AGREED,
)
SAME = Recovered(
    kg_version_hash=PROVENANCE.kg_version_hash,
    model_weight_hash=PROVENANCE.model_weight_hash,
    prompt_hash=PROVENANCE.prompt_template_hash,
    grammar_hash=PROVENANCE.structured_grammar_hash,
    response_text="{}",
    verifier_result=AGREED,
    entry_hash=digest("entry"),
    next_previous_hash=digest("entry"),
)


def at(step: ReplayStep, replay: Replay) -> StepResult:
    return next(finding.result for finding in replay.steps if finding.step is step)


@pytest.mark.clause("ski", "8.1")
def test_an_entry_that_comes_out_the_same_is_a_match() -> None:
    replay = compare_replay(RECORDED, SAME)
    assert replay.result is ReplayResult.MATCH
    assert [finding.step for finding in replay.steps] == list(ReplayStep)
    last = replace(SAME, next_previous_hash=None, is_last=True)
    assert compare_replay(RECORDED, last).result is ReplayResult.MATCH


@pytest.mark.clause("ski", "8.1")
@pytest.mark.clause("ski", "8.2")
@pytest.mark.parametrize(
    ("change", "step"),
    [
        ({"kg_version_hash": digest("x")}, ReplayStep.GRAPH),
        ({"model_weight_hash": digest("x")}, ReplayStep.WEIGHTS),
        ({"prompt_hash": digest("x")}, ReplayStep.PROMPT),
        ({"grammar_hash": digest("x")}, ReplayStep.TRANSCRIPT),
        ({"response_text": "[]"}, ReplayStep.TRANSCRIPT),
        ({"response_text": "[]", "within_tolerance": False}, ReplayStep.TRANSCRIPT),
        ({"verifier_result": replace(AGREED, checked_assertions=2)}, ReplayStep.VERIFIER),
        ({"entry_hash": digest("x")}, ReplayStep.CHAIN),
        ({"next_previous_hash": digest("x")}, ReplayStep.CHAIN),
    ],
)
def test_a_step_that_differs_is_a_divergence(change: dict[str, Any], step: ReplayStep) -> None:
    replay = compare_replay(RECORDED, replace(SAME, **change))
    assert replay.result is ReplayResult.REPLAY_DIVERGENCE
    assert at(step, replay) is StepResult.DIVERGED


@pytest.mark.parametrize(
    ("field", "step"),
    [
        ("kg_version_hash", ReplayStep.GRAPH),
        ("model_weight_hash", ReplayStep.WEIGHTS),
        ("prompt_hash", ReplayStep.PROMPT),
        ("grammar_hash", ReplayStep.TRANSCRIPT),
        ("response_text", ReplayStep.TRANSCRIPT),
        ("verifier_result", ReplayStep.VERIFIER),
        ("entry_hash", ReplayStep.CHAIN),
        ("next_previous_hash", ReplayStep.CHAIN),
    ],
)
def test_a_step_that_was_not_checked_is_no_match(field: str, step: ReplayStep) -> None:
    replay = compare_replay(RECORDED, replace(SAME, **{field: None}))
    assert replay.result is ReplayResult.INCOMPLETE
    assert at(step, replay) is StepResult.NOT_CHECKED


@pytest.mark.clause("ski", "8.2")
def test_a_receipt_may_admit_another_transcript() -> None:
    admitted = replace(SAME, response_text="{ }", within_tolerance=True)
    assert compare_replay(RECORDED, admitted).result is ReplayResult.MATCH


def test_the_fast_path_asked_no_model() -> None:
    fast = replace(RECORDED, verdict_path=VerdictPath.FAST, response_text=None)
    replay = compare_replay(fast, replace(SAME, response_text=None))
    assert replay.result is ReplayResult.MATCH
    assert at(ReplayStep.TRANSCRIPT, replay) is StepResult.NOT_APPLICABLE


@pytest.mark.clause("ski", "8.3")
@pytest.mark.parametrize("version", ["2.1.0", "1", "", "x.y"])
def test_an_entry_before_v3_is_skipped_with_a_notice(version: str) -> None:
    old = replace(RECORDED, schema_version=version)
    assert compare_replay(old, SAME).result is ReplayResult.SKIPPED_PRE_V3
    assert compare_replay(replace(RECORDED, provenance=None), SAME).result is ReplayResult.SKIPPED_PRE_V3


@pytest.mark.clause("ski", "9.2")
def test_a_replay_that_checked_nothing_is_not_clean() -> None:
    match, skipped = compare_replay(RECORDED, SAME), compare_replay(replace(RECORDED, schema_version="2.1.0"), SAME)
    incomplete, diverged = (
        compare_replay(RECORDED, Recovered()),
        compare_replay(RECORDED, replace(SAME, prompt_hash=digest("x"))),
    )
    assert summarise_replays([match, skipped]).is_clean
    for replays in ([], [skipped], [match, incomplete], [match, diverged], [incomplete]):
        assert not summarise_replays(replays).is_clean
    assert summarise_replays([match, skipped]).counts == {
        "MATCH": 1,
        "REPLAY_DIVERGENCE": 0,
        "SKIPPED_PRE_V3": 1,
        "INCOMPLETE": 0,
    }


def test_an_answer_that_never_came_is_not_asked_for_again() -> None:
    """The other five steps are still checked, and only then it is a match."""
    recorded = replace(RECORDED, response_text=None, was_answered=False)
    replay = compare_replay(recorded, replace(SAME, response_text=None))
    assert replay.result is ReplayResult.MATCH
    assert at(ReplayStep.TRANSCRIPT, replay) is StepResult.NOT_APPLICABLE
    without = compare_replay(recorded, replace(SAME, response_text=None, verifier_result=None))
    assert without.result is ReplayResult.INCOMPLETE
