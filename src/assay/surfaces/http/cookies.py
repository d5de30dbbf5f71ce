"""Sessions in a browser: a cookie that no script reads, and a token that our own pages send beside it.

INVARIANT: a request that changes something and is proved by the cookie alone carries the session's CSRF token, and does
not say that another site made it. Bearer tokens and signatures need neither: no browser adds them by itself.
"""

from typing import Any
from urllib.parse import urlsplit

from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie

from assay.identity.browser import is_csrf_token
from assay.identity.errors import MalformedSessionTokenError
from assay.identity.session import SessionRecord
from assay.surfaces.http.desk import Desk
from assay.surfaces.http.errors import HttpError

SESSION_COOKIE = "assay_session"
CSRF_HEADER = "x-csrf-token"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_LONGEST = 512
_TOKEN_START = "st_"  # noqa: S105 - how one begins
_PORTS = {"http": 80, "https": 443}
_LOOPBACK = frozenset({"127.0.0.1", "::1"})
_LOCAL = ("localhost",)
_OWN_SITES = frozenset({"same-origin", "none"})

_Connection = ASGIConnection[Any, Any, Any, Any]


def public_origin(connection: _Connection) -> str:
    """Where browsers and agents reach this node: as configured, else as this request says."""
    desk: Desk = connection.app.state.desk
    configured = desk.config.http.public_url
    if configured is not None:
        return configured.rstrip("/")
    return f"{connection.scope.get('scheme', 'http')}://{connection.headers.get('host', '')}"


def is_own_host(connection: _Connection) -> bool:
    """Whether `Host` can only mean this node: as configured, else the very address that the connection came to."""
    desk: Desk = connection.app.state.desk
    if desk.config.http.public_url is not None:
        return True
    address, port = connection.scope.get("server") or ("", None)
    named = urlsplit(f"//{connection.headers.get('host', '')}")
    try:
        is_port = (named.port or _PORTS.get(str(connection.scope.get("scheme")))) == port
    except ValueError:
        return False
    return is_port and named.hostname in (address, *(_LOCAL if address in _LOOPBACK else ()))


def is_secure(connection: _Connection) -> bool:
    return public_origin(connection).startswith("https://")


def session_cookie_name(connection: _Connection) -> str:
    """Over https no other host of the same domain can set it (`__Host-`), so nobody is slipped another's session."""
    return f"__Host-{SESSION_COOKIE}" if is_secure(connection) else SESSION_COOKIE


def session_cookie(connection: _Connection, token: str, record: SessionRecord) -> Cookie:
    seconds = int((record.expires_at - record.issued_at).total_seconds())
    return _cookie(connection, session_cookie_name(connection), token, seconds, "/")


def end_cookie(connection: _Connection) -> Cookie:
    return _cookie(connection, session_cookie_name(connection), "", 0, "/")


def short_cookie(connection: _Connection, name: str, value: str, *, seconds: int, path: str) -> Cookie:
    """For one errand, on the pages of that errand alone."""
    return _cookie(connection, name, value, seconds, path)


def find_session_cookie(connection: _Connection) -> str | None:
    """A session's token; an API key in its place is nobody's session, and is not looked at."""
    token = connection.cookies.get(session_cookie_name(connection))
    return token if token and token.startswith(_TOKEN_START) and len(token) <= _LONGEST else None


def require_own_page(connection: _Connection, token: str) -> None:
    """Raise unless one of our own pages asks, or nothing is changed."""
    if connection.scope.get("method") in _SAFE:
        return
    if connection.headers.get("sec-fetch-site", "same-origin") not in _OWN_SITES:
        raise HttpError.csrf("expected a request of this node's own pages, got one of another site")
    origin = connection.headers.get("origin")
    if origin is not None and origin != public_origin(connection):
        raise HttpError.csrf("expected `Origin` to be this node, got another")
    if not _is_token(connection.headers.get(CSRF_HEADER), token):
        raise HttpError.csrf(f"expected the session's token in `{CSRF_HEADER}`, got none or another")


def _is_token(given: str | None, token: str) -> bool:
    try:
        return is_csrf_token(given, token)
    except MalformedSessionTokenError:
        return False


def _cookie(connection: _Connection, name: str, value: str, seconds: int, path: str) -> Cookie:
    return Cookie(
        key=name,
        value=value,
        path=path,
        max_age=seconds,
        httponly=True,
        samesite="lax",
        secure=is_secure(connection),
    )
