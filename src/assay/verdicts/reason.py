"""The model call (SKI 2.1.3, 5.2): the request is fixed by its inputs, the reply is read strictly or not at all.

docket + record + window facts + seed -> build_request -> (a Reasoner) -> RawReply -> interpret_reply -> Interpretation
"""

from collections.abc import Mapping
from typing import Literal, Protocol

from msgspec import Raw, Struct

from assay.kernel.digest import Digest
from assay.kernel.instant import Instant
from assay.verdicts._problem import render_input_problems
from assay.verdicts._tell import teller_of
from assay.verdicts.comparison import shown_fraction
from assay.verdicts.docket import Docket
from assay.verdicts.envelope import ModelAnswer, ModelProvenance, Verdict
from assay.verdicts.errors import TemplateError
from assay.verdicts.general import GENERAL_TEMPLATE_ID, build_general_grammar, render_general_prompt
from assay.verdicts.predicate import converted_value
from assay.verdicts.prompt import FIRST_TEMPLATE_ID, TEMPLATE_ID, Prompt, render_head, render_prompt
from assay.verdicts.reply import parse_reply
from assay.verdicts.rulings import CURRENT, Rulings
from assay.verdicts.telemetry import Telemetry, find_reading
from assay.verdicts.window_fact import WindowFact

MAX_TOKENS = 2048
_SHOWN = 400
_UNBOUND = "model.grammar_unbound: the server does not bind its output by a grammar; this reply was within it"
_TEMPLATES = (FIRST_TEMPLATE_ID, TEMPLATE_ID, GENERAL_TEMPLATE_ID)
# Backends that are made for the judge's prompt; every other one is a general model.
_JUDGES = frozenset({"judge", "scripted"})


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
    a backend that gives them can be asked for them again, and so offers receipts (SKI 7.5). `notation` is the
    reasoning in the judge's own symbols, where the text has it in sentences. `is_bound` is false where the server was
    found not to bind its output by a grammar.
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
    notation: str | None = None
    is_bound: bool = True


class Reasoner(Protocol):
    """A language model inside the perimeter, asked one question at a time; failures are raised, never made up."""

    def complete(self, request: ReasonRequest) -> RawReply: ...


class Interpretation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A reply as the next steps see it; `error` says why there was no readable answer, and then it is DISCRETIONARY.

    `notice` is what is wrong with a readable one: it is recorded among the divergences.
    """

    answer: ModelAnswer
    error: str | None = None
    notice: str | None = None


def build_request(
    docket: Docket,
    telemetry: Telemetry,
    facts: Mapping[str, WindowFact],
    *,
    seed: int,
    max_tokens: int = MAX_TOKENS,
    template_id: str = TEMPLATE_ID,
) -> ReasonRequest:
    """Build the same request for the same inputs, byte for byte; refuses a template that it does not know."""
    prompt = _prompt(docket, telemetry, facts, template_id)
    grammar = build_general_grammar(docket) if template_id == GENERAL_TEMPLATE_ID else docket.grammar
    return ReasonRequest(
        prompt_template_id=template_id,
        prompt=prompt.text,
        prompt_hash=prompt.hash,
        grammar=Raw(grammar.canonical),
        grammar_hash=grammar.hash,
        decoding=Decoding(seed=seed, max_tokens=max_tokens),
    )


def _converted(docket: Docket, telemetry: Telemetry) -> list[dict[str, object]]:
    """What the graph's conversions make of the record, for each obligation in another unit than the record's."""
    return [
        {"obligation_id": check.obligation_id, "shown": shown_fraction(exact), "unit": check.unit}
        for check in docket.checks
        if check.conversions and (reading := find_reading(telemetry.readings, check.metric)) is not None
        if (exact := converted_value(check, reading)) is not None
    ]


def template_of(backend_name: str) -> str:
    """Return the template that a backend is asked by."""
    return TEMPLATE_ID if backend_name in _JUDGES else GENERAL_TEMPLATE_ID


def _prompt(docket: Docket, telemetry: Telemetry, facts: Mapping[str, WindowFact], template_id: str) -> Prompt:
    converted = _converted(docket, telemetry)
    if template_id == TEMPLATE_ID:
        return render_prompt(docket.head, docket.lines, telemetry, facts, converted)
    if template_id == GENERAL_TEMPLATE_ID:
        return render_general_prompt(docket, telemetry, facts, converted)
    if template_id == FIRST_TEMPLATE_ID:
        head = render_head(docket.part, is_mapped=docket.is_mapped, template_id=template_id)
        return render_prompt(head, docket.lines, telemetry, facts, converted)
    raise TemplateError(f"expected one of {', '.join(_TEMPLATES)}, got `{ascii(template_id)[1:-1][:80]}`")


def interpret_reply(reply: RawReply, docket: Docket) -> Interpretation:
    """A parse failure is DISCRETIONARY with the error recorded (SKI 5.2); an unfinished text is a parse failure."""
    if not reply.is_complete:
        return interpret_failure("reply.unfinished", "the model was cut off before its answer ended")
    parsed = parse_reply(reply.text, docket.choices, rulings=docket.rulings)
    if parsed.answer is None:
        return interpret_failure("reply.unparsed", render_input_problems(parsed.problems), rulings=docket.rulings)
    return Interpretation(answer=parsed.answer, notice=None if reply.is_bound else _UNBOUND)


def interpret_failure(
    code: Literal["reply.unparsed", "reply.unfinished", "reply.unavailable"], why: str, *, rulings: Rulings = CURRENT
) -> Interpretation:
    """No answer: nothing is claimed, and a person must look. `reply.unavailable` is for a model that did not answer."""
    return Interpretation(
        answer=ModelAnswer(reasoning="", formalizable_assertions=(), kg_citations=(), verdict=Verdict.DISCRETIONARY),
        error=f"{code}: {teller_of(rulings).text(why)}"[:_SHOWN],
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
