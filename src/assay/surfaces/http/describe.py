"""How routes describe themselves in the OpenAPI document, beyond what their types say."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import msgspec
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import OpenAPIMediaType, Operation, Parameter, RequestBody
from msgspec import Struct

from assay.surfaces.http.problem import PROBLEM_TYPE, ProblemDetails

__all__ = ["asks", "described", "problems", "takes"]


def described(
    description: str, *, kind: type[Any] | None = bytes, media_type: str = "application/json"
) -> ResponseSpec:
    """A successful answer."""
    return ResponseSpec(
        data_container=kind,
        description=description,
        media_type=media_type,
        generate_examples=False,
    )


def problems(*statuses: int) -> Mapping[int, ResponseSpec]:
    """The refusals a route may answer; a closed one always has 401, and any may be told that we failed."""
    return {
        status: described(HTTPStatus(status).phrase, kind=ProblemDetails, media_type=PROBLEM_TYPE)
        for status in (*statuses, HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.SERVICE_UNAVAILABLE)
    }


def takes(kind: type[Struct], *, lines: str | None = None, example: Mapping[str, Any] | None = None) -> type[Operation]:
    """The operation of a route that reads its JSON body strictly by itself; `lines` is a media type of many of them."""
    content = {"application/json": OpenAPIMediaType(schema=_schema(kind), example=example)}
    if lines is not None:
        one_each = {"type": "string", "description": f"one {kind.__name__} in each line"}
        content[lines] = OpenAPIMediaType(schema=one_each)  # type: ignore[arg-type]  # as the document has it
    body = RequestBody(content=content, required=True)

    @dataclass
    class TakingOperation(Operation):
        def __post_init__(self) -> None:
            self.request_body = body

    return TakingOperation


def asks(kind: type[Struct]) -> type[Operation]:
    """The operation of a route that reads its query strictly by itself."""
    schema = _schema(kind)
    needed = schema.get("required", ())
    query = [
        Parameter(name=name, param_in="query", schema=member, required=name in needed)
        for name, member in schema["properties"].items()
    ]

    @dataclass
    class AskingOperation(Operation):
        def __post_init__(self) -> None:
            self.parameters = [*(self.parameters or ()), *query]

    return AskingOperation


def _schema(kind: type[Struct]) -> Any:  # noqa: ANN401 - a JSON Schema, which the document takes as it is
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
        return _whole(definitions[part["$ref"].rpartition("/")[2]], definitions)
    # Exact numbers are numbers in our JSON, whatever holds them in memory.
    if part.get("format") == "decimal":
        return {"type": "number"}
    return {name: _whole(one, definitions) for name, one in part.items() if name != "$defs"}
