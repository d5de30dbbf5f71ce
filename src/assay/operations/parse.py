"""A request from named values: what the command line, tools and Python methods hand in."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from assay.operations.fields import parse_fields
from assay.operations.kinds import Operation, Place


def parse_request(operation: Operation, given: Mapping[str, Any]) -> Struct:
    """A request of the operation's type, or `http.fields` with everything that is wrong.

    A document may be handed in as bytes, text, or a value that is then written as JSON.
    """
    named = next((field.info.name for field in operation.fields if field.place is Place.DOCUMENT), None)
    written = {field.info.name: field.name for field in operation.fields}
    others = {written.get(name, name): _plain(value) for name, value in given.items() if name != named}
    plain = _without_document(operation, named)
    parsed = parse_fields(plain, others)
    values = {name: getattr(parsed, name) for name in parsed.__struct_fields__}
    if named is not None and named in given:
        values[named] = document_bytes(given[named])
    return operation.takes(**values)


def _without_document(operation: Operation, named: str | None) -> type[Struct]:
    return operation.takes if named is None else operation.named_fields


def _plain(value: object) -> object:
    """As it would come from JSON: tuples are lists, structs are objects."""
    return msgspec.to_builtins(value, builtin_types=(bytes,)) if not isinstance(value, str | int | float) else value


def document_bytes(value: object) -> bytes:
    """A document as bytes: as it is, or a value written as JSON."""
    if isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else msgspec.json.encode(value)
