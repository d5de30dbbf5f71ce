"""A plugin on the node's general model: it is shown the failing rule and writes a hypothesis under a grammar."""

import msgspec

from assay.delivery.plugin import Category, PluginReply, PluginRequest, PurvaPaksha, render_request
from assay.kernel.errors import Blame, Error
from assay.ports.model import FinishReason, Model

_MAX_TOKENS = 512
_LONGEST = 600
_INSTRUCTION = (
    "A knowledge rule was followed by failures. Say where the failure lies: A the question was routed to the wrong "
    "rule, B the rule was applied wrongly, C the rule itself is wrong. Give a hypothesis, and for C a corrected rule. "
    "The case, as JSON:\n"
)
_GRAMMAR = {
    "type": "object",
    "properties": {
        "failure_category": {"enum": [str(one) for one in Category]},
        "hypothesis": {"type": "string", "maxLength": _LONGEST},
        "proposed_correction": {"type": "string", "maxLength": _LONGEST},
        "confidence": {"enum": [0, 0.25, 0.5, 0.75, 1]},
    },
    "required": ["failure_category", "hypothesis", "proposed_correction", "confidence"],
    "additionalProperties": False,
}


class UnfinishedThoughtError(Error):
    """The model's hypothesis was cut short or has no form: half a thought is none."""

    code = "plugin.unfinished"
    blame = Blame.OURS


class LocalModelPlugin:
    """Implements `delivery.plugin.Plugin`; it holds a model and nothing that could write anything."""

    def __init__(self, model: Model, *, seed: int = 0) -> None:
        self._model = model
        self._seed = seed

    def infer(self, request: PluginRequest) -> bytes:
        prompt = f"{_INSTRUCTION}{render_request(request).decode()}\nReply in JSON:\n"
        (said,) = self._model.generate(prompt, grammar=_GRAMMAR, max_tokens=_MAX_TOKENS, seed=self._seed)
        if said.finish is not FinishReason.STOP:
            raise UnfinishedThoughtError(f"expected a whole hypothesis, got one cut after {_MAX_TOKENS} tokens")
        try:
            thought = msgspec.json.decode(said.text, type=PurvaPaksha)
        except msgspec.MsgspecError as error:
            raise UnfinishedThoughtError(f"expected a hypothesis, got: {error}") from error
        return msgspec.json.encode(PluginReply(rule_id=request.rule_id, purva_paksha=thought))
