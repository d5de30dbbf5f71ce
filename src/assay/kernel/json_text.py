"""Strict JSON: bytes from outside become values only when every reader would read the same.

text -> size, encoding, depth -> scanner with our own hooks -> value
Each refusal has its own `json.*` code. What is accepted has canonical bytes in profile `ski-3.0`, unless two keys
collide under NFC.
"""

import json
import re
from array import array
from collections import Counter
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import accumulate
from math import isfinite
from typing import Never, TypeAlias

from msgspec import Struct

from assay.kernel.errors import Blame, JsonError

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

# How deep arrays and objects are nested in a body from outside; every surface has this limit.
BODY_DEPTH = 64
_SHOWN = 80
_BLANK = " \t\n\r"
_BYTE_ORDER_MARK = "\ufeff"
_MAX_SAFE_INTEGER = 9_007_199_254_740_991
_MAX_INTEGER_CHARS = len("-9007199254740991")
# The scanner recurses in C, and `int` reads no more than 4300 digits: limits may not be set beyond what these can keep.
_DEPTH_CEILING = 256
_NUMBER_CEILING = 4096
# A string, also one that never ends.
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
# As signed bytes: an opening bracket is +1, a closing one -1.
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")


class LimitsError(JsonError):
    """Limits were asked for that the parser cannot keep."""

    code = "json.limits"
    blame = Blame.USAGE


class JsonSizeError(JsonError):
    """A text has more bytes than allowed."""

    code = "json.size"


class EncodingError(JsonError):
    """A text is not UTF-8."""

    code = "json.encoding"


class ByteOrderMarkError(JsonError):
    """A text starts with a byte order mark."""

    code = "json.byte_order_mark"


class JsonDepthError(JsonError):
    """Arrays and objects are nested deeper than allowed."""

    code = "json.depth"


class MalformedJsonError(JsonError):
    """A text is not JSON."""

    code = "json.malformed"


class TrailingContentError(JsonError):
    """Something follows the JSON value."""

    code = "json.trailing"


class DuplicateKeyError(JsonError):
    """An object names a key twice, perhaps with different escapes."""

    code = "json.duplicate_key"


class LoneSurrogateEscapeError(JsonError):
    """A string holds half of a surrogate pair, escaped or not."""

    code = "json.lone_surrogate"


class NonFiniteLiteralError(JsonError):
    """`NaN`, `Infinity` and `-Infinity` are not JSON."""

    code = "json.non_finite"


class NumberLengthError(JsonError):
    """A number is written with more characters than allowed."""

    code = "json.number_length"


class NumberRangeError(JsonError):
    """An integer is beyond 2^53 - 1 and binary64 would change it, or a number beyond binary64."""

    code = "json.number_range"


class InexactNumberError(JsonError):
    """A number's text does not survive binary64."""

    code = "json.inexact_number"


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much a text may ask of us.

    Integers beyond 2^53 - 1 are refused, except where the numbers of a text are binary64: with `exact_numbers` one that
    binary64 would change is refused, in either spelling; with `binary64_integers` it is rounded, as ECMAScript does.
    """

    max_bytes: int = 16 * 1024 * 1024
    max_depth: int = 128
    max_number_chars: int = 64
    exact_numbers: bool = False
    binary64_integers: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.max_depth <= _DEPTH_CEILING:
            raise LimitsError(f"expected `max_depth` of 0 to {_DEPTH_CEILING}, got {self.max_depth}")
        if not 1 <= self.max_number_chars <= _NUMBER_CEILING:
            raise LimitsError(f"expected `max_number_chars` of 1 to {_NUMBER_CEILING}, got {self.max_number_chars}")


_DEFAULT_LIMITS = Limits()
# For reading back what we wrote ourselves under `ski-3.0`; another spelling is found by writing it again.
CANONICAL_LIMITS = Limits(binary64_integers=True)


def parse_json(text: bytes | str, *, limits: Limits = _DEFAULT_LIMITS) -> JsonValue:
    """The value of a JSON text; integers stay integers, other numbers become binary64. Refuses as the codes say."""
    content = _decoded(text, limits.max_bytes)
    if content.startswith(_BYTE_ORDER_MARK):
        raise ByteOrderMarkError("expected JSON without a byte order mark, got one")
    _require_depth(content, limits.max_depth)
    value = _scan(content, _decoder(limits))
    if _SURROGATE_ESCAPE.search(content):
        _require_whole_characters(value)
    return value


def _decoded(text: bytes | str, max_bytes: int) -> str:
    size = len(text) if isinstance(text, bytes) else len(_encoded(text))
    if size > max_bytes:
        raise JsonSizeError(f"expected at most {max_bytes} bytes, got {size}")
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise EncodingError(f"expected UTF-8, got byte 0x{text[error.start]:02x} at offset {error.start}") from error


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise LoneSurrogateEscapeError(
            f"expected whole characters, got half of a surrogate pair at offset {error.start}"
        ) from error


def is_shallow(content: str, max_depth: int = BODY_DEPTH) -> bool:
    """Whether a text has too few brackets to be nested deeper, wherever they are.

    Check this before a fast decoder reads a text from outside: beyond some depth a decoder raises `RecursionError`.
    """
    return content.count("[") + content.count("{") <= max_depth


def _require_depth(content: str, max_depth: int) -> None:
    """Before scanning, so that the scanner's own recursion is bounded."""
    if is_shallow(content, max_depth):
        return
    brackets = _STRING.sub("", content).encode("utf-8").translate(_STEPS, _NOT_BRACKETS)
    deepest = max(accumulate(array("b", brackets)), default=0)
    if deepest > max_depth:
        raise JsonDepthError(f"expected at most {max_depth} nested arrays and objects, got {deepest}")


def _scan(content: str, decoder: json.JSONDecoder) -> JsonValue:
    start = len(content) - len(content.lstrip(_BLANK))
    value: JsonValue
    try:
        value, end = decoder.raw_decode(content, start)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise MalformedJsonError(f"expected JSON, got a text that stops being it at {where}: {error.msg}") from error
    rest = content[end:].lstrip(_BLANK)
    if rest:
        line, column = _position(content, len(content) - len(rest))
        raise TrailingContentError(
            f"expected nothing after the value, got `{_shown(rest)}` at line {line} column {column}"
        )
    return value


def _position(content: str, offset: int) -> tuple[int, int]:
    return content.count("\n", 0, offset) + 1, offset - content.rfind("\n", 0, offset)


def _require_whole_characters(value: JsonValue) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise LoneSurrogateEscapeError("expected whole characters, got half of a surrogate pair, escaped") from error


@lru_cache(maxsize=32)
def _decoder(limits: Limits) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_object,
        parse_int=partial(_integer_reader(limits), limits.max_number_chars),
        parse_float=partial(_exact_float if limits.exact_numbers else _float, limits.max_number_chars),
        parse_constant=_refuse_constant,
    )


def _integer_reader(limits: Limits) -> Callable[[int, str], int | float]:
    if limits.exact_numbers:
        return _exact_integer
    return _binary64_integer if limits.binary64_integers else _integer


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) != len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise DuplicateKeyError(f"expected distinct keys, got `{_shown(twice)}` twice")
    return members


def _integer(max_chars: int, text: str) -> int:
    _require_length(text, max_chars)
    # No leading zeros in JSON, so the length alone bounds the value.
    if len(text) <= _MAX_INTEGER_CHARS:
        value = int(text)
        if -_MAX_SAFE_INTEGER <= value <= _MAX_SAFE_INTEGER:
            return value
    raise NumberRangeError(f"expected an integer within 2^53 - 1 of zero, got `{_shown(text)}`")


def _binary64_integer(max_chars: int, text: str) -> int | float:
    """As ECMAScript reads it: RFC 8785 writes large floats without a point, and this is how they are read back."""
    _require_length(text, max_chars)
    value = int(text)
    return value if -_MAX_SAFE_INTEGER <= value <= _MAX_SAFE_INTEGER else float(text)


def _exact_integer(max_chars: int, text: str) -> int | float:
    """A large float is written without a point by RFC 8785, so `1e17` and `100000000000000000` are one number."""
    value = _binary64_integer(max_chars, text)
    if isinstance(value, float) and _decimal_form(text) != _decimal_form(repr(value)):
        raise NumberRangeError(f"expected an integer that binary64 keeps, got `{_shown(text)}`, kept as `{value!r}`")
    return value


def _float(max_chars: int, text: str) -> float:
    _require_length(text, max_chars)
    value = float(text)
    if not isfinite(value):
        raise NumberRangeError(f"expected a number within binary64, got `{_shown(text)}`")
    return value


def _exact_float(max_chars: int, text: str) -> float:
    value = _float(max_chars, text)
    if _decimal_form(text) != _decimal_form(repr(value)):
        raise InexactNumberError(f"expected a number that binary64 keeps, got `{_shown(text)}`, kept as `{value!r}`")
    return value


def _decimal_form(text: str) -> tuple[str, int]:
    """The signed significant digits and the exponent of a decimal text: equal for equal values, whatever the notation.

    Not `Decimal`, whose exponents are bounded.
    """
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    sign = "-" if whole.startswith("-") else ""
    digits = (whole.removeprefix("-") + fraction).lstrip("0")
    significant = digits.rstrip("0")
    if not significant:
        return "0", 0
    return sign + significant, int(exponent or "0") - len(fraction) + len(digits) - len(significant)


def _require_length(text: str, max_chars: int) -> None:
    if len(text) > max_chars:
        raise NumberLengthError(f"expected a number of at most {max_chars} characters, got {len(text)}")


def _refuse_constant(literal: str) -> Never:
    raise NonFiniteLiteralError(f"expected a finite number, got `{literal}`")


def _shown(text: str) -> str:
    return ascii(text)[1:-1][:_SHOWN]
