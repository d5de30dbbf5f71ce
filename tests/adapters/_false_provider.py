"""A provider on loopback that signs whatever the test wants: what a real one would never do."""

import hmac
import json
import threading
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey

__all__ = ["FalseProvider", "speaking"]


@dataclass
class FalseProvider:
    """`document` and `token` are what it says next; `asked` counts the requests for each path."""

    issuer: str = ""
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "one"}))
    document: dict[str, Any] = field(default_factory=dict)
    token: str | None = None
    status: int = 200
    asked: list[str] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)
    basic: list[str] = field(default_factory=list)

    def keys(self) -> dict[str, Any]:
        return dict(KeySet([self.key]).as_dict(private=False))

    def sign(self, claims: dict[str, Any], *, algorithm: str = "RS256", key: Any = None, **header: Any) -> str:  # noqa: ANN401  any key, any header
        return jwt.encode({"alg": algorithm, "kid": "one", **header}, claims, key or self.key, algorithms=[algorithm])

    def unsigned(self, claims: dict[str, Any]) -> str:
        return f"{_signed_part({'alg': 'none'}, claims)}."

    def by_public_key(self, claims: dict[str, Any]) -> str:
        """HMAC with the public key as the secret: taken by whoever does not look at the algorithm."""
        message = _signed_part({"alg": "HS256", "kid": "one"}, claims)
        return f"{message}.{_text(hmac.digest(self.key.as_pem(private=False), message.encode(), 'sha256'))}"

    def by_another_key(self, claims: dict[str, Any]) -> str:
        return self.sign(claims, algorithm="ES256", key=ECKey.generate_key("P-256"))

    def answer(self, path: str) -> tuple[int, Any]:
        self.asked.append(path)
        if path == "/.well-known/openid-configuration":
            return 200, {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/auth",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/jwks",
                **self.document,
            }
        if path == "/jwks":
            return 200, self.keys()
        return self.status, {} if self.token is None else {"id_token": self.token}


def _signed_part(header: dict[str, Any], claims: dict[str, Any]) -> str:
    """By hand: the library refuses to make such tokens."""
    return ".".join(_text(json.dumps(part).encode()) for part in (header, claims))


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


@contextmanager
def speaking() -> Iterator[FalseProvider]:
    provider = FalseProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            provider.forms.append(self.rfile.read(int(self.headers["content-length"])).decode())
            given = self.headers.get("authorization", "").removeprefix("Basic ")
            provider.basic.append(b64decode(given).decode())
            self._answer()

        def _answer(self) -> None:
            status, value = provider.answer(self.path)
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            if status in range(300, 400):
                self.send_header("location", f"{provider.issuer}/jwks")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_arguments: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
