"""The text of a regulation becomes the draft of a knowledge graph: by rules, and with a model's word beside them.

text -> extract_draft -> what the rules left to people -> the model, one sentence at a time -> suggestions
"""

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from assay.kernel.json_text import JsonValue
from assay.ports.model import FinishReason, Model, ModelError
from assay.verdicts.graph.extract import ExtractedDraft, extract_draft
from assay.verdicts.graph.extract_blocks import Block
from assay.verdicts.graph.extract_drafting import ExtractSettings
from assay.verdicts.graph.extract_suggest import (
    Suggestion,
    parse_suggestion,
    render_suggest_prompt,
    suggest_grammar,
)
from assay.verdicts.graph.obligation_type import ObligationType

_MOST_TOKENS = 200
_UNREAD = frozenset({ObligationType.DISCRETIONARY.value, ObligationType.SHOULD.value})


class ExtractedGraph(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`model_failure` is the code with which the model stopped answering, None where it answered or was not asked."""

    draft: ExtractedDraft
    suggestions: tuple[Suggestion, ...] = ()
    model_failure: str | None = None


def extract_graph(
    text: str | tuple[Block, ...], settings: ExtractSettings | None = None, *, model: Model | None = None
) -> ExtractedGraph:
    """The rules decide every node; a model is asked only about what they could not formalise, and changes none.

    A model that fails costs its suggestions and nothing else.
    """
    draft = extract_draft(text, settings)
    if model is None:
        return ExtractedGraph(draft=draft)
    suggestions: list[Suggestion] = []
    failure = None
    try:
        for node, sentence in _unread(draft):
            suggestions += _suggested(model, node, sentence)
    except ModelError as error:
        failure = error.code
    noted = replace(draft, document=_with_suggestions(draft.document, suggestions))
    return ExtractedGraph(draft=noted, suggestions=tuple(suggestions), model_failure=failure)


def _unread(draft: ExtractedDraft) -> list[tuple[str, str]]:
    nodes = draft.document["nodes"]
    assert isinstance(nodes, dict)  # noqa: S101 - we have just written it
    found = [one for one in _objects(nodes["obligations"]) if one["obligation_type"] in _UNREAD and "metric" not in one]
    return [(str(one["id"]), str(one["summary"])) for one in found]


def _objects(value: JsonValue) -> list[dict[str, JsonValue]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _suggested(model: Model, node: str, sentence: str) -> list[Suggestion]:
    prompt, grammar = render_suggest_prompt(sentence), suggest_grammar(sentence)
    written = model.generate(prompt, grammar=grammar, max_tokens=_MOST_TOKENS)[0]
    if written.finish is not FinishReason.STOP:
        return []
    who = written.model
    found = parse_suggestion(
        written.text, sentence, node=node, backend=who.backend, model=who.model, weight_hash=who.weight_hash
    )
    return [] if found is None else [found]


def _with_suggestions(document: dict[str, JsonValue], suggestions: list[Suggestion]) -> dict[str, JsonValue]:
    """In the metadata alone: the nodes, and so their versions, are those that the rules made."""
    metadata = document["metadata"]
    assert isinstance(metadata, dict)  # noqa: S101 - we have just written it
    told = metadata["extraction"]
    assert isinstance(told, dict)  # noqa: S101 - and this too
    plain: list[JsonValue] = [{**to_builtins(one), "value": _number(one)} for one in suggestions]
    return {**document, "metadata": {**metadata, "extraction": {**told, "suggestions": plain}}}


def _number(one: Suggestion) -> float | None:
    return None if one.value is None else float(one.value)
