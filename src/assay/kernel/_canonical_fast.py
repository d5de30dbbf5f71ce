"""The fast path: look at the types, let a native encoder write, look at what it wrote.

value -> guard -> orjson -> inspect -> bytes        most records: nothing is copied
value -> rebuild -> orjson -> bytes                 some string, number or type needs work first
value -> None                                       not understood: the exact path decides, and refuses

Why the output may be inspected instead of each string: minimal separators add no white space of their own, escapes are
ASCII, and every stretch of a string between two escaped characters appears as it is in the output. The Unicode
normal forms are closed under substrings, and escaped characters compose with nothing, so an output in NFC has only
NFC strings in it, and an ASCII output has only ASCII ones.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from math import isfinite
from typing import Any, TypeAlias
from unicodedata import is_normalized, normalize

import orjson
from msgspec import UNSET, Struct
from msgspec.structs import astuple

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

# Integers are checked for range and strings for surrogates by orjson itself.
_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER | orjson.OPT_PASSTHROUGH_DATETIME
_PLAIN = frozenset({int, bool, type(None)})
_SCALARS = _PLAIN | {str}
# Between these, a float that is not integral has the same text in ECMA-262, in `repr` and in orjson.
_FLOAT_MIN = 1e-3
_FLOAT_MAX = 1e15
# Below this, 6 decimals make at most 15 digits, which binary64 tells apart.
_QUANTISED_MAX = 1e9
_PLACES = 6
_ASCII = bytes(range(0x80))
# The first bytes, in UTF-8, of U+0300, below which everything is in NFC, and of U+10000, from which on the order of
# UTF-16 code units is not that of code points.
_FIRST_COMBINING = 0xCC
_FIRST_ASTRAL = 0xF0
_LAST_IN_ONE_UNIT = "\uffff"


_Rebuilder: TypeAlias = Callable[[Any, "_Rules", int], object]


class _UnclearError(Exception):
    """The fast path does not understand this value."""


@dataclass(frozen=True, slots=True)
class _Rules:
    """What the profiles do differently."""

    is_plain_float: Callable[[float], bool]  # orjson writes it canonically
    is_canonical: Callable[[bytes], bool]  # no string that orjson wrote needed work, and the keys are in order
    is_tidy: Callable[[str], bool]  # a cheap yes for texts that need no work, also as a key
    tidy_text: Callable[[str], str]
    tidy_key: Callable[[str], str]
    rewrite_float: Callable[[float], object]


def canonicalize_fast(value: object, profile: Profile) -> bytes | None:
    """The canonical bytes, or None when the exact path must decide. Refuses nothing by itself."""
    rules = _SKI if profile is Profile.SKI else _KAORI
    try:
        if _is_plain((value,), rules.is_plain_float, MAX_DEPTH):
            content = orjson.dumps(value, _told, _OPTIONS)
            if rules.is_canonical(content):
                return content
        return orjson.dumps(_rebuild(value, rules, MAX_DEPTH), option=_OPTIONS)
    except (_UnclearError, orjson.JSONEncodeError):
        return None


def _is_plain(items: Collection[object], is_plain_float: Callable[[float], bool], depth: int) -> bool:
    """Whether orjson would write every item as it stands, given that no string in it needs work."""
    if depth < 0:
        return False
    for item in items:
        kind = type(item)
        if kind in _SCALARS:
            continue
        if kind is dict:
            if not _is_plain(item.values(), is_plain_float, depth - 1):  # type: ignore[attr-defined]  # compared above
                return False
        elif kind is list or kind is tuple:
            if not _is_plain(item, is_plain_float, depth - 1):  # type: ignore[arg-type]  # compared above
                return False
        elif kind is float and is_plain_float(item):  # type: ignore[arg-type]  # compared above
            continue
        else:
            names = _names_of(kind)  # type: ignore[arg-type]  # a type is hashable
            if names is None or (names and not _is_plain(astuple(item), is_plain_float, depth - 1)):  # type: ignore[arg-type]  # a struct
                return False
    return True


@lru_cache(maxsize=1024)
def _names_of(kind: type) -> tuple[str, ...] | None:
    """The names of a struct that is an object of just its fields, all ASCII words; none for what is written as a text.

    None for every other type. Of an enumeration orjson writes the values, so they have to be the texts of its members.
    """
    if issubclass(kind, StrEnum):
        return () if all(type(one.value) is str and one.value == str.__str__(one) for one in kind) else None
    if not issubclass(kind, Struct):
        return () if kind is datetime else None
    config, names = kind.__struct_config__, kind.__struct_encode_fields__
    is_plain = len({*names}) == len(names) and all(name.isascii() and name.isidentifier() for name in names)
    is_object = not (config.array_like or config.omit_defaults) and config.tag_field is None
    return names if names and is_plain and is_object else None


def _told(value: object) -> object:
    """What orjson asks for while it writes: only what `_is_plain` has let pass comes here."""
    if isinstance(value, datetime):
        return _instant(value, _SKI, 0)
    return dict(zip(_names_of(type(value)) or (), astuple(value), strict=True))  # type: ignore[arg-type]  # a struct


def _rebuild(value: object, rules: _Rules, depth: int) -> object:
    """The same value out of types and texts that orjson writes canonically.

    INVARIANT: no integer, truth value or null comes here: whoever calls has seen that nothing is to be done for them.
    """
    kind = type(value)
    if kind is str:
        return rules.tidy_text(value)  # type: ignore[arg-type]  # compared above
    if kind is float:
        return value if rules.is_plain_float(value) else rules.rewrite_float(value)  # type: ignore[arg-type]  # as above
    if kind is dict:
        return _members(value.items(), rules, depth)  # type: ignore[attr-defined]  # compared above
    rebuild: _Rebuilder = _rebuilder_of(kind)  # type: ignore[arg-type]  # a type is hashable
    return rebuild(value, rules, depth)


@lru_cache(maxsize=1024)
def _rebuilder_of(kind: type) -> _Rebuilder:
    """How values of a type are rebuilt, found once for each; a type that is not understood is never remembered."""
    for base, rebuilder in _REBUILDERS:
        if issubclass(kind, base):
            return rebuilder
    if not issubclass(kind, Struct):
        raise _UnclearError
    return _struct_rebuilder(kind)


def _struct_rebuilder(kind: type[Struct]) -> _Rebuilder:
    """For a struct whose names are ASCII words, as all of ours are: no key of it needs work or can meet another."""
    names = _names_of(kind)
    if names is None:
        return _any_struct

    def rebuild(value: object, rules: _Rules, depth: int) -> dict[str, object]:
        if depth == 0:
            raise _UnclearError
        is_tidy = rules.is_tidy
        members: dict[str, object] = {}
        for name, item in zip(names, astuple(value), strict=True):  # type: ignore[arg-type]  # by its type
            if item is UNSET:
                continue
            of = type(item)
            tidy = is_tidy(item) if of is str else of in _PLAIN
            members[name] = item if tidy else _rebuild(item, rules, depth - 1)
        return members

    return rebuild


def _any_struct(value: object, rules: _Rules, depth: int) -> dict[str, object]:
    pairs = struct_pairs(value)  # type: ignore[arg-type]  # by its type
    if pairs is None:
        raise _UnclearError
    return _members(pairs, rules, depth)


def _items(items: Collection[object], rules: _Rules, depth: int) -> list[object]:
    if depth == 0:
        raise _UnclearError
    is_tidy = rules.is_tidy
    rebuilt: list[object] = []  # a comprehension would cost a second stack frame for each level
    for item in items:
        of = type(item)
        tidy = is_tidy(item) if of is str else of in _PLAIN  # type: ignore[arg-type]  # compared just before
        rebuilt.append(item if tidy else _rebuild(item, rules, depth - 1))
    return rebuilt


def _members(pairs: Collection[tuple[object, object]], rules: _Rules, depth: int) -> dict[str, object]:
    if depth == 0:
        raise _UnclearError
    is_tidy = rules.is_tidy
    members: dict[str, object] = {}
    for key, item in pairs:
        name = key if type(key) is str and is_tidy(key) else _key(key, rules)
        # Most values of a record are tidy strings and small numbers: they are spared a call.
        of = type(item)
        tidy = is_tidy(item) if of is str else of in _PLAIN  # type: ignore[arg-type]  # compared just before
        members[name] = item if tidy else _rebuild(item, rules, depth - 1)
    if len(members) != len(pairs):  # two keys have become one
        raise _UnclearError
    return members


def _key(key: object, rules: _Rules) -> str:
    if not isinstance(key, str):
        raise _UnclearError
    return rules.tidy_key(str.__str__(key))


def _instant(moment: datetime, _rules: _Rules, _depth: int) -> str:
    try:
        return render_instant(instant_of(moment))
    except TypeFormError:
        raise _UnclearError from None


def _any_text(text: str, rules: _Rules, _depth: int) -> str:
    return rules.tidy_text(str.__str__(text))


def _any_integer(number: int, _rules: _Rules, _depth: int) -> int:
    return int.__index__(number)


def _any_mapping(mapping: Mapping[object, object], rules: _Rules, depth: int) -> dict[str, object]:
    return _members(list(mapping.items()), rules, depth)


# In this order: the first that a type is a kind of.
_REBUILDERS: tuple[tuple[type, _Rebuilder], ...] = (
    (list, _items),
    (tuple, _items),
    (str, _any_text),
    (int, _any_integer),
    (datetime, _instant),
    (Mapping, _any_mapping),
)


# ski-3.0


def _is_ecma_float(value: float) -> bool:
    return _FLOAT_MIN <= abs(value) < _FLOAT_MAX and not value.is_integer()


def _is_ski(content: bytes) -> bool:
    if content.isascii():
        return True
    highest = max(content.translate(None, _ASCII))
    return highest < _FIRST_COMBINING or (highest < _FIRST_ASTRAL and is_normalized("NFC", content.decode()))


def _ski_text(text: str) -> str:
    return text if text.isascii() else normalize("NFC", text)


def _ski_key(key: str) -> str:
    name = _ski_text(key)
    if name and max(name) > _LAST_IN_ONE_UNIT:  # orjson sorts by code point
        raise _UnclearError
    return name


def _ski_float(value: float) -> object:
    if not isfinite(value):
        raise _UnclearError
    # An integral float has the text of the integer, as far as integers go; this is also where -0 becomes 0.
    if value.is_integer() and abs(value) <= MAX_SAFE_INTEGER:
        return int(value)
    return orjson.Fragment(ecma_number(value))


_SKI = _Rules(
    is_plain_float=_is_ecma_float,
    is_canonical=_is_ski,
    is_tidy=str.isascii,
    tidy_text=_ski_text,
    tidy_key=_ski_key,
    rewrite_float=_ski_float,
)

# kaori-2.1


def _is_quantised_float(value: float) -> bool:
    return _FLOAT_MIN <= abs(value) < _QUANTISED_MAX and not value.is_integer() and round(value, _PLACES) == value


def _is_kaori(content: bytes) -> bool:
    # Other ASCII white space than the blank is written as an escape.
    if b"\\" in content or b"  " in content or b'" ' in content or b' "' in content:
        return False
    if content.isascii():
        return True
    wide = content.translate(None, _ASCII)
    if wide.decode().split() != [wide.decode()]:
        return False
    return max(wide) < _FIRST_COMBINING or is_normalized("NFC", content.decode())


def _is_kaori_tidy(text: str) -> bool:
    return text.isascii() and " ".join(text.split()) == text


def _kaori_text(text: str) -> str:
    return " ".join(_ski_text(text).split())


def _kaori_float(value: float) -> object:
    if not abs(value) <= MAX_SAFE_INTEGER:  # NaN too
        raise _UnclearError
    return int(value) if value.is_integer() else orjson.Fragment(quantised_number(value))


_KAORI = _Rules(
    is_plain_float=_is_quantised_float,
    is_canonical=_is_kaori,
    is_tidy=_is_kaori_tidy,
    tidy_text=_kaori_text,
    tidy_key=_kaori_text,
    rewrite_float=_kaori_float,
)
