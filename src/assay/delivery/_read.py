"""Strict reading of a document into a shape: one way for every document of this room."""

import re
from typing import TypeVar

import msgspec
from msgspec import Struct

from assay.delivery.errors import DeliveryError
from assay.kernel.errors import JsonError
from assay.kernel.json_text import JsonValue, Limits, parse_json

__all__ = ["is_text", "read_object", "shape"]

_Shape = TypeVar("_Shape", bound=Struct)
_LIMITS = Limits(max_bytes=1 << 20, max_depth=32)
# A line break or a tab may stand in a text for people; other control characters may not, NUL least of all.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def read_object(content: bytes | str, error: type[DeliveryError]) -> dict[str, JsonValue]:
    try:
        value = parse_json(content, limits=_LIMITS)
    except JsonError as refusal:
        raise error(f"expected a JSON object: {refusal}") from refusal
    if not isinstance(value, dict):
        raise error(f"expected a JSON object, got {type(value).__name__}")
    return value


def shape(fields: JsonValue, kind: type[_Shape], error: type[DeliveryError]) -> _Shape:
    """The fields as this type; unknown members, other types and missing members are refused in one line."""
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as refusal:
        raise error(str(refusal)[:300].replace("\n", " ")) from refusal


def is_text(value: str, longest: int) -> bool:
    if len(value) > longest or not value or value.isspace():
        return False
    return value.isprintable() or _UNPRINTABLE.search(value) is None
