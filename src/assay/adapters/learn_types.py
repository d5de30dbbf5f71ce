"""Types are learnt before threads decode into them.

How a struct is read is worked out when something is first decoded into it, and msgspec shows what is half worked out to
other threads: two that do so at once end the process. So whatever starts threads has every struct learnt first.
"""

import threading
from collections.abc import Iterator
from contextlib import suppress

import msgspec
from msgspec import Struct

_LOCK = threading.Lock()
_LEARNT: set[type[Struct]] = set()


def learn_types() -> None:
    """Every struct that is imported by now; those of before cost next to nothing."""
    with _LOCK:
        for kind in set(_structs(Struct)) - _LEARNT:
            # What msgspec cannot read at all, such as a union of two structs without tags, is nowhere decoded into.
            with suppress(TypeError, NameError):
                msgspec.json.Decoder(kind)
            _LEARNT.add(kind)


def _structs(base: type[Struct]) -> Iterator[type[Struct]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _structs(kind)
