"""Requests that an agent signs with its own key, so that no secret ever leaves it.

    httpx.Client(auth=SignedRequests(key)).get("https://assay.example/whoami")

Each request is signed by itself (RFC 9421, Ed25519) with a nonce of its own; the node takes it once.
"""

from collections.abc import Generator
from pathlib import Path
from typing import Self

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from assay.adapters.clock import OsEntropy, SystemClock
from assay.identity.signed_request import NONCE_BYTES, make_nonce, sign_request
from assay.kernel.errors import Blame, Error
from assay.kernel.key import key_id_of
from assay.ports.clock import Clock


class NotEd25519Error(Error):
    """A file does not hold an Ed25519 private key."""

    code = "signing.not_ed25519"
    blame = Blame.USAGE


class SignedRequests(httpx.Auth):
    """For `auth=` of an httpx client, sync or async. A body must be there as a whole: it is part of what is signed."""

    requires_request_body = True

    def __init__(self, key: Ed25519PrivateKey, *, clock: Clock | None = None) -> None:
        self._key = key
        self._clock = clock or SystemClock()
        self.public_key = key.public_key().public_bytes_raw()
        self.key_id = key_id_of(self.public_key)

    @classmethod
    def from_file(cls, path: Path | str, *, password: bytes | None = None) -> Self:
        """A private key in PEM (PKCS #8), as `openssl genpkey -algorithm ed25519` makes one."""
        try:
            key = load_pem_private_key(Path(path).read_bytes(), password)
        except (ValueError, TypeError) as error:
            raise NotEd25519Error(f"expected an Ed25519 private key in PEM, got `{path}`") from error
        if not isinstance(key, Ed25519PrivateKey):
            raise NotEd25519Error(f"expected an Ed25519 private key, got another kind in `{path}`")
        return cls(key)

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        signed = sign_request(
            self._key.sign,
            self.key_id,
            method=request.method,
            target_uri=str(request.url),
            body=request.content,
            nonce=make_nonce(OsEntropy().token(NONCE_BYTES)),
            at=self._clock.now(),
            headers={name.lower(): value for name, value in request.headers.items()},
        )
        request.headers.update(signed)
        yield request
