"""The fast path (SKI 5.6): for low-risk rules whose assertions have been stable, the verifier alone.

each full verdict -> note_evaluation -> Stability; stable often enough -> may_skip_model -> fast_answer
Never for medium or high, never where anything is undetermined, and never for another graph, model or prompt than the
one that was stable. A verdict of the fast path that differs from the stable pattern starts the count again.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from msgspec import UNSET, Struct

from assay.kernel.canonical import canonical_digest
from assay.kernel.digest import Digest
from assay.verdicts.docket import Docket
from assay.verdicts.envelope import (
    FormalizableAssertion,
    ModelAnswer,
    ModelProvenance,
    VerifierResult,
    VerifierStatus,
)
from assay.verdicts.graph.node import RiskTier
from assay.verdicts.predicate import Judgement, observe
from assay.verdicts.telemetry import Telemetry
from assay.verdicts.verify import Divergence, Verification, expected_verdict
from assay.verdicts.window_fact import WindowFact

DEFAULT_STABLE = 1000


class Stability(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often in a row the full path came to the same assertions for a rule; `pattern` says which, and under what."""

    rule_id: str
    pattern: Digest
    count: int


class FastAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What stands in for the model's answer, and the verifier's result on it."""

    answer: ModelAnswer
    verification: Verification


def pattern_of(docket: Docket, judgements: Sequence[Judgement], provenance: ModelProvenance) -> Digest:
    """What makes two evaluations similar: rule, graph, weights, template, grammar, and what each assertion claims."""
    return recorded_pattern(docket.rule_id, judgements, provenance)


def recorded_pattern(rule_id: str, judgements: Sequence[Judgement], provenance: ModelProvenance) -> Digest:
    """The pattern of a recorded verdict, from what its entry says."""
    return _pattern(
        rule_id,
        provenance.kg_version_hash,
        provenance.model_weight_hash,
        provenance.prompt_template_id,
        provenance.structured_grammar_hash,
        tuple([(judgement.obligation_id, judgement.truth) for judgement in judgements]),
    )


# A stable rule has one pattern, and each of its evaluations asks for it.
@lru_cache(maxsize=4096)
def _pattern(
    rule_id: str, graph: Digest, weights: Digest, template: str, grammar: Digest, truths: tuple[tuple[str, object], ...]
) -> Digest:
    return canonical_digest(
        {
            "rule_id": rule_id,
            "kg_version_hash": graph,
            "model_weight_hash": weights,
            "prompt_template_id": template,
            "structured_grammar_hash": grammar,
            "satisfied": dict(truths),
        }
    )


def note_evaluation(before: Stability | None, rule_id: str, pattern: Digest, status: VerifierStatus) -> Stability:
    """After a verdict of either path: one more in a row, or the first of a new row; a disagreement counts as none."""
    if status is not VerifierStatus.AGREED:
        return Stability(rule_id=rule_id, pattern=pattern, count=0)
    is_same = before is not None and before.pattern == pattern
    return Stability(rule_id=rule_id, pattern=pattern, count=before.count + 1 if is_same and before is not None else 1)


def may_skip_model(
    docket: Docket, judgements: Sequence[Judgement], stability: Stability | None, *, stable: int = DEFAULT_STABLE
) -> bool:
    """Whether the model may be left out for this record; the pattern itself is compared by `fast_answer`."""
    return (
        docket.part is not None
        and docket.doubt is None
        and docket.tier is RiskTier.LOW
        and stability is not None
        and stability.rule_id == docket.rule_id
        and stability.count >= max(stable, 1)
        and bool(judgements)
        and all(judgement.truth is not None for judgement in judgements)
    )


def fast_answer(
    docket: Docket,
    telemetry: Telemetry,
    facts: Mapping[str, WindowFact],
    judgements: Sequence[Judgement],
    *,
    stability: Stability,
    pattern: Digest,
) -> FastAnswer:
    """The verifier's own verdict; LLM_CONTRADICTION where it is not what the model has been saying so far.

    INVARIANT: only called where `may_skip_model` said yes.
    """
    expected = expected_verdict(judgements, is_mapped=docket.is_mapped, doubt=docket.doubt)
    is_as_before = stability.pattern == pattern
    told = f"{Divergence.CONTRADICTION}: the verifier's findings are not those of the stable evaluations"
    answer = ModelAnswer(
        reasoning=f"fast path: the verifier alone, after {stability.count} equal evaluations",
        formalizable_assertions=state_assertions(docket, telemetry, facts, judgements),
        kg_citations=tuple(docket.citable[check.obligation_id] for check in docket.checks),
        verdict=expected,
    )
    result = VerifierResult(
        status=VerifierStatus.AGREED if is_as_before else VerifierStatus.LLM_CONTRADICTION,
        checked_assertions=len(judgements),
        divergences=() if is_as_before else (told,),
    )
    verification = Verification(result=result, judgements=tuple(judgements), expected=expected)
    return FastAnswer(answer=answer, verification=verification)


def state_assertions(
    docket: Docket, telemetry: Telemetry, facts: Mapping[str, WindowFact], judgements: Sequence[Judgement]
) -> tuple[FormalizableAssertion, ...]:
    """What is true of every obligation that can be computed, in the form in which a model asserts it."""
    return tuple(
        FormalizableAssertion(
            predicate=check.predicate,
            metric=check.metric,
            value=check.value,
            observed=observe(check, telemetry.readings, facts),
            satisfied=judgement.truth is True,
            obligation_id=check.obligation_id,
            window_seconds=UNSET if check.window_seconds is None else check.window_seconds,
        )
        for check, judgement in zip(docket.checks, judgements, strict=True)
        if check.doubt is None
    )
