"""Bodies, read strictly: one JSON object, every wrong field named by its JSON pointer.

bytes -> media type -> parse_json (size, depth, duplicate keys, exact numbers) -> each field -> the route's type
"""

import asyncio
import re
from typing import Any, TypeVar

from litestar import Request
from msgspec import Struct

from assay.kernel.json_text import BODY_DEPTH, Limits, parse_json
from assay.operations.fields import parse_fields
from assay.surfaces.http.errors import BodySizeError, HttpError, MediaTypeError

S = TypeVar("S", bound=Struct)
MAX_DEPTH = BODY_DEPTH
BODY_SECONDS = 60.0
_LIMITS = Limits(max_depth=MAX_DEPTH, exact_numbers=True)
_KEY_HEADER = "idempotency-key"
_KEY = re.compile(r"[\x21-\x7e]{1,255}", re.ASCII)


def find_key(request: Request[Any, Any, Any]) -> str | None:
    """The `Idempotency-Key` of a request, once and without its quotes; None where there is none."""
    given = request.headers.getall(_KEY_HEADER, [])
    if not given:
        return None
    # Of two, whoever sends it again may send the other one.
    if len(given) > 1:
        raise HttpError.idempotency_key(f"expected `Idempotency-Key` once, got it {len(given)} times")
    # The header's own format quotes it; most who send one do not.
    key = given[0]
    if len(key) > 1 and key[0] == key[-1] == '"':
        key = key[1:-1]
    if _KEY.fullmatch(key) is None:
        raise HttpError.idempotency_key(
            f"expected 1 to 255 visible ASCII characters in `Idempotency-Key`, got `{key[:80]}`"
        )
    return key


async def read_body(request: Request[Any, Any, Any]) -> bytes:
    """The raw body, within a minute; Litestar stops reading at `http.max_body_bytes`."""
    _require_json(request)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await request.body()
    except TimeoutError as error:
        raise HttpError.body_time(f"expected the whole body within {BODY_SECONDS:g} s") from error


async def read_long_body(request: Request[Any, Any, Any], most: int, *, is_json: bool = True) -> bytes:
    """The raw body of a route that takes longer ones than the others: up to `http.max_stream_bytes`."""
    if is_json:
        _require_json(request)
    received = await request.body()
    if len(received) > most:
        raise BodySizeError(f"expected at most {most} bytes, got {len(received)}")
    return received


def _require_json(request: Request[Any, Any, Any]) -> None:
    media_type, _ = request.content_type
    if media_type != "application/json":
        raise MediaTypeError(f"expected `application/json`, got `{media_type[:80] or 'no media type'}`")


def parse_body(kind: type[S], received: bytes) -> S:
    """A value of the route's type, or `http.fields` with everything that is wrong, however deep."""
    return parse_fields(kind, parse_json(received, limits=_LIMITS))
