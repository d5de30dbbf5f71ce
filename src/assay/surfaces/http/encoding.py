"""Bodies come as they are: one that is packed would be read as something else, or be larger than it says."""

from typing import Any

from litestar.connection import ASGIConnection

from assay.surfaces.http.errors import ContentEncodingError


def require_plain_body(connection: ASGIConnection[Any, Any, Any, Any]) -> None:
    """`http.content_encoding` for a body that was packed, before any of it is read."""
    given = connection.headers.get("content-encoding", "identity")
    if given.strip().lower() != "identity":
        raise ContentEncodingError(f"expected a body without `Content-Encoding`, got `{given[:80]}`")
