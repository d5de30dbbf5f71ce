"""Deterministic CBOR (RFC 8949, 4.2.1) of what COSE needs: integers, bytes, text, arrays, maps, tags, booleans, null.

value -> render_cbor -> bytes;   bytes -> parse_cbor -> value

One value has one encoding. A longer spelling of it, an indefinite length, keys out of order or twice, bytes after the
end, and what is not in the list (floats, big numbers, `undefined`) are refused, so what was read renders to the same
bytes.
"""

from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct

from assay.kernel.errors import Blame, Error

MAX_DEPTH = 16
# A value has as many items as it has bytes, at worst; what COSE needs has a few dozen.
MAX_ITEMS = 10_000

_UNSIGNED, _NEGATIVE, _BYTES, _TEXT, _ARRAY, _MAP, _TAG, _SIMPLE = range(8)
_IN_HEAD = 24
_WIDTHS = {24: 1, 25: 2, 26: 4, 27: 8}
_FALSE, _TRUE, _NULL = b"\xf4", b"\xf5", b"\xf6"
_LARGEST = 2**64 - 1


class MalformedCborError(Error):
    """Bytes are not deterministic CBOR of the kinds we read."""

    code = "cbor.malformed"
    blame = Blame.INPUT


class CborRefusedError(Error):
    """A value has no deterministic CBOR of the kinds we write."""

    code = "cbor.refused"
    blame = Blame.INPUT


class CborTag(Struct, frozen=True):
    """A value, and the number that says what it is."""

    number: int
    value: "CborValue"


CborKey: TypeAlias = int | str | bytes
CborValue: TypeAlias = (
    "int | bytes | str | bool | CborTag | list[CborValue] | tuple[CborValue, ...] | Mapping[CborKey, CborValue] | None"
)


def render_cbor(value: CborValue) -> bytes:
    """The one encoding; keys of a map are in the order of their own encodings."""
    return _render(value, MAX_DEPTH)


def parse_cbor(received: bytes) -> CborValue:
    """The value of exactly these bytes; arrays are lists."""
    reader = _Reader(received)
    value = reader.read(MAX_DEPTH)
    if reader.at != len(received):
        raise MalformedCborError(f"expected {reader.at} bytes of CBOR, got {len(received)}")
    return value


def _render(value: CborValue, depth: int) -> bytes:  # noqa: PLR0911 - one return for each kind of value
    if depth < 0:
        raise CborRefusedError(f"expected at most {MAX_DEPTH} levels, got more")
    match value:
        case None:
            return _NULL
        case bool():
            return _TRUE if value else _FALSE
        case int():
            return _head(_UNSIGNED, value) if value >= 0 else _head(_NEGATIVE, -1 - value)
        case bytes():
            return _head(_BYTES, len(value)) + value
        case str():
            return _text(value)
        case CborTag():
            return _head(_TAG, value.number) + _render(value.value, depth - 1)
        case list() | tuple():
            return _head(_ARRAY, len(value)) + b"".join(_render(item, depth - 1) for item in value)
        case Mapping():
            return _map(value, depth - 1)
        case _:
            raise CborRefusedError(f"expected an integer, bytes, text, array, map, tag, bool or null, got `{value!r}`")


def _map(value: Mapping[CborKey, CborValue], depth: int) -> bytes:
    pairs = sorted((_render(key, depth), _render(item, depth)) for key, item in value.items())
    return _head(_MAP, len(pairs)) + b"".join(key + item for key, item in pairs)


def _text(value: str) -> bytes:
    try:
        content = value.encode()
    except UnicodeEncodeError as error:
        raise CborRefusedError("expected Unicode text, got a lone surrogate") from error
    return _head(_TEXT, len(content)) + content


def _head(major: int, argument: int) -> bytes:
    """Major type and argument in as few bytes as there are."""
    if not 0 <= argument <= _LARGEST:
        raise CborRefusedError(f"expected a number of 64 bits, got one of {argument.bit_length()}")
    if argument < _IN_HEAD:
        return bytes([major << 5 | argument])
    code, width = next((code, width) for code, width in _WIDTHS.items() if argument < 1 << 8 * width)
    return bytes([major << 5 | code]) + argument.to_bytes(width, "big")


class _Reader:
    """One pass over the bytes; `at` is where the next item begins."""

    def __init__(self, received: bytes) -> None:
        self._received = received
        self._items = 0
        self.at = 0

    def read(self, depth: int) -> CborValue:  # noqa: PLR0911 - one return for each kind of value
        if depth < 0:
            raise MalformedCborError(f"expected at most {MAX_DEPTH} levels, got more")
        self._items += 1
        if self._items > MAX_ITEMS:
            raise MalformedCborError(f"expected at most {MAX_ITEMS} items, got more")
        major, argument = self._head()
        match major:
            case 0:
                return argument
            case 1:
                return -1 - argument
            case 2:
                return self._take(argument)
            case 3:
                return self._text(argument)
            case 4:
                return [self.read(depth - 1) for _ in range(self._count(argument))]
            case 5:
                return self._map(self._count(argument), depth - 1)
            case 6:
                return CborTag(argument, self.read(depth - 1))
            case _:
                return self._simple(argument)

    def _head(self) -> tuple[int, int]:
        first = self._take(1)[0]
        major, short = first >> 5, first & 0x1F
        # Floats and the two-byte simple values have arguments too, and are nothing that we read.
        if short < _IN_HEAD:
            return major, short
        if major == _SIMPLE or short not in _WIDTHS:
            raise MalformedCborError(f"expected a definite integer, text, array, map or tag, got byte 0x{first:02x}")
        argument = int.from_bytes(self._take(_WIDTHS[short]), "big")
        if len(_head(major, argument)) != 1 + _WIDTHS[short]:
            raise MalformedCborError(f"expected the shortest form of {argument}, got {_WIDTHS[short]} bytes")
        return major, argument

    def _take(self, count: int) -> bytes:
        taken = self._received[self.at : self.at + count]
        if len(taken) != count:
            raise MalformedCborError(f"expected {count} more bytes of CBOR, got {len(taken)}")
        self.at += count
        return taken

    def _count(self, argument: int) -> int:
        """An item takes at least one byte, so a count beyond the bytes left is refused before any memory is taken."""
        left = len(self._received) - self.at
        if argument > left:
            raise MalformedCborError(f"expected at most {left} items in {left} bytes, got {argument}")
        return argument

    def _text(self, argument: int) -> str:
        try:
            return self._take(argument).decode()
        except UnicodeDecodeError as error:
            raise MalformedCborError("expected UTF-8 in a text") from error

    def _map(self, count: int, depth: int) -> dict[CborKey, CborValue]:
        found: dict[CborKey, CborValue] = {}
        previous = b""
        for _ in range(count):
            start = self.at
            key = self.read(depth)
            encoded = self._received[start : self.at]
            if not isinstance(key, (int, str, bytes)) or isinstance(key, bool):
                raise MalformedCborError("expected integers, texts or bytes as keys of a map")
            if encoded <= previous:
                raise MalformedCborError("expected the keys of a map in order and each once")
            found[key], previous = self.read(depth), encoded
        return found

    def _simple(self, argument: int) -> bool | None:
        known = {20: False, 21: True, 22: None}
        if argument not in known:
            raise MalformedCborError(f"expected true, false or null, got simple value {argument}")
        return known[argument]
