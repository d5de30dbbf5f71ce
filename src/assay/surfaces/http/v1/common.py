"""What routes of `/api/v1` say of themselves alike: where they are, which headers they read, how they may refuse."""

from collections.abc import Mapping
from typing import Any, Literal

from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Operation
from msgspec import Struct

from assay.surfaces.http.describe import described, operation, problems
from assay.surfaces.http.v1.examples import example_of
from assay.surfaces.http.v1.page import Cursor, Limit

PREFIX = "/api/v1"
_TABLE = "text/csv"
_ONCE = {"Idempotency-Key": "the same key and body again is answered the same, and changes nothing"}
_HELD = {"If-None-Match": "the ETag of what is held already: 304 where it is still the same"}


class FormQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`csv` is what `Accept: text/csv` asks for too; else JSON."""

    format: Literal["csv", "json"] | None = None


class PageQuery(FormQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`cursor` is the `next` of the page before."""

    limit: Limit = 100
    cursor: Cursor | None = None


def lists(route: str, kind: type[Any], *more: int) -> Mapping[int, ResponseSpec]:
    """A list may refuse its query, and who asks."""
    return {200: described("a page", kind=kind, example=example_of(route)), **problems(400, 401, 403, 422, 429, *more)}


def lists_operation(query: type[Struct] = PageQuery) -> type[Operation]:
    return operation(query=query, also=[_TABLE])


def found(route: str, kind: type[Any], *more: int, words: str = "as it is") -> Mapping[int, ResponseSpec]:
    """A single thing is there, unchanged, or not there."""
    return {
        200: described(words, kind=kind, example=example_of(route)),
        304: described("the same as is held", kind=None),
        **problems(400, 401, 403, 404, 422, 429, *more),
    }


def one_operation(query: type[Struct] | None = None, *, may_be_csv: bool = False) -> type[Operation]:
    return operation(query=query, headers=_HELD, also=[_TABLE] if may_be_csv else ())


def made(route: str, kind: type[Any], *more: int, old: str | None = None) -> Mapping[int, ResponseSpec]:
    """A change is on disk when it is answered; `old` says when it was before."""
    known = {} if old is None else {200: described(old, kind=kind)}
    return {
        **known,
        201: described("on disk", kind=kind, example=example_of(route)),
        **problems(400, 401, 403, 404, 409, 413, 415, 422, 429, *more),
    }


def changes(
    body: type[Struct] | None = None,
    *,
    example: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    lines: str | None = None,
    query: type[Struct] | None = None,
) -> type[Operation]:
    """The operation of a route that changes something; `lines` is a media type of many bodies in lines."""
    return operation(body=body, lines=lines, example=example, query=query, headers={**_ONCE, **(headers or {})})
