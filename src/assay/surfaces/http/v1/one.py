"""Single things: each with an ETag, 304 for whoever holds it already, kept for ever where it never changes."""

from hashlib import sha256
from typing import Any

import msgspec
from litestar import Request
from litestar.response import Response

from assay.surfaces.http.errors import PreconditionError
from assay.surfaces.http.proof import VARY

__all__ = ["CHANGING", "IMMUTABLE", "answer_one", "answer_page", "etag_of", "require_match"]

JSON = "application/json"
# The answer depends on who asks, so a shared cache must not keep it; a private one may.
_VARY = {"vary": VARY}
IMMUTABLE = {"cache-control": "private, max-age=31536000, immutable", **_VARY}
CHANGING = {"cache-control": "private, no-cache", **_VARY}
_PAGE = {"cache-control": "no-store"}


def answer_page(page: object) -> Response[bytes]:
    return Response(msgspec.json.encode(page), media_type=JSON, headers=_PAGE)


def answer_one(
    request: Request[Any, Any, Any], value: object, *, etag: str | None = None, is_immutable: bool = False
) -> Response[bytes]:
    """The thing as JSON, or 304. `etag` is its own hash where it has one, else that of its bytes."""
    body = value if isinstance(value, bytes) else msgspec.json.encode(value)
    tag = etag_of(body) if etag is None else f'"{etag}"'
    headers = {**(IMMUTABLE if is_immutable else CHANGING), "etag": tag}
    if _names(request.headers.get("if-none-match"), tag, is_weak=True):
        return Response(b"", status_code=304, headers=headers)
    return Response(body, media_type=JSON, headers=headers)


def etag_of(body: bytes) -> str:
    return f'"{sha256(body).hexdigest()[:32]}"'


def require_match(request: Request[Any, Any, Any], current: str) -> None:
    """`If-Match`, where it is given, must name the thing as it is now."""
    given = request.headers.get("if-match")
    if given is not None and not _names(given, current, is_weak=False):
        raise PreconditionError(f"expected it as it is now, {current}, got `If-Match: {given[:80]}`")


def _names(header: str | None, tag: str, *, is_weak: bool) -> bool:
    if header is None:
        return False
    given = [one.strip() for one in header.split(",")]
    return "*" in given or tag in given or (is_weak and f"W/{tag}" in given)
