"""Bodies, read strictly: one JSON object, every wrong field named by its JSON pointer.

bytes -> media type -> parse_json (size, depth, duplicate keys, exact numbers) -> each field -> the route's type
"""

from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec
from litestar import Request
from msgspec import Meta, Struct, UnsetType
from msgspec.structs import fields

from assay.kernel.json_text import Limits, parse_json
from assay.surfaces.http.errors import FieldProblem, FieldsError, MediaTypeError

__all__ = ["MAX_DEPTH", "parse_body", "read_body"]

S = TypeVar("S", bound=Struct)

MAX_DEPTH = 64
_LONGEST_NAME = 80
_MOST_PROBLEMS = 100


async def read_body(request: Request[Any, Any, Any]) -> bytes:
    """The raw body; Litestar stops reading at `http.max_body_bytes`."""
    media_type, _ = request.content_type
    if media_type != "application/json":
        raise MediaTypeError(f"expected `application/json`, got `{media_type[:80] or 'no media type'}`")
    return await request.body()


def parse_body(kind: type[S], received: bytes) -> S:
    """A value of the route's type, or `http.fields` with everything that is wrong, however deep."""
    document = parse_json(received, limits=Limits(max_depth=MAX_DEPTH, exact_numbers=True))
    if not isinstance(document, dict):
        raise FieldsError([FieldProblem(field="", message="expected a JSON object", pointer="")])
    problems = list(_struct_problems(kind, document, ""))
    if problems:
        raise FieldsError(problems[:_MOST_PROBLEMS])
    return msgspec.convert(document, kind)


def _struct_problems(kind: type[Struct], document: Mapping[str, Any], place: str) -> Iterator[FieldProblem]:
    known = {info.encode_name: info for info in fields(kind)}
    for name, info in known.items():
        if name in document:
            yield from _problems(info.type, document[name], f"{place}/{_escaped(name)}")
        elif info.required:
            yield _problem(f"{place}/{_escaped(name)}", "expected this field, got none")
    for name in document:
        if name not in known:
            yield _problem(f"{place}/{_escaped(name[:_LONGEST_NAME])}", "expected no such field")


def _problems(kind: Any, value: Any, place: str) -> Iterator[FieldProblem]:  # noqa: ANN401 - any type, any JSON
    """Of the parts, where the value has parts as its type has; else of the value itself."""
    plain = _plain(kind)
    members = get_args(plain)
    if isinstance(plain, type) and issubclass(plain, Struct) and isinstance(value, dict):
        yield from _struct_problems(plain, value, place)
    elif get_origin(plain) in (tuple, list) and members and isinstance(value, list):
        yield from _value_problems(_shell(kind), value, place)
        for number, one in enumerate(value):
            yield from _problems(members[0], one, f"{place}/{number}")
    elif get_origin(plain) is dict and isinstance(value, dict):
        for name, one in value.items():
            yield from _problems(members[1], one, f"{place}/{_escaped(name[:_LONGEST_NAME])}")
    else:
        yield from _value_problems(kind, value, place)


def _value_problems(kind: Any, value: Any, place: str) -> Iterator[FieldProblem]:  # noqa: ANN401 - as above
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        yield _problem(place, str(error))


def _shell(kind: Any) -> Any:  # noqa: ANN401 - as above
    """A list of anything, as long as this one may be: what is in it is looked at one by one."""
    metas = [one for one in getattr(kind, "__metadata__", ()) if isinstance(one, Meta)]
    return Annotated[(list[Any], *metas)] if metas else list[Any]


def _plain(kind: Any) -> Any:  # noqa: ANN401 - as above
    """The one type that is meant where a value may also be absent or null."""
    if get_origin(kind) is Annotated:
        return _plain(get_args(kind)[0])
    if get_origin(kind) not in (Union, UnionType):
        return kind
    named = [one for one in get_args(kind) if one not in (NoneType, UnsetType)]
    return named[0] if len(named) == 1 else kind


def _problem(pointer: str, message: str) -> FieldProblem:
    """`field` is the name as people say it, `pointer` the place as machines find it (RFC 6901)."""
    parts = [one.replace("~1", "/").replace("~0", "~") for one in pointer.removeprefix("/").split("/")]
    return FieldProblem(field=".".join(parts), message=message, pointer=pointer)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
