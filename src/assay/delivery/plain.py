"""Canonical bytes of what signals and events are made of, by a native encoder."""

from collections.abc import Mapping
from typing import Any

import msgspec

from assay.kernel.canonical import canonicalize

_sorted = msgspec.json.Encoder(order="sorted")


def plain_bytes(value: Mapping[str, Any]) -> bytes:
    """The canonical bytes of texts, truths, small whole numbers, and lists and objects of them.

    The encoder sorts keys and adds no white space; escapes and texts beyond ASCII are found here, and go the long way.
    INVARIANT: equal to `canonicalize` of the same value; a property test holds it to that.
    """
    content = _sorted.encode(value)
    return content if content.isascii() and b"\\" not in content else canonicalize(value)
