"""The exact path: canonical text written out rule by rule, with no encoder but this one.

value -> normalised strings, ordered keys, formatted numbers -> text -> UTF-8
It is slow and meant to be read; the fast path must equal it byte for byte, and hands it whatever it does not
understand, so every refusal below is decided here and nowhere else.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from enum import StrEnum
from math import isfinite
from unicodedata import normalize

from msgspec import UNSET, Struct

from assay.kernel.errors import CanonicalError
from assay.kernel.instant import instant_of, render_instant

# How many containers may lie inside one another; `[]` is one deep.
MAX_DEPTH = 128
# The largest integer that every binary64 reader gets back unchanged (2^53 - 1).
MAX_SAFE_INTEGER = 9_007_199_254_740_991

_SHOWN = 80
_ESCAPES = {0x22: '\\"', 0x5C: "\\\\", 0x08: "\\b", 0x09: "\\t", 0x0A: "\\n", 0x0C: "\\f", 0x0D: "\\r"}
_ESCAPED = {code: f"\\u{code:04x}" for code in range(0x20)} | _ESCAPES
_REPR = re.compile(r"(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?", re.ASCII)
# ECMA-262 Number::toString writes an exponent from 1e21 upwards and from 1e-7 downwards.
_MAX_FIXED_POINT = 21
_MIN_FIXED_POINT = -6
_SIX_PLACES = Decimal("0.000001")
# A context of our own: the caller's may have another precision, or traps.
_QUANTISE = Context(prec=40, rounding=ROUND_HALF_UP)

_Path = tuple[str | int, ...]


class Profile(StrEnum):
    """Which rules make the bytes; our own records name their profile in a field."""

    SKI = "ski-3.0"
    KAORI = "kaori-2.1"


class NonFiniteError(CanonicalError):
    """NaN and the infinities have no JSON text."""

    code = "canonical.non_finite"


class IntegerRangeError(CanonicalError):
    """An integer beyond 2^53 - 1 would be read back as another by a binary64 reader."""

    code = "canonical.integer_range"


class KeyTypeError(CanonicalError):
    """A key of an object is not a string."""

    code = "canonical.key_type"


class KeyCollisionError(CanonicalError):
    """Two keys of one object are the same after normalisation."""

    code = "canonical.key_collision"


class LoneSurrogateError(CanonicalError):
    """A string holds half of a surrogate pair, which has no UTF-8."""

    code = "canonical.lone_surrogate"


class DepthError(CanonicalError):
    """Containers are nested deeper than `MAX_DEPTH`, perhaps without end."""

    code = "canonical.depth"


class ValueTypeError(CanonicalError):
    """A value is of a type that has no canonical form."""

    code = "canonical.type"


def canonicalize_exact(value: object, profile: Profile = Profile.SKI) -> bytes:
    """The canonical bytes, by the slow path alone; refuses what `canonicalize` refuses, with the same code."""
    return _text(value, profile, ()).encode("utf-8")


def ecma_number(value: float) -> str:
    """The text of a finite binary64 as ECMA-262 Number::toString has it.

    Python's `repr` gives the same shortest digits; only where the point and the exponent go is different.
    """
    match = _REPR.fullmatch(float.__repr__(value))
    assert match is not None, "a finite float has a decimal repr"  # noqa: S101 - INVARIANT: of the language
    sign, whole, fraction, exponent = match.group(1), match.group(2), match.group(3) or "", match.group(4) or "0"
    digits = (whole + fraction).lstrip("0")
    point = len(digits) - len(fraction) + int(exponent)
    digits = digits.rstrip("0")
    return sign + _place_point(digits, point) if digits else "0"


def quantised_number(value: float) -> str:
    """The text of a finite float at 6 decimals, half away from zero, decided on its shortest `repr` (Kaori 3.2).

    The caller has refused floats beyond 2^53 - 1, whose text could not be read back.
    """
    exact = Decimal(float.__repr__(value)).quantize(_SIX_PLACES, context=_QUANTISE)
    text = f"{exact:f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def struct_pairs(value: Struct) -> list[tuple[str, object]] | None:
    """The encoded names and values of a struct, its tag first, UNSET left out.

    None for a struct that msgspec would write in another shape (`array_like`, `omit_defaults`): its JSON text and its
    canonical bytes would say different things.
    """
    config = value.__struct_config__
    if config.array_like or config.omit_defaults:
        return None
    names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
    pairs = [(encoded, getattr(value, name)) for encoded, name in names]
    tag = [] if config.tag_field is None else [(config.tag_field, config.tag)]
    return tag + [(encoded, item) for encoded, item in pairs if item is not UNSET]


def _text(value: object, profile: Profile, path: _Path) -> str:  # noqa: PLR0911 - one return for each kind of value
    # A subclass of a scalar counts as that scalar and is read by the base type's own methods, never by its overrides.
    if value is None:
        return "null"
    if isinstance(value, bool):  # before int, which bool is a subclass of
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(_normalised(value, profile, path))
    if isinstance(value, int):
        return _integer(value, path)
    if isinstance(value, float):
        return _float(value, profile, path)
    if isinstance(value, datetime):
        # Twice, since an offset may have a fraction of a second of its own.
        return _quoted(render_instant(instant_of(value)))
    if isinstance(value, list | tuple):
        return _array(value, profile, path)
    return _object(_pairs(value, path), profile, path)


def _pairs(value: object, path: _Path) -> Iterable[tuple[object, object]]:
    name = type(value).__name__
    if isinstance(value, Mapping):
        return value.items()
    if not isinstance(value, Struct):
        raise ValueTypeError(f"expected a JSON value, an instant or a struct, got `{name}`{_at(path)}")
    pairs = struct_pairs(value)
    if pairs is None:
        raise ValueTypeError(f"expected a struct without array_like and omit_defaults, got `{name}`{_at(path)}")
    return pairs


def _array(items: Iterable[object], profile: Profile, path: _Path) -> str:
    _require_depth(path)
    texts: list[str] = []  # a comprehension would cost a second stack frame for each level
    for index, item in enumerate(items):
        texts.append(_text(item, profile, (*path, index)))
    return "[" + ",".join(texts) + "]"


def _object(pairs: Iterable[tuple[object, object]], profile: Profile, path: _Path) -> str:
    _require_depth(path)
    members: dict[str, str] = {}
    for key, item in pairs:
        if not isinstance(key, str):
            raise KeyTypeError(f"expected a string as key, got `{type(key).__name__}`{_at(path)}")
        name = _normalised(key, profile, path)
        if name in members:
            raise KeyCollisionError(
                f"expected distinct keys after normalisation, got `{_shown(name)}` twice{_at(path)}"
            )
        members[name] = _text(item, profile, (*path, name))
    return "{" + ",".join(f"{_quoted(name)}:{members[name]}" for name in _ordered(members, profile)) + "}"


def _require_depth(path: _Path) -> None:
    if len(path) >= MAX_DEPTH:
        raise DepthError(f"expected at most {MAX_DEPTH} nested containers, got more")


def _ordered(names: Iterable[str], profile: Profile) -> list[str]:
    if profile is Profile.KAORI:
        return sorted(names)  # by code point
    return sorted(names, key=lambda name: name.encode("utf-16-be"))  # by UTF-16 code unit (RFC 8785, 3.2.3)


def _normalised(value: str, profile: Profile, path: _Path) -> str:
    text = str.__str__(value)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise LoneSurrogateError(f"expected whole characters, got half of a surrogate pair{_at(path)}") from error
    text = normalize("NFC", text)
    return " ".join(text.split()) if profile is Profile.KAORI else text


def _quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPED)}"'


def _integer(value: int, path: _Path) -> str:
    if not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
        bits = int.bit_length(value)
        raise IntegerRangeError(f"expected an integer within 2^53 - 1 of zero, got one of {bits} bits{_at(path)}")
    return int.__repr__(value)


def _float(value: float, profile: Profile, path: _Path) -> str:
    if not isfinite(value):
        raise NonFiniteError(f"expected a finite number, got `{float.__repr__(value)}`{_at(path)}")
    if profile is Profile.SKI:
        return ecma_number(value)
    # Every float of this size is integral, so it is an integer in this profile and must be one that can be read back.
    if abs(value) > MAX_SAFE_INTEGER:
        shown = float.__repr__(value)
        raise IntegerRangeError(f"expected a number within 2^53 - 1 of zero, got `{shown}`{_at(path)}")
    return quantised_number(value)


def _place_point(digits: str, point: int) -> str:
    """The digits with the decimal point after `point` of them, in the notation of ECMA-262 (steps 6 to 10)."""
    if len(digits) <= point <= _MAX_FIXED_POINT:
        return digits.ljust(point, "0")
    if 0 < point <= _MAX_FIXED_POINT:
        return f"{digits[:point]}.{digits[point:]}"
    if _MIN_FIXED_POINT < point <= 0:
        return "0." + "0" * -point + digits
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{point - 1:+d}"


def _at(path: _Path) -> str:
    return f" at `/{_shown('/'.join(map(str, path)))}`" if path else ""


def _shown(text: str) -> str:
    return ascii(text)[1:-1][:_SHOWN]
