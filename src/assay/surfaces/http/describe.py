"""How routes describe themselves in the OpenAPI document, beyond what their types say."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import msgspec
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import OpenAPIMediaType, Operation, RequestBody
from msgspec import Struct

from assay.surfaces.http.problem import PROBLEM_TYPE, ProblemDetails

__all__ = ["described", "problems", "takes"]


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


def takes(kind: type[Struct]) -> type[Operation]:
    """The operation of a route that reads its JSON body strictly by itself."""
    schema = msgspec.json.schema(kind)["$defs"][kind.__name__]
    body = RequestBody(content={"application/json": OpenAPIMediaType(schema=schema)}, required=True)

    @dataclass
    class TakingOperation(Operation):
        def __post_init__(self) -> None:
            self.request_body = body

    return TakingOperation
