"""The fast path: look at the types, let a native encoder write, look at what it wrote.

value -> guard -> orjson -> inspect -> bytes        most records: nothing is copied
value -> rebuild -> orjson -> bytes                 some string, number or type needs work first
value -> None                                       not understood: the exact path decides, and refuses

Why the output may be inspected instead of each string: minimal separators add no white space of their own, escapes are
ASCII, and every stretch of a string between two escaped characters appears as it is in the output. The Unicode
normal forms are closed under substrings, and escaped characters compose with nothing, so an output in NFC has only
NFC strings in it, and an ASCII output has only ASCII ones.
"""

import re
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from unicodedata import is_normalized, normalize

import orjson
from msgspec import Struct

from assay.kernel._canonical_exact import (
    MAX_DEPTH,
    MAX_SAFE_INTEGER,
    Profile,
    ecma_number,
    quantised_number,
    struct_pairs,
)
from assay.kernel.errors import TypeFormError
from assay.kernel.instant import instant_of, render_instant

__all__ = ["canonicalize_fast"]

_PLAIN = orjson.OPT_STRICT_INTEGER | orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATETIME
_SORTED = _PLAIN | orjson.OPT_SORT_KEYS
# Types whose values orjson writes canonically or refuses: it checks integers for range and strings for surrogates.
_SCALARS = frozenset({str, int, bool, type(None)})
# Between these, a float that is not integral has the same text in ECMA-262, in `repr` and in orjson.
_FLOAT_MIN = 1e-3
_FLOAT_MAX = 1e15
# Below this, 6 decimals make at most 15 digits, which binary64 tells apart.
_QUANTISED_MAX = 1e9
_PLACES = 6
_ASTRAL = re.compile(rb"[\xf0-\xf4]")
# What `str.split` takes for white space outside ASCII; a test compares the two.
_WIDE_SPACE = re.compile("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")

_IsPlainFloat = Callable[[float], bool]


class _UnclearError(Exception):
    """The fast path does not understand this value."""


def canonicalize_fast(value: object, profile: Profile) -> bytes | None:
    """The canonical bytes, or None when the exact path must decide. Refuses nothing by itself."""
    ski = profile is Profile.SKI
    if _is_plain((value,), _is_ecma_float if ski else _is_quantised_float, MAX_DEPTH):
        content = _dump(value, _SORTED)
        if content is None or (_is_ski if ski else _is_kaori)(content):
            return content
    try:
        plain = _rebuild(value, profile, MAX_DEPTH)
    except _UnclearError:
        return None
    return _dump(plain, _PLAIN)


def _dump(value: object, option: int) -> bytes | None:
    try:
        return orjson.dumps(value, option=option)
    except orjson.JSONEncodeError:
        return None


def _is_plain(items: object, is_plain_float: _IsPlainFloat, depth: int) -> bool:
    """Whether orjson would write every item as it stands, given that no string in it needs work."""
    if depth < 0:
        return False
    for item in items:  # type: ignore[attr-defined]  # a tuple, a list or the values of a dict
        kind = type(item)
        if kind in _SCALARS:
            continue
        if kind is dict:
            if not _is_plain(item.values(), is_plain_float, depth - 1):
                return False
        elif kind is list:
            if not _is_plain(item, is_plain_float, depth - 1):
                return False
        elif kind is not float or not is_plain_float(item):
            return False
    return True


def _is_ecma_float(value: float) -> bool:
    return _FLOAT_MIN <= abs(value) < _FLOAT_MAX and not value.is_integer()


def _is_quantised_float(value: float) -> bool:
    return _FLOAT_MIN <= abs(value) < _QUANTISED_MAX and not value.is_integer() and round(value, _PLACES) == value


def _is_ski(content: bytes) -> bool:
    """Whether all strings are in NFC, and no key can tell UTF-16 order from code-point order."""
    if content.isascii():
        return True
    return _ASTRAL.search(content) is None and is_normalized("NFC", content.decode())


def _is_kaori(content: bytes) -> bool:
    """Whether all strings are in NFC and have no white space to trim or collapse."""
    # Other ASCII white space than the blank is written as an escape.
    if b"\\" in content or b"  " in content or b'" ' in content or b' "' in content:
        return False
    if content.isascii():
        return True
    text = content.decode()
    return _WIDE_SPACE.search(text) is None and is_normalized("NFC", text)


def _rebuild(value: object, profile: Profile, depth: int) -> object:
    """The same value out of types and texts that orjson writes canonically, keys already in order."""
    kind = type(value)
    if kind is str:
        return _text(value, profile)  # type: ignore[arg-type]  # its type was just compared
    if kind in _SCALARS:
        return value
    if kind is float:
        return _number(value, profile)  # type: ignore[arg-type]  # its type was just compared
    if kind is dict:
        return _members(value.items(), profile, depth)  # type: ignore[attr-defined]  # its type was just compared
    if isinstance(value, list | tuple):
        return _items(value, profile, depth)
    return _rebuild_other(value, profile, depth)


def _rebuild_other(value: object, profile: Profile, depth: int) -> object:
    if isinstance(value, str):
        return _text(str.__str__(value), profile)
    if isinstance(value, int):
        return int.__index__(value)
    if isinstance(value, datetime):
        return _instant(value)
    if isinstance(value, Mapping):
        return _members(list(value.items()), profile, depth)
    pairs = struct_pairs(value) if isinstance(value, Struct) else None
    if pairs is None:
        raise _UnclearError
    return _members(pairs, profile, depth)


def _items(items: Collection[object], profile: Profile, depth: int) -> list[object]:
    if depth == 0:
        raise _UnclearError
    rebuilt: list[object] = []  # a comprehension would cost a second stack frame for each level
    for item in items:
        rebuilt.append(_rebuild(item, profile, depth - 1))  # noqa: PERF401 - as above
    return rebuilt


def _members(pairs: Collection[tuple[object, object]], profile: Profile, depth: int) -> dict[str, object]:
    if depth == 0:
        raise _UnclearError
    members: dict[str, object] = {}
    for key, item in pairs:
        members[_key(key, profile)] = _rebuild(item, profile, depth - 1)
    if len(members) != len(pairs):  # two keys have become one
        raise _UnclearError
    if profile is Profile.KAORI or "".join(members).isascii():
        return dict(sorted(members.items()))  # keys differ, so values are never compared
    return dict(sorted(members.items(), key=_utf16))


def _instant(moment: datetime) -> str:
    try:
        return render_instant(instant_of(moment))
    except TypeFormError:
        raise _UnclearError from None


def _key(key: object, profile: Profile) -> str:
    if not isinstance(key, str):
        raise _UnclearError
    return _text(str.__str__(key), profile)


def _text(text: str, profile: Profile) -> str:
    if not text.isascii():
        text = normalize("NFC", text)
    return text if profile is Profile.SKI else " ".join(text.split())


def _number(value: float, profile: Profile) -> object:
    if value.is_integer():  # an integral float has the text of the integer, as far as integers go
        if abs(value) <= MAX_SAFE_INTEGER:
            return int(value)
    elif (_is_ecma_float if profile is Profile.SKI else _is_quantised_float)(value):
        return value
    return _fragment(value, profile)


def _fragment(value: float, profile: Profile) -> orjson.Fragment:
    if value - value != 0 or (profile is Profile.KAORI and abs(value) > MAX_SAFE_INTEGER):
        raise _UnclearError
    return orjson.Fragment(ecma_number(value) if profile is Profile.SKI else quantised_number(value))


def _utf16(member: tuple[str, object]) -> bytes:
    return member[0].encode("utf-16-be", "surrogatepass")  # orjson refuses surrogates afterwards
