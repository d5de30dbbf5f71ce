"""Pages: so many at once, and a cursor that says after which; the same for every list.

?limit=100 -> {"items": […], "next": "…"} -> ?limit=100&cursor=… until `next` is null
A cursor names a place and no number of rows: what is recorded meanwhile neither skips nor repeats anything.
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from assay.surfaces.http.errors import FieldProblem, FieldsError

__all__ = ["Cursor", "Limit", "cut", "cut_named", "next_cursor", "read_number", "read_text"]

T = TypeVar("T")
Limit = Annotated[int, Meta(ge=1, le=500)]
Cursor = Annotated[str, Meta(min_length=1, max_length=2000, pattern="^[A-Za-z0-9_-]+$")]
_HIGHEST = 2**53 - 1


def next_cursor(name: str, place: int | str) -> str:
    """Opaque to whoever gets it; `name` is that of the list, so that no other takes it."""
    return urlsafe_b64encode(msgspec.json.encode((name, place))).decode().rstrip("=")


def read_number(name: str, cursor: str | None, *, first: int = 0) -> int:
    """The number after which a list goes on."""
    place = first if cursor is None else _place(name, cursor)
    if not isinstance(place, int) or not 0 <= place <= _HIGHEST:
        raise _foreign()
    return place


def read_text(name: str, cursor: str | None) -> str | None:
    """The name after which a list goes on; None at its beginning."""
    place = None if cursor is None else _place(name, cursor)
    if place is not None and (not isinstance(place, str) or "\x00" in place):
        raise _foreign()
    return place


def cut(name: str, found: Sequence[T], limit: int, place: Callable[[T], int | str]) -> tuple[tuple[T, ...], str | None]:
    """A page, and the cursor of the next: one more than a page was read, if there was one."""
    page = tuple(found[:limit])
    return page, next_cursor(name, place(page[-1])) if len(found) > limit else None


def cut_named(
    name: str, found: Sequence[T], cursor: str | None, limit: int, place: Callable[[T], str]
) -> tuple[tuple[T, ...], str | None]:
    """A page of what is held whole, sorted by its name."""
    after = read_text(name, cursor)
    rest = [one for one in found if after is None or place(one) > after]
    return cut(name, rest[: limit + 1], limit, place)


def _place(name: str, cursor: str) -> object:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        named, place = msgspec.json.decode(urlsafe_b64decode(padded), type=tuple[str, int | str])
    except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
        raise _foreign() from error
    if named != name:
        raise _foreign()
    return place


def _foreign() -> FieldsError:
    return FieldsError([FieldProblem(field="cursor", message="expected the `next` of a page of this list")])
