"""The canary: whether a server really binds its output by a grammar, found out by one that has a single valid output.

fresh words -> a schema with each portable keyword, whose only value is known here -> reply -> bound or not
Engines drop a schema that they cannot compile, and say nothing about it. The prompt asks for something else, and the
words are new each time: neither a helpful model nor a server that remembers can pass without obeying.
"""

import json

from assay.adapters.inference.backend import Request
from assay.kernel.errors import JsonError
from assay.kernel.json_text import parse_json
from assay.ports.ids import Entropy
from assay.ports.model import JsonSchema

_PROMPT = "Answer with the single word: no"
_MAX_TOKENS = 192
_BYTES = 6


class Canary:
    """One check; `request` is what the server is asked, `is_obeyed` reads its reply."""

    __slots__ = ("_value", "request")

    def __init__(self, words: tuple[str, str]) -> None:
        first, second = words
        self._value = {"canary": first, "order": [3, {"then": second}], "end": False}
        self.request = Request(
            prompt=_PROMPT,
            grammar=_schema(first, second),
            max_tokens=_MAX_TOKENS,
            temperature=0.0,
            top_p=1.0,
            top_k=1,
            seed=0,
            logprobs=0,
        )

    @property
    def text(self) -> str:
        """The only valid output, in its shortest form."""
        return json.dumps(self._value, separators=(",", ":"))

    def is_obeyed(self, text: str) -> bool:
        try:
            return parse_json(text) == self._value
        except JsonError:
            return False


def draw_canary(entropy: Entropy) -> Canary:
    """A canary of two fresh words."""
    return Canary((entropy.token(_BYTES).hex(), entropy.token(_BYTES).hex()))


def _schema(first: str, second: str) -> JsonSchema:
    then = {
        "type": "object",
        "properties": {"then": {"enum": [second]}},
        "required": ["then"],
        "additionalProperties": False,
    }
    order = {"type": "array", "minItems": 2, "maxItems": 2, "prefixItems": [{"const": 3}, {"anyOf": [then]}]}
    return {
        "type": "object",
        "properties": {"canary": {"const": first}, "order": order, "end": {"const": False}},
        "required": ["canary", "order", "end"],
        "additionalProperties": False,
    }
