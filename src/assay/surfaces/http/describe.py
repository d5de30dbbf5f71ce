"""How routes describe themselves in the OpenAPI document, beyond what their types say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import msgspec
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import (
    Example,
    OpenAPIMediaType,
    OpenAPIResponse,
    OpenAPIType,
    Operation,
    Parameter,
    RequestBody,
    Schema,
)
from msgspec import Struct

from assay.operations.problem import PROBLEM_TYPE, ProblemDetails
from assay.operations.schema import schema_of


def described(
    description: str,
    *,
    kind: type[Any] | None = bytes,
    media_type: str = "application/json",
    example: object = None,
) -> ResponseSpec:
    """A successful answer, with one as it was really given."""
    return ResponseSpec(
        data_container=kind,
        description=description,
        media_type=media_type,
        generate_examples=False,
        examples=None if example is None else [Example(value=_verbatim(example))],
    )


def _verbatim(example: object) -> msgspec.Raw:
    """As JSON already: of anything else Litestar leaves out what is null, and it would no longer be of its type."""
    return msgspec.Raw(msgspec.json.encode(example))


def problems(*statuses: int) -> Mapping[int, ResponseSpec]:
    """The refusals a route may answer; a closed one always has 401 and 429, one that reads a body 413 and 408.

    Any may be told that we failed.
    """
    slow = (HTTPStatus.REQUEST_TIMEOUT,) if HTTPStatus.REQUEST_ENTITY_TOO_LARGE in statuses else ()
    closed = (HTTPStatus.TOO_MANY_REQUESTS,) if HTTPStatus.UNAUTHORIZED in statuses else ()
    return {
        status: described(HTTPStatus(status).phrase, kind=ProblemDetails, media_type=PROBLEM_TYPE)
        for status in (*statuses, *slow, *closed, HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.SERVICE_UNAVAILABLE)
    }


def takes(kind: type[Struct]) -> type[Operation]:
    """The operation of a route that reads its JSON body strictly by itself."""
    return operation(body=kind)


def asks(kind: type[Struct]) -> type[Operation]:
    """The operation of a route that reads its query strictly by itself."""
    return operation(query=kind)


def operation(
    *,
    body: type[Struct] | None = None,
    lines: str | None = None,
    example: Mapping[str, Any] | None = None,
    query: type[Struct] | None = None,
    headers: Mapping[str, str] | None = None,
    only_lines: bool = False,
    also: Sequence[str] = (),
) -> type[Operation]:
    """A route that reads all of this by itself; `headers` are those that it looks at, each with what it is for.

    `also` are the media types of its answer besides the described one, for whoever asks for them.
    """
    parameters = [*_query_parameters(query), *_header_parameters(headers or {})]
    taken = None if body is None else _request_body(body, lines, example, only_lines=only_lines)

    @dataclass
    class ReadingOperation(Operation):
        def __post_init__(self) -> None:
            self.parameters = [*(self.parameters or ()), *parameters] or None
            self.request_body = taken or self.request_body
            _add_types(self, also)

    return ReadingOperation


def _add_types(described_one: Operation, media_types: Sequence[str]) -> None:
    answer = (described_one.responses or {}).get("200")
    if isinstance(answer, OpenAPIResponse) and answer.content is not None:
        answer.content |= {one: OpenAPIMediaType(schema=Schema()) for one in media_types}


def _request_body(
    kind: type[Struct], lines: str | None, example: Mapping[str, Any] | None, *, only_lines: bool
) -> RequestBody:
    shown = None if example is None else _verbatim(example)
    content = {"application/json": OpenAPIMediaType(schema=schema_of(kind), example=shown)}
    if only_lines:
        content.clear()
    if lines is not None:
        one_each = {"type": "string", "description": f"one {kind.__name__} in each line"}
        line = None if example is None else msgspec.json.encode(example).decode() + "\n"
        content[lines] = OpenAPIMediaType(schema=one_each, example=line)  # type: ignore[arg-type]  # as the document has it
    return RequestBody(content=content, required=True)


def _query_parameters(kind: type[Struct] | None) -> list[Parameter]:
    if kind is None:
        return []
    schema = schema_of(kind)
    needed = schema.get("required", ())
    return [
        Parameter(name=name, param_in="query", schema=member, required=name in needed)
        for name, member in schema["properties"].items()
    ]


def _header_parameters(headers: Mapping[str, str]) -> list[Parameter]:
    text = Schema(type=OpenAPIType.STRING)
    return [
        Parameter(name=name, param_in="header", schema=text, description=words, required=False)
        for name, words in headers.items()
    ]
