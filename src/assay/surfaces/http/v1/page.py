"""Pages: so many at once, and a cursor that says after which; the same for every list.

?limit=100 -> {"items": […], "next": "…"} -> ?limit=100&cursor=… until `next` is null
A cursor names a place and no number of rows: what is recorded meanwhile neither skips nor repeats anything.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from msgspec import Meta

from assay.flows import request

# Cursors are those of `flows.request`; only pages are pairs here.
T = TypeVar("T")
Limit = Annotated[int, Meta(ge=1, le=500)]
Cursor = Annotated[str, Meta(min_length=1, max_length=2000, pattern="^[A-Za-z0-9_-]+$")]


def cut(name: str, found: Sequence[T], limit: int, place: Callable[[T], int | str]) -> tuple[tuple[T, ...], str | None]:
    """Make a page and the cursor of the next; `found` holds one item more where there is a next page."""
    page = request.cut(name, found, limit, place)
    return page.items, page.next


def cut_named(
    name: str, found: Sequence[T], cursor: str | None, limit: int, place: Callable[[T], str]
) -> tuple[tuple[T, ...], str | None]:
    """Make a page of a list that is held whole, sorted by name."""
    page = request.cut_named(name, found, cursor, limit, place)
    return page.items, page.next
