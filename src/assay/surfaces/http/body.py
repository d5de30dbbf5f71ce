"""Bodies, read strictly: one JSON object, every wrong field named.

bytes -> media type -> parse_json (size, depth, duplicate keys, exact numbers) -> each field -> the route's type
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from litestar import Request
from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from assay.identity.problem import Problem
from assay.kernel.json_text import JsonValue, Limits, parse_json
from assay.surfaces.http.errors import FieldsError, MediaTypeError

__all__ = ["MAX_DEPTH", "parse_body", "read_body"]

S = TypeVar("S", bound=Struct)

MAX_DEPTH = 64


async def read_body(request: Request[Any, Any, Any]) -> bytes:
    """The raw body; Litestar stops reading at `http.max_body_bytes`."""
    media_type, _ = request.content_type
    if media_type != "application/json":
        raise MediaTypeError(f"expected `application/json`, got `{media_type[:80] or 'no media type'}`")
    return await request.body()


def parse_body(kind: type[S], received: bytes) -> S:
    """A value of the route's type, or `http.fields` with everything that is wrong."""
    document = parse_json(received, limits=Limits(max_depth=MAX_DEPTH, exact_numbers=True))
    if not isinstance(document, dict):
        raise FieldsError([Problem(field="", message="expected a JSON object")])
    known = {info.encode_name: info for info in fields(kind)}
    problems = [problem for info in known.values() for problem in _field_problems(info, document)]
    problems += [Problem(field=name[:80], message="expected no such field") for name in document if name not in known]
    if problems:
        raise FieldsError(problems)
    return msgspec.convert(document, kind)


def _field_problems(info: FieldInfo, document: Mapping[str, JsonValue]) -> list[Problem]:
    if info.encode_name not in document:
        return [Problem(field=info.encode_name, message="expected this field, got none")] if info.required else []
    try:
        msgspec.convert(document[info.encode_name], info.type)
    except msgspec.ValidationError as error:
        return [Problem(field=info.encode_name, message=str(error))]
    return []
