"""The model call (SKI 2.1.3, 5.2): the request is fixed by its inputs, the reply is read strictly or not at all.

docket + record + window facts + seed -> build_request -> (a Reasoner) -> RawReply -> interpret_reply -> Interpretation
"""

from collections.abc import Mapping
from typing import Literal, Protocol

from msgspec import Raw, Struct

from assay.kernel.digest import Digest
from assay.kernel.instant import Instant
from assay.verdicts._problem import render_input_problems
from assay.verdicts.docket import Docket
from assay.verdicts.envelope import ModelAnswer, ModelProvenance, Verdict
from assay.verdicts.prompt import TEMPLATE_ID, render_prompt
from assay.verdicts.reply import parse_reply
from assay.verdicts.telemetry import Telemetry
from assay.verdicts.window_fact import WindowFact

__all__ = [
    "MAX_TOKENS",
    "Decoding",
    "Interpretation",
    "RawReply",
    "ReasonRequest",
    "Reasoner",
    "build_request",
    "interpret_failure",
    "interpret_reply",
    "provenance_of",
]

MAX_TOKENS = 2048
_SHOWN = 400


class Decoding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """SKI 2.1.3. The types leave no other choice than the greedy one."""

    seed: int
    temperature: Literal[0] = 0
    top_p: Literal[1] = 1
    top_k: Literal[1] = 1
    max_tokens: int = MAX_TOKENS


class ReasonRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """What a model is asked; `grammar` is the canonical JSON Schema that its output is bound to."""

    prompt_template_id: str
    prompt: str
    prompt_hash: Digest
    grammar: Raw
    grammar_hash: Digest
    decoding: Decoding


class RawReply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """What came back; `model_weight_hash` is that of the weights that really ran.

    `top_scores` are, for each token, the best that could have been written with their quantised scores, best first;
    a backend that gives them can be asked for them again, and so offers receipts (SKI 7.5).
    """

    text: str
    backend_name: str
    model_weight_hash: Digest
    started_at: Instant
    completed_at: Instant
    is_complete: bool = True
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    top_scores: tuple[tuple[tuple[int, int], ...], ...] | None = None


class Reasoner(Protocol):
    """A language model inside the perimeter, asked one question at a time; failures are raised, never made up."""

    def complete(self, request: ReasonRequest) -> RawReply: ...


class Interpretation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A reply as the next steps see it; `error` says why there was no readable answer, and then it is DISCRETIONARY."""

    answer: ModelAnswer
    error: str | None = None


def build_request(
    docket: Docket,
    telemetry: Telemetry,
    facts: Mapping[str, WindowFact],
    *,
    seed: int,
    max_tokens: int = MAX_TOKENS,
) -> ReasonRequest:
    """The same for the same inputs, byte for byte."""
    prompt = render_prompt(docket.head, docket.lines, telemetry, facts)
    return ReasonRequest(
        prompt_template_id=TEMPLATE_ID,
        prompt=prompt.text,
        prompt_hash=prompt.hash,
        grammar=Raw(docket.grammar.canonical),
        grammar_hash=docket.grammar.hash,
        decoding=Decoding(seed=seed, max_tokens=max_tokens),
    )


def interpret_reply(reply: RawReply, docket: Docket) -> Interpretation:
    """A parse failure is DISCRETIONARY with the error recorded (SKI 5.2); an unfinished text is a parse failure."""
    if not reply.is_complete:
        return interpret_failure("reply.unfinished", "the model was cut off before its answer ended")
    parsed = parse_reply(reply.text, docket.choices)
    if parsed.answer is None:
        return interpret_failure("reply.unparsed", render_input_problems(parsed.problems))
    return Interpretation(answer=parsed.answer)


def interpret_failure(
    code: Literal["reply.unparsed", "reply.unfinished", "reply.unavailable"], why: str
) -> Interpretation:
    """No answer: nothing is claimed, and a person must look. `reply.unavailable` is for a model that did not answer."""
    return Interpretation(
        answer=ModelAnswer(reasoning="", formalizable_assertions=(), kg_citations=(), verdict=Verdict.DISCRETIONARY),
        error=f"{code}: {ascii(why)[1:-1]}"[:_SHOWN],
    )


def provenance_of(request: ReasonRequest, *, model_weight_hash: Digest, kg_version_hash: Digest) -> ModelProvenance:
    """SKI 4.6; `kg_version_hash` is that of the loaded graph, the empty digest where it is unsigned."""
    return ModelProvenance(
        model_weight_hash=model_weight_hash,
        kg_version_hash=kg_version_hash,
        prompt_template_id=request.prompt_template_id,
        prompt_template_hash=request.prompt_hash,
        decoder_seed=request.decoding.seed,
        structured_grammar_hash=request.grammar_hash,
    )
