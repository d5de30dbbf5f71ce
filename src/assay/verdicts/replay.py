"""Replay (SKI 8): the six steps as comparisons of what was recorded with what was fetched and computed again.

recorded entry + what could be had again -> compare_replay -> Replay; many replays -> summarise_replays
A step for which nothing could be had was not checked, and an entry with such a step is not a match. Data that is there
and is not what was recorded is a divergence of its step, with both hashes; data that is gone leaves it incomplete.
"""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from assay.kernel.digest import Digest
from assay.verdicts.envelope import ModelProvenance, VerdictPath, VerifierResult

_FIRST_MAJOR = 3


class ReplayStep(StrEnum):
    """SKI 8.1, in its order."""

    GRAPH = "1 graph"
    WEIGHTS = "2 weights"
    PROMPT = "3 prompt"
    TRANSCRIPT = "4 transcript"
    VERIFIER = "5 verifier"
    CHAIN = "6 chain"


class StepResult(StrEnum):
    MATCH = "match"
    DIVERGED = "diverged"
    NOT_CHECKED = "not_checked"
    NOT_APPLICABLE = "not_applicable"  # the fast path asked no model, or the model gave no answer


class ReplayResult(StrEnum):
    """SKI 8.2, 8.3; INCOMPLETE where nothing diverged and something could not be had again."""

    MATCH = "MATCH"
    REPLAY_DIVERGENCE = "REPLAY_DIVERGENCE"
    SKIPPED_PRE_V3 = "SKIPPED_PRE_V3"
    INCOMPLETE = "INCOMPLETE"


class Recorded(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the ledger and the transcript store say about one entry; a v2 entry has no `provenance`.

    `was_answered` is false where the transcript says that the model gave no answer, which cannot be had again.
    """

    sequence_number: int
    schema_version: str
    entry_hash: Digest
    provenance: ModelProvenance | None = None
    response_text: str | None = None
    verifier_result: VerifierResult | None = None
    verdict_path: VerdictPath | None = None
    was_answered: bool = True


class Recovered(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was fetched and computed again; None is what could not be had.

    `within_tolerance` is a receipt scheme's word on two transcripts that are not equal (SKI 8.2). `next_previous_hash`
    is what the next entry says came before it, and `is_last` that there is no next one. `altered` are steps whose data
    is there and is not what it was, `missing` those whose data is not, each with what is known of it.
    """

    kg_version_hash: Digest | None = None
    model_weight_hash: Digest | None = None
    prompt_hash: Digest | None = None
    grammar_hash: Digest | None = None
    response_text: str | None = None
    within_tolerance: bool | None = None
    verifier_result: VerifierResult | None = None
    entry_hash: Digest | None = None
    next_previous_hash: Digest | None = None
    is_last: bool = False
    altered: dict[ReplayStep, str] = {}
    missing: dict[ReplayStep, str] = {}


class StepFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    step: ReplayStep
    result: StepResult
    detail: str = ""


class Replay(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    sequence_number: int
    result: ReplayResult
    steps: tuple[StepFinding, ...] = ()


class ReplaySummary(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`is_clean` only if at least one entry was wholly replayed, and none diverged or stayed incomplete."""

    counts: dict[str, int]
    is_clean: bool


def compare_replay(recorded: Recorded, recovered: Recovered) -> Replay:
    """All six steps, whichever of them diverges first."""
    if _major(recorded.schema_version) < _FIRST_MAJOR or recorded.provenance is None:
        return Replay(sequence_number=recorded.sequence_number, result=ReplayResult.SKIPPED_PRE_V3)
    provenance = recorded.provenance
    compared = (
        _compared(ReplayStep.GRAPH, provenance.kg_version_hash, recovered.kg_version_hash),
        _compared(ReplayStep.WEIGHTS, provenance.model_weight_hash, recovered.model_weight_hash),
        _compared(ReplayStep.PROMPT, provenance.prompt_template_hash, recovered.prompt_hash),
        _transcript(recorded, provenance, recovered),
        _verifier(recorded.verifier_result, recovered.verifier_result),
        _chain(recorded, recovered),
    )
    steps = tuple(_with_cause(step, recovered) for step in compared)
    return Replay(sequence_number=recorded.sequence_number, result=_result(steps), steps=steps)


def _with_cause(found: StepFinding, recovered: Recovered) -> StepFinding:
    """What is known of data that is not what it was, or is gone, in the place of a step that says neither."""
    altered, missing = recovered.altered.get(found.step), recovered.missing.get(found.step)
    if altered is not None and found.result is not StepResult.DIVERGED:
        return StepFinding(step=found.step, result=StepResult.DIVERGED, detail=altered)
    if missing is not None and found.result is StepResult.NOT_CHECKED:
        return StepFinding(step=found.step, result=StepResult.NOT_CHECKED, detail=missing)
    return found


def summarise_replays(replays: Iterable[Replay]) -> ReplaySummary:
    counts = Counter(replay.result for replay in replays)
    is_clean = (
        counts[ReplayResult.MATCH] > 0
        and not counts[ReplayResult.REPLAY_DIVERGENCE]
        and not counts[ReplayResult.INCOMPLETE]
    )
    return ReplaySummary(counts={result.value: counts[result] for result in ReplayResult}, is_clean=is_clean)


def _major(schema_version: str) -> int:
    """0 for what is no version: nothing we wrote, so nothing we can replay."""
    major, _, _ = schema_version.partition(".")
    return int(major) if major.isascii() and major.isdigit() else 0


def _result(steps: Iterable[StepFinding]) -> ReplayResult:
    results = {finding.result for finding in steps}
    if StepResult.DIVERGED in results:
        return ReplayResult.REPLAY_DIVERGENCE
    return ReplayResult.INCOMPLETE if StepResult.NOT_CHECKED in results else ReplayResult.MATCH


def _compared(step: ReplayStep, recorded: Digest, again: Digest | None) -> StepFinding:
    if again is None:
        return StepFinding(step=step, result=StepResult.NOT_CHECKED, detail="could not be had again")
    if again == recorded:
        return StepFinding(step=step, result=StepResult.MATCH)
    return StepFinding(step=step, result=StepResult.DIVERGED, detail=f"expected `{recorded}`, got `{again}`")


def _transcript(recorded: Recorded, provenance: ModelProvenance, recovered: Recovered) -> StepFinding:
    grammar = _compared(ReplayStep.TRANSCRIPT, provenance.structured_grammar_hash, recovered.grammar_hash)
    if grammar.result is not StepResult.MATCH:
        return grammar
    if recorded.verdict_path is VerdictPath.FAST or not recorded.was_answered:
        told = "no model was asked" if recorded.verdict_path is VerdictPath.FAST else "no model answered"
        return StepFinding(step=ReplayStep.TRANSCRIPT, result=StepResult.NOT_APPLICABLE, detail=told)
    if recorded.response_text is None or recovered.response_text is None:
        return StepFinding(step=ReplayStep.TRANSCRIPT, result=StepResult.NOT_CHECKED, detail="no reply to compare")
    if recorded.response_text == recovered.response_text:
        return StepFinding(step=ReplayStep.TRANSCRIPT, result=StepResult.MATCH)
    if recovered.within_tolerance:
        return StepFinding(step=ReplayStep.TRANSCRIPT, result=StepResult.MATCH, detail="within the receipt's tolerance")
    return StepFinding(step=ReplayStep.TRANSCRIPT, result=StepResult.DIVERGED, detail="the model wrote something else")


def _verifier(recorded: VerifierResult | None, again: VerifierResult | None) -> StepFinding:
    if recorded is None or again is None:
        return StepFinding(step=ReplayStep.VERIFIER, result=StepResult.NOT_CHECKED, detail="no result to compare")
    if recorded == again:
        return StepFinding(step=ReplayStep.VERIFIER, result=StepResult.MATCH)
    detail = f"expected {recorded.status}, got {again.status}"
    return StepFinding(step=ReplayStep.VERIFIER, result=StepResult.DIVERGED, detail=detail)


def _chain(recorded: Recorded, recovered: Recovered) -> StepFinding:
    own = _compared(ReplayStep.CHAIN, recorded.entry_hash, recovered.entry_hash)
    if own.result is not StepResult.MATCH or recovered.is_last:
        return own
    return _compared(ReplayStep.CHAIN, recorded.entry_hash, recovered.next_previous_hash)
