"""A session in a browser: the cookie proves the person, and a second token proves that our own page is asking.

Other sites can make a browser send the cookie, but cannot read our answers; the token is only ever in an answer.
"""

import hmac
from base64 import urlsafe_b64encode
from hashlib import sha256

from assay.identity.session import parse_session_token

_DOMAIN = b"assay/csrf/v1\n"


def csrf_token(session_token: str) -> str:
    """Derived from the session's own token, so that nothing more is stored; it reveals nothing about that token."""
    _, secret = parse_session_token(session_token)
    return urlsafe_b64encode(hmac.digest(secret.encode(), _DOMAIN, sha256)).decode().rstrip("=")


def is_csrf_token(given: str | None, session_token: str) -> bool:
    """Compared in constant time; nothing given is a no."""
    return given is not None and hmac.compare_digest(given.encode(), csrf_token(session_token).encode())
