"""What routes of `/api/v1` say of themselves alike: where they are, which headers they read, how they may refuse."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Operation
from msgspec import Struct

from assay.surfaces.http.describe import described, operation, problems

PREFIX = "/api/v1"
_ONCE = {"Idempotency-Key": "the same key and body again is answered the same, and changes nothing"}


EXAMPLES = "examples.json"


def example_of(route: str) -> object:
    """By `METHOD /path`; None for one that has none."""
    return _examples().get(route)


@cache
def _examples() -> dict[str, Any]:
    place = files("assay.surfaces.http.v1") / EXAMPLES
    known: dict[str, Any] = json.loads(place.read_text(encoding="utf-8")) if place.is_file() else {}
    return known


class FormQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`csv` is what `Accept: text/csv` asks for too; else JSON."""

    format: Literal["csv", "json"] | None = None


def lists(route: str, kind: type[Any], *more: int) -> Mapping[int, ResponseSpec]:
    """A list may refuse its query, and who asks."""
    return {200: described("a page", kind=kind, example=example_of(route)), **problems(400, 401, 403, 422, 429, *more)}


def found(route: str, kind: type[Any], *more: int, words: str = "as it is") -> Mapping[int, ResponseSpec]:
    """A single thing is there, unchanged, or not there."""
    return {
        200: described(words, kind=kind, example=example_of(route)),
        304: described("the same as is held", kind=None),
        **problems(400, 401, 403, 404, 422, 429, *more),
    }


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
