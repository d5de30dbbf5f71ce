"""The fast path: only for low risk, only after enough equal evaluations, and never in silence."""

import pytest

from assay.verdicts.envelope import Verdict, VerdictPath, VerifierStatus
from assay.verdicts.fastpath import (
    DEFAULT_STABLE,
    Stability,
    fast_answer,
    may_skip_model,
    note_evaluation,
    pattern_of,
)
from assay.verdicts.govern import govern
from assay.verdicts.record import seal_envelope
from assay.verdicts.verify import judge_all
from tests.verdicts.judging import PROVENANCE, WEIGHTS, docket_of, obligation, record

LIMIT = obligation("ob-1", "must_not_exceed", "a", 5)
LOW = docket_of(LIMIT, tier="low")
KEPT, BROKEN = record({"a": 4}), record({"a": 6})
PATTERN = pattern_of(LOW, judge_all(LOW, KEPT, {}), PROVENANCE)
STABLE = Stability(rule_id="rule-1", pattern=PATTERN, count=DEFAULT_STABLE)


def test_equal_evaluations_are_counted_in_a_row() -> None:
    stability = None
    for _ in range(3):
        stability = note_evaluation(stability, "rule-1", PATTERN, VerifierStatus.AGREED)
    assert stability == Stability(rule_id="rule-1", pattern=PATTERN, count=3)
    broken = pattern_of(LOW, judge_all(LOW, BROKEN, {}), PROVENANCE)
    assert note_evaluation(stability, "rule-1", broken, VerifierStatus.AGREED).count == 1
    for status in set(VerifierStatus) - {VerifierStatus.AGREED}:
        assert note_evaluation(stability, "rule-1", PATTERN, status).count == 0


@pytest.mark.clause("ski", "5.6")
@pytest.mark.parametrize("tier", ["medium", "high", "unheard of"])
def test_the_fast_path_is_never_for_more_than_low_risk(tier: str) -> None:
    docket = docket_of(LIMIT, tier=tier)
    assert not may_skip_model(docket, judge_all(docket, KEPT, {}), STABLE)
    assert may_skip_model(LOW, judge_all(LOW, KEPT, {}), STABLE)


@pytest.mark.clause("ski", "5.6")
def test_enough_means_what_the_operator_says() -> None:
    judgements = judge_all(LOW, KEPT, {})
    few = Stability(rule_id="rule-1", pattern=PATTERN, count=9)
    assert not may_skip_model(LOW, judgements, few)
    assert not may_skip_model(LOW, judgements, few, stable=10)
    assert may_skip_model(LOW, judgements, few, stable=9)
    assert not may_skip_model(LOW, judgements, None, stable=0)
    assert not may_skip_model(LOW, judgements, Stability(rule_id="rule-1", pattern=PATTERN, count=0), stable=0)
    assert not may_skip_model(LOW, judgements, Stability(rule_id="rule-2", pattern=PATTERN, count=9), stable=9)


def test_what_is_undetermined_goes_to_the_model() -> None:
    assert not may_skip_model(LOW, judge_all(LOW, record({}), {}), STABLE)
    empty = docket_of(tier="low")
    assert not may_skip_model(empty, (), STABLE)


@pytest.mark.clause("ski", "5.6")
def test_a_fast_verdict_says_that_it_is_one() -> None:
    judgements = judge_all(LOW, KEPT, {})
    fast = fast_answer(LOW, KEPT, {}, judgements, stability=STABLE, pattern=PATTERN)
    ruling = govern(fast.answer.verdict, fast.verification.result.status, LOW.tier)
    envelope = seal_envelope(
        LOW,
        fast.answer,
        fast.verification,
        ruling,
        provenance=PROVENANCE,
        transcript_ref="none",
        path=VerdictPath.FAST,
    )
    assert envelope.verdict_path == "fast"
    assert envelope.verdict is Verdict.CLEAR
    assert envelope.model_provenance.model_weight_hash == WEIGHTS
    assert envelope.verifier_result.status is VerifierStatus.AGREED
    assert [citation.node_id for citation in envelope.kg_citations] == ["ob-1"]


@pytest.mark.clause("ski", "5.6")
def test_a_finding_that_is_new_is_flagged_and_ends_the_row() -> None:
    judgements = judge_all(LOW, BROKEN, {})
    pattern = pattern_of(LOW, judgements, PROVENANCE)
    fast = fast_answer(LOW, BROKEN, {}, judgements, stability=STABLE, pattern=pattern)
    assert fast.answer.verdict is Verdict.FLAG
    assert fast.verification.result.status is VerifierStatus.LLM_CONTRADICTION
    assert fast.verification.result.divergences
    assert note_evaluation(STABLE, "rule-1", pattern, fast.verification.result.status).count == 0
