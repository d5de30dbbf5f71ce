"""A provider by its issuer: discovery, keys and tokens, with the documents kept for an hour."""

import threading
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote_plus

from assay.adapters.oidc.fetch import ProviderFetch
from assay.identity.errors import IdTokenError
from assay.ports.oidc import ProviderError

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

_KEPT_SECONDS = 3600.0
# A token with a key we do not know makes us look once more, though not at every such token.
_AGAIN_SECONDS = 60.0
# One that gave no answer is not asked again at once: whoever waits for it would wait for all before them.
_REST_SECONDS = 5.0
_WELL_KNOWN = "/.well-known/openid-configuration"
_LONGEST_TOKEN = 64 * 1024


@dataclass(slots=True)
class HttpOidcProvider:
    """Implements `ports.oidc.OidcProvider`."""

    issuer: str
    client_id: str
    fetch: ProviderFetch
    algorithms: tuple[str, ...]
    client_secret: str | None = field(default=None, repr=False)
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _document: tuple[float, Mapping[str, object]] | None = None
    _keys: tuple[float, "KeySet"] | None = None
    _silent_at: float | None = None

    def authorization_endpoint(self) -> str:
        return self._endpoint("authorization_endpoint")

    def promises_issuer(self) -> bool:
        return self._discovered().get("authorization_response_iss_parameter_supported") is True

    def redeem(self, code: str, *, verifier: str, redirect_url: str) -> Mapping[str, object]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_url,
            "code_verifier": verifier,
            "client_id": self.client_id,
        }
        answer = self.fetch.post(self._endpoint("token_endpoint"), form, self._authorization())
        token = answer.get("id_token")
        if not isinstance(token, str) or len(token) > _LONGEST_TOKEN:
            raise IdTokenError("expected an ID token of the identity provider, got none")
        return self._verified(token)

    def _authorization(self) -> dict[str, str]:
        """`client_secret_basic` (RFC 6749, 2.3.1): both halves are form-encoded first."""
        if self.client_secret is None:
            return {}
        pair = f"{quote_plus(self.client_id)}:{quote_plus(self.client_secret)}"
        return {"authorization": f"Basic {b64encode(pair.encode()).decode()}"}

    def _verified(self, token: str) -> Mapping[str, object]:
        from joserfc.errors import JoseError  # noqa: PLC0415 - only a node with a provider pays for it

        try:
            try:
                return self._decoded(token, self._key_set())
            except (JoseError, ValueError, RecursionError):
                # The provider may have rolled its keys since we looked.
                return self._decoded(token, self._key_set(again=True))
        except (JoseError, ValueError, RecursionError) as error:
            raise IdTokenError(f"expected an ID token that the provider signed: {type(error).__name__}") from None

    def _decoded(self, token: str, keys: "KeySet") -> Mapping[str, object]:
        from joserfc import jwt  # noqa: PLC0415 - the same

        return jwt.decode(token, keys, algorithms=list(self.algorithms)).claims

    def _endpoint(self, name: str) -> str:
        found = self._discovered().get(name)
        if not isinstance(found, str):
            raise ProviderError(f"expected `{name}` in the provider's document, got none")
        return found

    def _discovered(self) -> Mapping[str, object]:
        with self._lock:
            if self._document is None or self.clock() - self._document[0] > _KEPT_SECONDS:
                document = self._ask(self.issuer.rstrip("/") + _WELL_KNOWN)
                # Otherwise any provider could speak in the name of ours.
                if document.get("issuer") != self.issuer:
                    raise ProviderError("expected the provider's document to name our issuer, got another")
                self._document = (self.clock(), document)
            return self._document[1]

    def _ask(self, url: str) -> dict[str, object]:
        if self._silent_at is not None and self.clock() - self._silent_at < _REST_SECONDS:
            raise ProviderError("the identity provider gave no answer a moment ago")
        try:
            return self.fetch.get(url)
        except ProviderError:
            self._silent_at = self.clock()
            raise

    def _key_set(self, *, again: bool = False) -> "KeySet":
        url = self._endpoint("jwks_uri")
        with self._lock:
            age = None if self._keys is None else self.clock() - self._keys[0]
            if self._keys is None or age is None or age > (_AGAIN_SECONDS if again else _KEPT_SECONDS):
                self._keys = (self.clock(), _read_keys(self._ask(url)))
            return self._keys[1]


def _read_keys(document: Mapping[str, object]) -> "KeySet":
    """Those that can be read: one of a kind or a curve that is new is no reason to take none (RFC 7517, 5)."""
    from joserfc.errors import JoseError  # noqa: PLC0415 - only a node with a provider pays for it
    from joserfc.jwk import KeySet  # noqa: PLC0415 - the same

    listed, keys = document.get("keys"), []
    for one in listed if isinstance(listed, list) else ():
        try:
            keys += KeySet.import_key_set({"keys": [one]}).keys
        except (JoseError, ValueError, TypeError, KeyError, AttributeError):
            continue
    if not keys:
        raise ProviderError("expected keys of the identity provider that can be read, got none")
    return KeySet(keys)
