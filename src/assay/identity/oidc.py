"""OpenID Connect, as far as it is arithmetic: what one login is bound to, and whether a token is about it.

binding in the browser's cookie -> state, nonce, verifier;   claims of a verified token -> checked -> the person

Nothing of a login that is under way is kept here: state, nonce and verifier all follow from a secret that only the
browser which began it has. Whoever did not begin it can neither end it nor make another browser end it.
"""

import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import NamedTuple

from assay.identity.errors import IdTokenError
from assay.kernel.errors import TypeFormError
from assay.kernel.ids import PrincipalId, parse_principal_id
from assay.kernel.instant import Instant

BINDING_BYTES = 32
# How long a person may take at the provider.
LOGIN_SECONDS = 600
_SKEW = timedelta(seconds=60)
_BINDING = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_STATE = re.compile(r"([0-9]{1,12})\.[A-Za-z0-9_-]{43}", re.ASCII)
_LONGEST_CLAIM = 255


class LoginSecrets(NamedTuple):
    """What one login is bound to: `state` and `challenge` are sent along, `nonce` comes back in the token."""

    binding: str
    state: str
    nonce: str
    verifier: str

    @property
    def challenge(self) -> str:
        """PKCE, `S256` (RFC 7636)."""
        return _text(sha256(self.verifier.encode()).digest())


def begin_login(entropy: bytes, *, at: Instant) -> LoginSecrets:
    """The secrets of a login, from `BINDING_BYTES` unpredictable bytes; `binding` goes into a cookie, nowhere else."""
    return _secrets(_text(entropy), int(at.timestamp()))


def resume_login(binding: str | None, state: str | None, *, at: Instant) -> LoginSecrets:
    """The same secrets again, if this browser began the login of this state, and not too long ago."""
    match = None if state is None else _STATE.fullmatch(state)
    if binding is None or _BINDING.fullmatch(binding) is None or match is None or state is None:
        raise IdTokenError("expected a login that this browser began, got another")
    secrets = _secrets(binding, int(match[1]))
    if not hmac.compare_digest(secrets.state.encode(), state.encode()):
        raise IdTokenError("expected a login that this browser began, got another")
    if not -_SKEW.total_seconds() <= at.timestamp() - int(match[1]) <= LOGIN_SECONDS:
        raise IdTokenError(f"expected a login of the last {LOGIN_SECONDS} s, got an older one")
    return secrets


def verify_claims(
    claims: Mapping[str, object], *, issuers: Collection[str], client_id: str, nonce: str, at: Instant
) -> None:
    """Raise unless a token whose signature holds is of this provider, for us, for this login, and of now.

    OpenID Connect Core, 3.1.3.7, each rule by its name; a claim of the wrong type is a claim that fails.
    """
    _require(claims.get("iss") in issuers, "`iss` of the provider")
    audience = claims.get("aud")
    names = [audience] if isinstance(audience, str) else audience
    _require(isinstance(names, list) and client_id in names, "`aud` with our client id")
    authorised = claims.get("azp")
    _require(authorised in (None, client_id), "`azp` to be our client id")
    is_ours_alone = isinstance(names, list) and set(map(str, names)) == {client_id}
    _require(is_ours_alone or authorised == client_id, "`azp` where the token has other audiences")
    expires, issued = _instant(claims.get("exp")), _instant(claims.get("iat"))
    _require(expires is not None and at - _SKEW < expires, "`exp` in the future")
    _require(issued is not None and abs(at - issued) <= _SKEW + timedelta(seconds=LOGIN_SECONDS), "`iat` of now")
    _require(issued is not None and issued <= at + _SKEW, "`iat` not ahead of us")
    given = claims.get("nonce")
    _require(isinstance(given, str) and hmac.compare_digest(given.encode(), nonce.encode()), "`nonce` of this login")
    subject = claims.get("sub")
    _require(isinstance(subject, str) and 0 < len(subject) <= _LONGEST_CLAIM, "`sub` of 1 to 255 characters")


def find_person(
    claims: Mapping[str, object], *, claim: str, principals: Mapping[str, PrincipalId], prefix: str | None
) -> PrincipalId | None:
    """The principal that the claim names; None for nobody. An address counts only where the provider verified it."""
    value = claims.get(claim)
    if not isinstance(value, str) or (claim == "email" and claims.get("email_verified") is not True):
        return None
    if value in principals:
        return principals[value]
    if prefix is None:
        return None
    try:
        return parse_principal_id(f"{prefix}:{value}")
    except TypeFormError:
        return None


def _secrets(binding: str, begun: int) -> LoginSecrets:
    def derive(label: str) -> str:
        return _text(hmac.digest(binding.encode(), f"assay/oidc/{label}/v1\n{begun}".encode(), sha256))

    return LoginSecrets(binding, f"{begun}.{derive('state')}", derive("nonce"), derive("verifier"))


def _require(holds: bool, expected: str) -> None:  # noqa: FBT001  a condition, read as a sentence
    if not holds:
        raise IdTokenError(f"expected an ID token with {expected}, got another")


def _instant(seconds: object) -> Instant | None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    try:
        return Instant(datetime.fromtimestamp(seconds, UTC))
    except (OverflowError, ValueError, OSError):
        return None


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")
