"""Secrets that we hand out once and then know only by their SHA-256."""

import hmac
import re
from base64 import b32encode, urlsafe_b64encode

from assay.identity.errors import IdentityError
from assay.kernel.digest import Digest, digest_of

SECRET_BYTES = 32
# 32 bytes in base64url without padding.
SECRET_FORM = r"[A-Za-z0-9_-]{43}"  # noqa: S105  the form of a secret, not one
_SECRET = re.compile(SECRET_FORM, re.ASCII)


def require_entropy(entropy: bytes, size: int) -> None:
    if len(entropy) != size:
        raise IdentityError.entropy(f"expected {size} random bytes, got {len(entropy)}")


def make_name(entropy: bytes, length: int) -> str:
    """A public, practically unique name of `a-z 2-7`."""
    return b32encode(entropy).decode().lower()[:length]


def make_secret(entropy: bytes) -> str:
    return urlsafe_b64encode(entropy).decode().rstrip("=")


def secret_hash(secret: str) -> Digest:
    """Hash the text as it is shown, so that exactly one text is the secret."""
    return digest_of(secret.encode())


def matches(secret: str, expected: Digest) -> bool:
    """Compare in constant time; a text that could not be a secret is simply wrong."""
    if _SECRET.fullmatch(secret) is None:
        return False
    return hmac.compare_digest(secret_hash(secret).encode(), expected.encode())
