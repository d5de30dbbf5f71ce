"""Between records and JSON: one canonical form in, one canonical form out."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from msgspec import Struct

from assay.kernel.canonical import Profile, canonical_json
from assay.kernel.instant import instant_of, render_instant
from assay.kernel.json_text import JsonValue, parse_json
from assay.truth.number import plain_number

_PLAIN = frozenset({str, int, bool, float})


def canonical_value(value: bytes | str | Mapping[str, object]) -> JsonValue:
    """A document from outside as `kaori-2.1` would write it; texts are JSON."""
    read: object = value if isinstance(value, Mapping) else parse_json(value)
    return parse_json(canonical_json(read, Profile.KAORI))


def plain_record(value: object) -> object:  # noqa: PLR0911 - one return for each kind of value
    """A record as JSON has it: decimals as numbers, instants and choices as text, tuples as lists.

    Nothing but plain types comes out, which canonical bytes are written from fastest.
    """
    if value is None or type(value) in _PLAIN:
        return value
    if isinstance(value, Decimal):
        return plain_number(value)
    if isinstance(value, datetime):
        return render_instant(instant_of(value))
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Struct):
        config = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        return {name: plain_record(getattr(value, field)) for name, field in config}
    if isinstance(value, Mapping):
        return {name: plain_record(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain_record(part) for part in value]
    return value  # of a type that has no canonical bytes, which is for the canonicalizer to refuse
