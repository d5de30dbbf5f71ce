"""Single things: each with an ETag, 304 for whoever holds it already, kept for ever where it never changes."""

from collections.abc import AsyncGenerator, Callable
from functools import cache
from typing import Any, get_args, get_type_hints
from urllib.parse import urlencode

import msgspec
from litestar import Request
from litestar.response import Response, Stream
from msgspec import Struct

from assay.flows.csv_text import CSV, render_rows
from assay.flows.request import Content, encode_result, etag_of
from assay.surfaces.credential import VARY

JSON = "application/json"
# The answer depends on who asks, so a shared cache must not keep it; a private one may.
_VARY = {"vary": VARY}
IMMUTABLE = {"cache-control": "private, max-age=31536000, immutable", **_VARY}
CHANGING = {"cache-control": "private, no-cache", **_VARY}
_PAGE = {"cache-control": "no-store", "vary": "accept"}
_CSV = "text/csv"
_PIECE = 64 * 1024
_LARGE = 1024 * 1024


def answer_value(value: object) -> Response[bytes]:
    """Something that nobody keeps."""
    return Response(encode_result(value), media_type=JSON, headers=_PAGE)


def answer_page(request: Request[Any, Any, Any], page: Struct, item: type[Struct] | None = None) -> Response[bytes]:
    """A page as JSON, or as CSV for whoever asks for that; the next one is then named by `Link`."""
    if not wants_csv(request):
        return Response(encode_result(page), media_type=JSON, headers=_PAGE)
    following = getattr(page, "next", None)
    link = {} if following is None else {"link": f'<{_at(request, following)}>; rel="next"'}
    text = render_rows(item or _item_of(type(page)), page.items)  # type: ignore[attr-defined]  # every page has them
    return Response(text.encode(), media_type=CSV, headers={**_PAGE, **link})


def answer_content(request: Request[Any, Any, Any], content: Content, *, status: int) -> Response[Any]:
    """A document of its own: its exact bytes, with the caching that it allows."""
    tag = etag_of(content.body) if content.etag is None else f'"{content.etag}"'
    headers = {**(IMMUTABLE if content.is_immutable else CHANGING), "etag": tag, **content.headers}
    if holds_already(request, tag):
        return Response(b"", status_code=304, media_type=content.media_type, headers=headers)
    if content.filename is not None:
        headers["content-disposition"] = f'attachment; filename="{content.filename}"'
    if len(content.body) > _LARGE:
        # A slow reader holds the document itself, and no second copy of it in a socket's buffer.
        return Stream(_pieces(content.body), status_code=status, media_type=content.media_type, headers=headers)
    return Response(content.body, status_code=status, media_type=content.media_type, headers=headers)


def _pieces(content: bytes) -> Callable[[], AsyncGenerator[bytes, None]]:
    async def send() -> AsyncGenerator[bytes, None]:
        for start in range(0, len(content), _PIECE):
            yield content[start : start + _PIECE]

    return send


def wants_csv(request: Request[Any, Any, Any]) -> bool:
    """By `format`, else by `Accept`; JSON where both will do."""
    asked = request.query_params.get("format")
    if asked is not None:
        return str(asked) == "csv"
    return request.accept.best_match([JSON, _CSV], default=JSON) == _CSV


def _at(request: Request[Any, Any, Any], cursor: str) -> str:
    """The same list from there on."""
    asked = {**{name: texts[0] for name, texts in request.query_params.dict().items()}, "cursor": cursor}
    return f"{request.scope['path']}?{urlencode(asked)}"


@cache
def _item_of(page: type[Struct]) -> type[Struct]:
    items = get_type_hints(page)["items"]
    kind: type[Struct] = get_args(items)[0]
    return kind


def answer_one(
    request: Request[Any, Any, Any], value: object, *, etag: str | None = None, is_immutable: bool = False
) -> Response[bytes]:
    """The thing as JSON, or 304. `etag` is its own hash where it has one, else that of its bytes."""
    body = value if isinstance(value, bytes) else msgspec.json.encode(value)
    tag = etag_of(body) if etag is None else f'"{etag}"'
    headers = {**(IMMUTABLE if is_immutable else CHANGING), "etag": tag}
    if holds_already(request, tag):
        return Response(b"", status_code=304, headers=headers)
    return Response(body, media_type=JSON, headers=headers)


def holds_already(request: Request[Any, Any, Any], tag: str) -> bool:
    """Whether `If-None-Match` names it (RFC 9110 13.1.2); a weak tag is as good here."""
    return bool({"*", tag, f"W/{tag}"} & set(_tags(request, "if-none-match")))


def _tags(request: Request[Any, Any, Any], name: str) -> list[str]:
    """Of a list in one header or in several, which means the same (RFC 9110 5.3)."""
    return [one.strip() for line in request.headers.getall(name, []) for one in line.split(",")]
