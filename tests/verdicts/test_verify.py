"""The verifier judges every obligation itself, and nothing a model writes talks it round."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from assay.verdicts.agreement import measure_agreement
from assay.verdicts.comparison import is_same
from assay.verdicts.docket import Docket, open_docket
from assay.verdicts.envelope import (
    CitationRole,
    FormalizableAssertion,
    KgCitation,
    ModelAnswer,
    Verdict,
    VerifierStatus,
)
from assay.verdicts.graph.obligation import Obligation
from assay.verdicts.predicate import Outcome
from assay.verdicts.reason import interpret_failure
from assay.verdicts.telemetry import Telemetry
from assay.verdicts.verify import Divergence, Verification, expected_verdict, judge_all, verify
from assay.verdicts.window import window_facts
from tests.verdicts.judging import docket_of, honest, obligation, record, saying, vector_cases

TYPES = (
    "must",
    "must_not",
    "must_not_exceed",
    "must_be_at_least",
    "must_be_within",
    "must_be_one_of",
    "should",
    "discretionary",
    "must_levitate",
    "must_equal",
    "must_average_within",
    "must_be_recorded_within",
)
SCALARS = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.5]) | st.sampled_from(["a", "b", "\0"])
)
OPERANDS = SCALARS | st.lists(SCALARS.filter(lambda part: part is not None), max_size=3)
OBLIGATIONS = st.builds(
    obligation,
    st.sampled_from(["ob-1", "ob-2", "ob-3"]),
    st.sampled_from(TYPES),
    st.sampled_from(["a", "b", None]),
    OPERANDS,
    unit=st.sampled_from([None, "kg"]),
    window=st.sampled_from([None, 60]),
)
SLICES = st.lists(OBLIGATIONS, max_size=3, unique_by=lambda one: one.id)
READINGS = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    SCALARS.filter(lambda value: value != "\0")
    | st.fixed_dictionaries({"value": st.integers(-3, 3), "unit": st.sampled_from(["kg", "g"])}),
    max_size=3,
)
ASSERTIONS = st.builds(
    FormalizableAssertion,
    predicate=st.sampled_from(TYPES) | st.text(max_size=3),
    metric=st.sampled_from(["a", "b", "\n"]),
    value=SCALARS | st.lists(SCALARS, max_size=2).map(tuple),
    observed=SCALARS,
    satisfied=st.booleans(),
    obligation_id=st.sampled_from(["ob-1", "ob-2", "ob-3", "ob-9", "`\n"]),
    window_seconds=st.sampled_from([UNSET, 60, -1]),
)
CITATIONS = st.builds(
    KgCitation,
    node_id=st.sampled_from(["ob-1", "rule-1", "\0"]),
    version=st.text(max_size=4),
    role=st.sampled_from(CitationRole),
)
ANSWERS = st.builds(
    ModelAnswer,
    reasoning=st.text(max_size=8),
    formalizable_assertions=st.lists(ASSERTIONS, max_size=4).map(tuple),
    kg_citations=st.lists(CITATIONS, max_size=2).map(tuple),
    verdict=st.sampled_from(Verdict),
)


def found(docket: Docket, telemetry: Telemetry, answer: ModelAnswer) -> Verification:
    return verify(docket, telemetry, window_facts(docket.plans, telemetry, []), answer)


def codes(verification: Verification) -> list[str]:
    return [line.partition(":")[0] for line in verification.result.divergences]


@pytest.mark.clause("ski", "5.3")
@pytest.mark.clause("ski", "4.5")
@pytest.mark.parametrize("case", vector_cases("verify/honest"), ids=lambda case: case["name"])
def test_an_honest_answer_is_found_to_be_one(case: dict[str, Any]) -> None:
    """Each status and reason as written; what could not be checked is never passed over in silence."""
    obligations = [
        obligation(identity, kind, metric, value, unit=unit[0] if unit else None)
        for identity, kind, metric, value, *unit in case["obligations"]
    ]
    docket, telemetry = docket_of(*obligations), record(case["measurement"])
    result = found(docket, telemetry, honest(docket, telemetry))
    assert result.expected == case["expected"]
    assert result.result.status == case["status"]
    assert codes(result) == case["codes"]


@given(SLICES, READINGS, ANSWERS)
def test_no_answer_crashes_the_verifier(
    slice_: list[Obligation], measurement: dict[str, object], answer: ModelAnswer
) -> None:
    """Total; lines are stable, short, plain, and start with a code; a clean bill only where nothing is unlike."""
    docket, telemetry = docket_of(*slice_), record(measurement)
    result = found(docket, telemetry, answer).result
    known = {code.value for code in Divergence}
    assert all(line.partition(":")[0] in known and line.isascii() and line.isprintable() for line in result.divergences)
    assert (result.status is VerifierStatus.AGREED) == (not result.divergences)


@given(SLICES, READINGS)
def test_an_honest_answer_never_diverges(slice_: list[Obligation], measurement: dict[str, object]) -> None:
    docket, telemetry = docket_of(*slice_), record(measurement)
    facts = window_facts(docket.plans, telemetry, [])
    result = verify(docket, telemetry, facts, honest(docket, telemetry, facts)).result
    assert result.status in {VerifierStatus.AGREED, VerifierStatus.UNVERIFIABLE}


@given(SLICES, READINGS, ANSWERS)
def test_agreement_means_that_every_obligation_was_asserted_as_judged(
    slice_: list[Obligation], measurement: dict[str, object], answer: ModelAnswer
) -> None:
    """The quick comparison finds nothing that the full one does not: AGREED holds field by field."""
    docket, telemetry = docket_of(*slice_), record(measurement)
    facts = window_facts(docket.plans, telemetry, [])
    for claim in (answer, honest(docket, telemetry, facts)):
        result = verify(docket, telemetry, facts, claim)
        if result.result.status is not VerifierStatus.AGREED:
            continue
        by_id = {one.obligation_id: one for one in claim.formalizable_assertions}
        assert claim.verdict is result.expected
        for check, judgement in zip(docket.checks, result.judgements, strict=True):
            if check.doubt is None:
                one = by_id[check.obligation_id]
                assert (one.predicate, one.metric) == (check.predicate, check.metric)
                assert is_same(one.value, check.value)
                assert one.satisfied is judgement.truth


@given(SLICES, READINGS, ANSWERS)
def test_an_unmet_obligation_is_never_hidden(
    slice_: list[Obligation], measurement: dict[str, object], answer: ModelAnswer
) -> None:
    """Whatever is left out or twisted, a breach with a verdict other than the true one is a divergence."""
    docket, telemetry = docket_of(*slice_), record(measurement)
    result = found(docket, telemetry, answer)
    if any(one.outcome is Outcome.BREACHED for one in result.judgements) and answer.verdict is Verdict.CLEAR:
        assert result.result.status in {
            VerifierStatus.LLM_CONTRADICTION,
            VerifierStatus.NEURO_SYMBOLIC_DIVERGENCE,
        }


def test_the_verifier_does_not_touch_the_verdict() -> None:
    """SKI 5.3: the answer goes on as it came; only the governor decides."""
    docket, telemetry = docket_of(obligation("ob-1", "must_not_exceed", "a", 1)), record({"a": 2})
    answer = saying(honest(docket, telemetry), Verdict.CLEAR)
    assert found(docket, telemetry, answer).expected is Verdict.FLAG
    assert answer.verdict is Verdict.CLEAR


@pytest.mark.clause("ski", "3.3")
def test_an_unknown_type_is_recorded_even_when_everything_else_agrees() -> None:
    docket = docket_of(obligation("ob-1", "must_levitate", "a", 1), obligation("ob-2", "must_not_exceed", "a", 1))
    telemetry = record({"a": 1})
    assert codes(found(docket, telemetry, honest(docket, telemetry))) == ["obligation.unknown_type"]


def test_the_same_number_in_another_writing_is_the_same() -> None:
    docket, telemetry = docket_of(obligation("ob-1", "must_be_within", "a", [0, 1])), record({"a": 1})
    answer = honest(docket, telemetry)
    [one] = answer.formalizable_assertions
    same = replace(answer, formalizable_assertions=(replace(one, observed=1.0, value=(0.0, 1)),))
    assert found(docket, telemetry, same).result.status is VerifierStatus.AGREED
    other = replace(answer, formalizable_assertions=(replace(one, observed=True),))
    assert codes(found(docket, telemetry, other)) == ["assertion.observed"]


def test_a_window_must_be_asserted_as_the_graph_has_it() -> None:
    docket = docket_of(obligation("ob-1", "must_average_within", "a", [0, 5], window=60))
    telemetry = record({"a": 9})
    facts = window_facts(docket.plans, telemetry, [])
    answer = honest(docket, telemetry, facts)
    assert verify(docket, telemetry, facts, answer).result.status is VerifierStatus.AGREED
    [one] = answer.formalizable_assertions
    for window in (UNSET, 61):
        changed = replace(answer, formalizable_assertions=(replace(one, window_seconds=window),))
        assert "assertion.window" in codes(verify(docket, telemetry, facts, changed))
    lie = replace(answer, formalizable_assertions=(replace(one, satisfied=True),))
    assert verify(docket, telemetry, facts, lie).result.status is VerifierStatus.LLM_CONTRADICTION


def test_asserting_what_only_a_person_can_judge_is_a_divergence() -> None:
    docket, telemetry = docket_of(obligation("ob-1", "discretionary", "a", 1)), record({"a": 1})
    claim = FormalizableAssertion(
        predicate="discretionary", metric="a", value=1, observed=1, satisfied=True, obligation_id="ob-1"
    )
    answer = replace(honest(docket, telemetry), formalizable_assertions=(claim,))
    assert "assertion.not_formalizable" in codes(found(docket, telemetry, answer))


def test_saying_nothing_about_a_kept_obligation_is_not_agreement() -> None:
    docket, telemetry = docket_of(obligation("ob-1", "must_not_exceed", "a", 5)), record({"a": 1})
    answer = replace(honest(docket, telemetry), formalizable_assertions=())
    result = found(docket, telemetry, answer).result
    assert (result.status, result.checked_assertions) == (VerifierStatus.UNVERIFIABLE, 0)


def test_more_obligations_than_any_table_holds_are_counted() -> None:
    docket = docket_of(*(obligation(f"ob-{n:03d}", "must_not_exceed", "a", 5) for n in range(70)))
    telemetry = record({"a": 2})
    assert found(docket, telemetry, honest(docket, telemetry)).result.checked_assertions == 70


@pytest.mark.clause("ski", "4.1")
def test_null_claims_are_checked_too() -> None:
    """NULL_UNMAPPED only where the graph does not have the subject."""
    unmapped, telemetry = open_docket(None, is_mapped=False), record({"a": 1})
    answer = honest(unmapped, telemetry)
    result = found(unmapped, telemetry, answer)
    assert (result.expected, result.result.status) == (Verdict.NULL_UNMAPPED, VerifierStatus.UNVERIFIABLE)
    assert result.result.divergences == ("rule.not_formalizable: the subject is not in the graph",)
    lie = found(unmapped, telemetry, saying(answer, Verdict.CLEAR)).result
    assert lie.status is VerifierStatus.NEURO_SYMBOLIC_DIVERGENCE
    mapped = docket_of(obligation("ob-1", "must_not_exceed", "a", 1))
    assert "verdict.mismatch" in codes(found(mapped, telemetry, saying(answer, Verdict.NULL_UNMAPPED)))


def test_within_a_rule_what_needs_a_person_comes_first_then_breach_then_staleness() -> None:
    fresh = obligation("ob-1", "must_be_recorded_within", "a", 60)
    limit = obligation("ob-2", "must_not_exceed", "b", 1)
    missing = obligation("ob-3", "must_not_exceed", "c", 1)
    advice = obligation("ob-4", "should", "d", value=True)
    judgment = obligation("ob-5", "discretionary")
    telemetry = record({"b": 2, "d": False})

    def verdict(*obligations: Obligation) -> Verdict:
        docket = docket_of(*obligations)
        return expected_verdict(judge_all(docket, telemetry, window_facts(docket.plans, telemetry, [])), is_mapped=True)

    assert verdict(fresh, limit, missing, advice, judgment) is Verdict.DISCRETIONARY
    assert verdict(fresh, limit, missing, advice) is Verdict.FLAG
    assert verdict(fresh, missing, advice) is Verdict.NULL_STALE
    assert verdict(missing) is Verdict.DISCRETIONARY
    assert verdict(advice) is Verdict.DISCRETIONARY
    assert verdict() is Verdict.CLEAR


@pytest.mark.clause("ski", "5.2")
@pytest.mark.parametrize(
    ("observed", "status"),
    [(30, VerifierStatus.UNVERIFIABLE), (40, VerifierStatus.NEURO_SYMBOLIC_DIVERGENCE)],
)
def test_a_reply_that_could_not_be_read_diverges_where_a_breach_was_passed_over(
    observed: int, status: VerifierStatus
) -> None:
    """Met, there is nothing to disagree about; a model that answers breaches with noise must not keep its rate."""
    docket, nothing = docket_of(obligation("ob", "must_not_exceed", "m", 35)), interpret_failure("reply.unparsed", "x")
    result = verify(docket, record({"m": observed}), {}, nothing.answer, error=nothing.error).result
    assert (nothing.answer.verdict, result.status) == (Verdict.DISCRETIONARY, status)
    assert result.divergences[0].startswith("reply.unparsed")
    assert measure_agreement([result.status]).agreement_rate == (None if observed == 30 else 0)
