"""Reading back what we wrote ourselves: canonical bytes into a type, with the numbers that were written.

canonical bytes -> native decoder -> value of the type; with numbers beyond 2^53 - 1, through the strict reader first
RFC 8785 writes a float of 2^53 up to 10^21 without a point. A decoder takes that for an integer, which is another
number and has no canonical bytes: so such a text is read as binary64, as ECMAScript reads it.
"""

import re
from typing import TypeVar

import msgspec
from msgspec import Raw

from assay.kernel.json_text import CANONICAL_LIMITS, parse_json

_T = TypeVar("_T")
# Also found within a text, which costs a slower reading and changes nothing.
_LARGE = re.compile(rb"[:,\[]-?[0-9]{16}")


def read_back(content: bytes | Raw, kind: type[_T]) -> _T:
    """A value of the type; raises `json.*` and `msgspec.MsgspecError` where the bytes are none."""
    text = bytes(content)
    if not has_large_integer(text):
        return msgspec.json.decode(text, type=kind)
    return msgspec.convert(parse_json(text, limits=CANONICAL_LIMITS), kind)


def has_large_integer(content: bytes) -> bool:
    """Whether a compact JSON text may hold an integer that binary64 does not keep."""
    return _LARGE.search(content) is not None
