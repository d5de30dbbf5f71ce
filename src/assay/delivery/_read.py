"""Strict reading of a document into a shape: one way for every document of this room."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import TypeVar

import msgspec
from msgspec import Struct

from assay.delivery.errors import DeliveryError, MemberProblem
from assay.kernel.errors import Code, JsonError
from assay.kernel.json_text import BODY_DEPTH, JsonValue, Limits, parse_json

_Shape = TypeVar("_Shape", bound=Struct)
_MOST_PROBLEMS = 100
_LONGEST_WORDS, _LONGEST_NAME = 300, 80
_LIMITS = Limits(max_bytes=1 << 20, max_depth=BODY_DEPTH)
# A line break or a tab may stand in a text for people; other control characters may not, NUL least of all.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def read_object(content: bytes | str, error: Code | type[DeliveryError]) -> dict[str, JsonValue]:
    try:
        value = parse_json(content, limits=_LIMITS)
    except JsonError as refusal:
        raise error(f"expected a JSON object: {refusal}") from refusal
    if not isinstance(value, dict):
        raise error(f"expected a JSON object, got {type(value).__name__}")
    return value


def shape(fields: JsonValue, kind: type[_Shape], error: Code | type[DeliveryError]) -> _Shape:
    """The fields as this type; unknown members, other types and missing members are refused, all of them at once."""
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as refusal:
        found = tuple(islice(_problems(fields, kind), _MOST_PROBLEMS)) if isinstance(fields, dict) else ()
        words = "; ".join(f"{one.path}: {one.message}" for one in found) or str(refusal)
        raise error(words[:_LONGEST_WORDS].replace("\n", " "), found) from refusal


def _problems(fields: dict[str, JsonValue], kind: type[Struct]) -> Iterator[MemberProblem]:
    known = {info.encode_name: info for info in msgspec.structs.fields(kind)}
    for name, info in known.items():
        if name in fields:
            yield from _value_problems(name, fields[name], info.type)
        elif info.required:
            yield MemberProblem(path=name, message="expected this member, got none")
    for name in sorted(fields.keys() - known.keys()):
        yield MemberProblem(path=name[:_LONGEST_NAME], message="expected no such member")


def _value_problems(name: str, value: JsonValue, kind: object) -> Iterator[MemberProblem]:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as refusal:
        yield MemberProblem(path=name, message=str(refusal)[:_LONGEST_WORDS])


def is_text(value: str, longest: int) -> bool:
    if len(value) > longest or not value or value.isspace():
        return False
    return value.isprintable() or _UNPRINTABLE.search(value) is None
