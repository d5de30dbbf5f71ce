"""Rows about many things at once: one statement for some hundreds of them, and not one for each."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

# Far below what any database takes in one statement.
_AT_ONCE = 500


def in_parts(values: Iterable[T]) -> Iterator[tuple[T, ...]]:
    """Each value once, in parts that fit one statement."""
    waiting = iter(dict.fromkeys(values))
    while part := tuple(islice(waiting, _AT_ONCE)):
        yield part


def marks(part: tuple[object, ...]) -> str:
    """As many places as the part has values, for `IN (…)`."""
    return ", ".join("?" * len(part))
