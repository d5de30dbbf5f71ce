"""JSON Schema of requests and results, for OpenAPI and for tools."""

from collections.abc import Mapping
from typing import Any

import msgspec


def schema_of(kind: Any) -> Any:  # noqa: ANN401 - a JSON Schema of any type, which the document takes as it is
    """Whole, without references: the document has its own place for those."""
    found = msgspec.json.schema(kind, schema_hook=_anything)
    return _whole(found, found.get("$defs", {}))


def _anything(_kind: type) -> dict[str, Any]:
    return {"description": "any JSON value"}


def _whole(part: Any, definitions: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any part of a JSON Schema
    if isinstance(part, list):
        return [_whole(one, definitions) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        # What is said beside the reference is about this use of the type: its description, its default.
        beside = {name: one for name, one in part.items() if name != "$ref"}
        return {**_whole(definitions[part["$ref"].rpartition("/")[2]], definitions), **beside}
    # Exact numbers are numbers in our JSON, whatever holds them in memory.
    if part.get("format") == "decimal":
        return {"type": "number"}
    return {name: _whole(one, definitions) for name, one in part.items() if name != "$defs"}
