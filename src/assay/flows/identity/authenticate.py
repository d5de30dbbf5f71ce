"""Who is asking: the one way in which every surface turns a credential's text into a principal."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from assay.flows.errors.identity import IdentityFlowError, NotSignedInError
from assay.flows.tools import Tools
from assay.identity.access import Requirement, check_access, find_unmet
from assay.identity.caller import Caller, Proof, Via
from assay.identity.credential import EVERY_SCOPE, ApiKeyPrefix, check_api_key, parse_api_key
from assay.identity.errors import IdentityError, MalformedApiKeyError, MalformedSessionTokenError, OtherTenantError
from assay.identity.finding import CredentialFinding, CredentialState, unknown_credential
from assay.identity.principal import Principal
from assay.identity.session import SessionId, SessionRecord, check_session, parse_session_token
from assay.identity.signed_request import SignedRequest, verify_signed_request
from assay.identity.signing_key import check_signing_key
from assay.kernel.digest import Digest, digest_of
from assay.kernel.errors import Code, Error, SignatureError
from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant, render_instant
from assay.ports.database import Unit
from assay.ports.identity_store import Holder
from assay.registry.errors import TierClosedError

# One sentence for every reason: whoever holds no valid credential learns nothing about those that exist.
_REFUSAL = "expected a valid API key or session token, got none"
# How a request that was admitted by its signature is named inside; nobody outside can sign in with such a text.
_SIGNED = "sr_"


# The caller of a flow; the older name is used by flows that still take a credential's text.
Authenticated = Caller


def authenticate(tools: Tools, credential: str, *, at: Instant) -> Authenticated:
    """The principal that this text proves at this instant; `identity.not_signed_in` for anything else."""
    _, proved = tools.database.read(lambda unit: check_credential(unit, credential, at=at))
    if proved is None:
        raise NotSignedInError(_REFUSAL)
    return proved


def find_caller(tools: Tools, credential: str, *, at: Instant) -> Authenticated | None:
    """As `authenticate`; None for a text that authenticates nobody."""
    return tools.database.read(lambda unit: check_credential(unit, credential, at=at))[1]


def authenticate_admitted(tools: Tools, credential: str, *, at: Instant) -> Authenticated:
    """As `authenticate`, also by a request that was admitted by its signature (`admit_request`)."""
    return tools.database.read(lambda unit: authenticate_in(unit, credential, at=at))


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
        raise IdentityFlowError.session_required(f"expected a session of `{proved.principal.id}`, got {proved.via}")


def require_credential(caller: Caller) -> None:
    """Raise for the operator of the folder, where the operation needs to know which principal acts."""
    if caller.is_local:
        raise NotSignedInError(_REFUSAL)


def require_scope(proved: Authenticated, scope: str) -> None:
    """Raise unless the credential was issued for this; a session is for everything that its person may do."""
    if not proved.has_scope(scope):
        raise IdentityFlowError.scope(f"expected a credential with scope `{scope}`, got `{', '.join(proved.scopes)}`")


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
    holder = None if record is None else unit.identity.find_holder(record.tenant_id, record.principal_id, prefix)
    if record is None or holder is None:
        return unknown_credential(prefix), None
    finding = check_api_key(record, secret, holder.principal, at=at, revocations=holder.ends)
    if not finding.accepted:
        return finding, None
    return finding, _caller(holder.principal, Via.API_KEY, prefix, record.scopes, at)


def _check_session(unit: Unit, credential: str, at: Instant) -> tuple[CredentialFinding, Authenticated | None]:
    session_id, secret = parse_session_token(credential)
    record = unit.identity.find_session(session_id)
    holder = None if record is None else unit.identity.find_holder(record.tenant_id, record.principal_id, session_id)
    if record is None or holder is None:
        return unknown_credential(session_id), None
    finding = check_session(record, secret, holder.principal, at=at, revocations=holder.ends)
    if finding.accepted:
        finding = _outlived_by_password(record, holder) or finding
    if not finding.accepted:
        return finding, None
    return finding, _caller(holder.principal, Via.SESSION, session_id, (EVERY_SCOPE,), at)


def _outlived_by_password(record: SessionRecord, holder: Holder) -> CredentialFinding | None:
    """A new password ends the sessions that were opened before it."""
    if holder.password_set_at is None or holder.password_set_at <= record.issued_at:
        return None
    reason = f"a new password was set at {render_instant(holder.password_set_at)}"
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
    holder = None if record is None else unit.identity.find_holder(record.tenant_id, record.principal_id, key_id)
    if record is None or holder is None:
        return unknown_credential(key_id), None
    principal = holder.principal
    try:
        verify_signed_request(request, bytes.fromhex(record.public_key))
    except SignatureError as error:
        return CredentialFinding(state=CredentialState.WRONG_SECRET, reason=str(error)), None
    finding = check_signing_key(record, principal, at=at, ends=holder.ends)
    if not finding.accepted:
        return finding, None
    proof = Proof(
        via=Via.SIGNED_REQUEST,
        credential_id=key_id,
        scopes=record.scopes,
        nonce=request.input.nonce,
        signed_hash=signed_hash(request),
    )
    return finding, Caller(tenant_id=principal.tenant_id, principal=principal, proof=proof, at=at)


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


def _caller(principal: Principal, via: Via, credential_id: str, scopes: tuple[str, ...], at: Instant) -> Caller:
    proof = Proof(via=via, credential_id=credential_id, scopes=scopes)
    return Caller(tenant_id=principal.tenant_id, principal=principal, proof=proof, at=at)


def confirm_now(tools: Tools, caller: Caller) -> Caller:
    """As `confirm`, outside a transaction: whether the caller may still do what they were permitted."""
    return tools.database.read(lambda unit: confirm(unit, caller))


def confirm(unit: Unit, caller: Caller) -> Caller:
    """Check inside the transaction that the caller may still act: credential live, principal active, needs met.

    Return the caller with the version of the principal that is in force now; `identity.not_signed_in` where the
    credential ended since the request was authenticated, and the refusal of the first need that is no longer met.
    """
    if caller.is_local:
        return caller
    finding, principal = _CONFIRMING[caller.via](unit, caller)
    if principal is None or not finding.accepted:
        raise NotSignedInError(_REFUSAL)
    current = replace(caller, principal=principal)
    if caller.needs is not None and principal != caller.principal:
        # The tier is the node's, not the principal's: it was checked when the request was admitted.
        standing = current.standing(caller.needs.tier)
        unmet = find_unmet(check_access(caller.needs, standing, tenant_id=caller.tenant_id, at=caller.at))
        if unmet is not None:
            raise refusal_of(unmet)
    return current


_REFUSALS: Mapping[str, Code | type[Error]] = {
    error.code: error
    for error in (
        IdentityError.disabled,
        OtherTenantError,
        IdentityError.role,
        IdentityFlowError.scope,
        IdentityFlowError.session_required,
        TierClosedError,
    )
}


def refusal_of(unmet: Requirement) -> Error:
    """The error of a requirement that is not met."""
    return _REFUSALS[str(unmet.code)](unmet.reason)


Confirmed = tuple[CredentialFinding, Principal | None]


def _confirm_api_key(unit: Unit, caller: Caller) -> Confirmed:
    record = unit.identity.find_api_key(ApiKeyPrefix(caller.credential_id))
    if record is None:
        return unknown_credential(caller.credential_id), None
    holder = unit.identity.find_holder(record.tenant_id, record.principal_id, record.prefix)
    if holder is None:
        return unknown_credential(caller.credential_id), None
    return check_api_key(record, None, holder.principal, at=caller.at, revocations=holder.ends), holder.principal


def _confirm_session(unit: Unit, caller: Caller) -> Confirmed:
    record = unit.identity.find_session(SessionId(caller.credential_id))
    holder = None if record is None else unit.identity.find_holder(record.tenant_id, record.principal_id, record.id)
    if record is None or holder is None:
        return unknown_credential(caller.credential_id), None
    finding = check_session(record, None, holder.principal, at=caller.at, revocations=holder.ends)
    return (_outlived_by_password(record, holder) or finding) if finding.accepted else finding, holder.principal


def _confirm_signed(unit: Unit, caller: Caller) -> Confirmed:
    """A request whose nonce is recorded with this very signature."""
    key_id, nonce = KeyId(caller.credential_id), caller.proof.nonce
    record = unit.access.find_signing_key(key_id)
    holder = None if record is None else unit.identity.find_holder(record.tenant_id, record.principal_id, key_id)
    used = None if nonce is None else unit.access.find_nonce(key_id, nonce)
    if record is None or holder is None or used is None or used.signed_hash != caller.proof.signed_hash:
        return unknown_credential(key_id), None
    return check_signing_key(record, holder.principal, at=caller.at, ends=holder.ends), holder.principal


_CONFIRMING: Mapping[Via, Callable[[Unit, Caller], Confirmed]] = {
    Via.API_KEY: _confirm_api_key,
    Via.SESSION: _confirm_session,
    Via.SIGNED_REQUEST: _confirm_signed,
}
