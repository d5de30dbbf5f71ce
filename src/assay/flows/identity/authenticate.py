"""Who is asking: the one way in which every surface turns a credential's text into a principal."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from assay.flows.errors.identity import NotSignedInError, SessionRequiredError
from assay.flows.tools import Tools
from assay.identity.credential import EVERY_SCOPE, check_api_key, covers, parse_api_key
from assay.identity.errors import MalformedApiKeyError, MalformedSessionTokenError
from assay.identity.finding import CredentialFinding, CredentialState, unknown_credential
from assay.identity.principal import Principal
from assay.identity.session import SessionRecord, check_session, parse_session_token
from assay.identity.signed_request import SignedRequest, verify_signed_request
from assay.identity.signing_key import check_signing_key
from assay.kernel.digest import Digest, digest_of
from assay.kernel.errors import SignatureError
from assay.kernel.instant import Instant, render_instant
from assay.ports.database import Unit

__all__ = [
    "Authenticated",
    "Via",
    "authenticate",
    "authenticate_each",
    "authenticate_in",
    "check_credential",
    "check_signed",
    "render_signed",
    "require_session",
    "signed_hash",
]

# One sentence for every reason: whoever holds no valid credential learns nothing about those that exist.
_REFUSAL = "expected a valid API key or session token, got none"
# How a request that was admitted by its signature is named inside; nobody outside can sign in with such a text.
_SIGNED = "sr_"


class Via(StrEnum):
    """How a principal was proved; only a session shows that a person is there now."""

    API_KEY = "api_key"
    SESSION = "session"
    SIGNED_REQUEST = "signed_request"


@dataclass(frozen=True, slots=True, kw_only=True)
class Authenticated:
    """A proved principal. `scopes` may narrow what the principal may do, and never widen it."""

    principal: Principal
    via: Via
    credential_id: str
    scopes: tuple[str, ...]

    def has_scope(self, scope: str) -> bool:
        return covers(self.scopes, scope)


def authenticate(tools: Tools, credential: str, *, at: Instant) -> Authenticated:
    """The principal that this text proves at this instant; `identity.not_signed_in` for anything else."""
    _, proved = tools.database.read(lambda unit: check_credential(unit, credential, at=at))
    if proved is None:
        raise NotSignedInError(_REFUSAL)
    return proved


def authenticate_each(
    tools: Tools, credentials: Sequence[str], *, at: Instant
) -> list[Authenticated | NotSignedInError]:
    """The same of several, by one look at the database: each is proved or refused by itself."""

    def look(unit: Unit) -> dict[str, Authenticated | None]:
        return {one: check_credential(unit, one, at=at)[1] for one in dict.fromkeys(credentials)}

    proved = tools.database.read(look)
    return [proved[one] or NotSignedInError(_REFUSAL) for one in credentials]


def authenticate_in(unit: Unit, credential: str, *, at: Instant) -> Authenticated:
    """The same inside a unit of work: what was revoked before this commit is refused.

    Here a request may also be named that was admitted by its signature.
    """
    check = _check_admitted if credential.startswith(_SIGNED) else check_credential
    _, proved = check(unit, credential, at=at)
    if proved is None:
        raise NotSignedInError(_REFUSAL)
    return proved


def require_session(proved: Authenticated) -> None:
    if proved.via is not Via.SESSION:
        raise SessionRequiredError(f"expected a session of `{proved.principal.id}`, got {proved.via}")


def check_credential(unit: Unit, credential: str, *, at: Instant) -> tuple[CredentialFinding, Authenticated | None]:
    """What was found, for our own log, and the principal if it was a yes. The finding is never shown to the asker."""
    check = _check_session if credential.startswith("st_") else _check_api_key
    try:
        return check(unit, credential, at)
    except (MalformedApiKeyError, MalformedSessionTokenError):
        return unknown_credential("(malformed)"), None


def _check_api_key(unit: Unit, credential: str, at: Instant) -> tuple[CredentialFinding, Authenticated | None]:
    prefix, secret = parse_api_key(credential)
    record = unit.identity.find_api_key(prefix)
    principal = None if record is None else unit.identity.find_principal(record.tenant_id, record.principal_id)
    if record is None or principal is None:
        return unknown_credential(prefix), None
    revocations = unit.identity.api_key_revocations(prefix)
    finding = check_api_key(record, secret, principal, at=at, revocations=revocations)
    if not finding.accepted:
        return finding, None
    return finding, Authenticated(principal=principal, via=Via.API_KEY, credential_id=prefix, scopes=record.scopes)


def _check_session(unit: Unit, credential: str, at: Instant) -> tuple[CredentialFinding, Authenticated | None]:
    session_id, secret = parse_session_token(credential)
    record = unit.identity.find_session(session_id)
    principal = None if record is None else unit.identity.find_principal(record.tenant_id, record.principal_id)
    if record is None or principal is None:
        return unknown_credential(session_id), None
    revocations = unit.identity.session_revocations(session_id)
    finding = check_session(record, secret, principal, at=at, revocations=revocations)
    if finding.accepted:
        finding = _outlived_by_password(unit, record) or finding
    if not finding.accepted:
        return finding, None
    return finding, Authenticated(principal=principal, via=Via.SESSION, credential_id=session_id, scopes=(EVERY_SCOPE,))


def _outlived_by_password(unit: Unit, record: SessionRecord) -> CredentialFinding | None:
    """A person who sets a new password means to shut out whoever knew the old one."""
    password = unit.identity.find_password(record.tenant_id, record.principal_id)
    if password is None or password.set_at <= record.issued_at:
        return None
    reason = f"a new password was set at {render_instant(password.set_at)}"
    return CredentialFinding(state=CredentialState.REVOKED, reason=reason)


def render_signed(request: SignedRequest) -> str:
    """The text under which journeys prove an admitted request again, in the commit that they end with."""
    return _SIGNED + urlsafe_b64encode(msgspec.json.encode(request)).decode()


def signed_hash(request: SignedRequest) -> Digest:
    return digest_of(request.signature)


def check_signed(unit: Unit, request: SignedRequest, *, at: Instant) -> tuple[CredentialFinding, Authenticated | None]:
    """Whose key signed it, if the key is registered and live; time and nonce are the caller's to check."""
    key_id = request.input.key_id
    record = unit.access.find_signing_key(key_id)
    principal = None if record is None else unit.identity.find_principal(record.tenant_id, record.principal_id)
    if record is None or principal is None:
        return unknown_credential(key_id), None
    try:
        verify_signed_request(request, bytes.fromhex(record.public_key))
    except SignatureError as error:
        return CredentialFinding(state=CredentialState.WRONG_SECRET, reason=str(error)), None
    finding = check_signing_key(record, principal, at=at, end=unit.access.find_signing_key_end(key_id))
    if not finding.accepted:
        return finding, None
    proved = Authenticated(principal=principal, via=Via.SIGNED_REQUEST, credential_id=key_id, scopes=record.scopes)
    return finding, proved


def _check_admitted(unit: Unit, credential: str, *, at: Instant) -> tuple[CredentialFinding, Authenticated | None]:
    """A request whose nonce is on record with this very signature: it came through the door a moment ago."""
    try:
        request = msgspec.json.decode(urlsafe_b64decode(credential.removeprefix(_SIGNED)), type=SignedRequest)
    except (msgspec.MsgspecError, binascii.Error, ValueError):
        return unknown_credential("(malformed)"), None
    used = unit.access.find_nonce(request.input.key_id, request.input.nonce)
    if used is None or used.signed_hash != signed_hash(request) or at >= used.expires_at:
        return unknown_credential("(not admitted)"), None
    return check_signed(unit, request, at=at)
