"""Servers as they are: one that binds its output by a grammar, and some that do not though they look like it."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.adapters.inference.loopback import Answer, Asked

__all__ = ["OpenAiServer", "only_value", "smallest"]

_SMALLEST = {"string": "", "number": 0, "boolean": True, "null": None}


def smallest(schema: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    """A value that the schema allows: the first choice everywhere. A real engine writes such a one at worst."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return smallest(schema["anyOf"][0])
    kind = schema["type"] if isinstance(schema["type"], str) else schema["type"][0]
    if kind == "object":
        return {name: smallest(schema["properties"][name]) for name in schema["required"]}
    if kind == "array":
        return [smallest(one) for one in schema.get("prefixItems", ())]
    return _SMALLEST[kind]


def only_value(schema: Mapping[str, Any]) -> str:
    return json.dumps(smallest(schema))


class OpenAiServer:
    """A chat server on loopback: `writes` turns what it is asked into the text of its answer."""

    def __init__(self, writes: Callable[[dict[str, Any]], str]) -> None:
        self.writes = writes
        self.version = "1"
        self.is_down = False

    def __call__(self, asked: Asked) -> Answer:
        if self.is_down:
            return Answer(503, iter([b"loading"]))
        if asked.path == "/v1/models":
            return _json({"data": [{"id": "m"}]})
        if asked.path == "/version":
            return _json({"version": self.version})
        text = self.writes(json.loads(asked.body))
        return _json({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})


def _json(value: object) -> Answer:
    return Answer(200, iter([json.dumps(value).encode()]))
