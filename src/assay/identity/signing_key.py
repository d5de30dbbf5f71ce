"""Signing keys: an Ed25519 public key with which a principal signs its requests, so that no secret is ever sent.

The key's id is the SHA-256 of its public bytes, so that one key proves one principal, in one tenant.
"""

from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType

from assay.identity.credential import SCOPE_FORM
from assay.identity.errors import IdentityError, InvalidCredentialError
from assay.identity.finding import CredentialFinding, CredentialState
from assay.identity.principal import Granted, Principal
from assay.identity.problem import Problem, names_problems, parse_problems, when
from assay.kernel.ids import KeyId, PrincipalId, TenantId, parse_key_id, parse_principal_id, parse_tenant_id
from assay.kernel.instant import Instant, render_instant
from assay.kernel.key import key_id_of
from assay.kernel.signature import load_public_key


class SigningKeyRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A registered public key; valid from `added_at`, up to and not including `expires_at`.

    INVARIANT: `key_id` is that of `public_key`, 64 lower-case hex digits.
    """

    key_id: KeyId
    tenant_id: TenantId
    principal_id: PrincipalId
    public_key: str
    scopes: tuple[str, ...]
    added_at: Instant
    added_by: PrincipalId
    expires_at: Instant | None = None
    granted: Granted | UnsetType = UNSET

    def __post_init__(self) -> None:
        _refuse(_problems(self))


class SigningKeyEnd(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A later fact: nothing signed with the key counts from `ended_at` on."""

    key_id: KeyId
    tenant_id: TenantId
    ended_at: Instant
    ended_by: PrincipalId
    reason: str

    def __post_init__(self) -> None:
        _refuse(
            parse_problems("key_id", parse_key_id, self.key_id)
            + parse_problems("tenant_id", parse_tenant_id, self.tenant_id)
            + parse_problems("ended_by", parse_principal_id, self.ended_by)
            + when(not self.reason.strip(), "reason", "expected a reason, got none")
        )


def register_signing_key(
    principal: Principal,
    public_key: bytes,
    *,
    scopes: Sequence[str],
    at: Instant,
    by: PrincipalId,
    expires_at: Instant | None = None,
) -> SigningKeyRecord:
    """The record to keep; a key of small order is refused, since anybody could sign with it."""
    load_public_key(public_key)
    return SigningKeyRecord(
        key_id=key_id_of(public_key),
        tenant_id=principal.tenant_id,
        principal_id=principal.id,
        public_key=public_key.hex(),
        scopes=tuple(sorted(set(scopes))),
        added_at=at,
        added_by=by,
        expires_at=expires_at,
    )


def end_signing_key(record: SigningKeyRecord, *, at: Instant, by: PrincipalId, reason: str) -> SigningKeyEnd:
    return SigningKeyEnd(key_id=record.key_id, tenant_id=record.tenant_id, ended_at=at, ended_by=by, reason=reason)


def check_signing_key(
    record: SigningKeyRecord, principal: Principal, *, at: Instant, ends: Sequence[Struct]
) -> CredentialFinding:
    """Whether the key proves this principal at this instant; the caller has verified the signature."""
    if (record.tenant_id, record.principal_id) != (principal.tenant_id, principal.id):
        raise IdentityError.wrong_record(
            f"expected the principal `{record.principal_id}` of the key, got `{principal.id}`"
        )
    own = (end for end in ends if isinstance(end, SigningKeyEnd) and end.key_id == record.key_id)
    ended_at = min((end.ended_at for end in own), default=None)
    if ended_at is not None and at >= ended_at:
        return _no(CredentialState.REVOKED, f"ended at {render_instant(ended_at)}")
    if at < record.added_at:
        return _no(CredentialState.NOT_YET_VALID, f"valid from {render_instant(record.added_at)}")
    if record.expires_at is not None and at >= record.expires_at:
        return _no(CredentialState.EXPIRED, f"expired at {render_instant(record.expires_at)}")
    if not principal.is_active(at):
        return _no(CredentialState.DISABLED, f"`{principal.id}` is disabled")
    return CredentialFinding(state=CredentialState.VALID, reason=f"`{principal.id}` holds the key")


def _no(state: CredentialState, reason: str) -> CredentialFinding:
    return CredentialFinding(state=state, reason=reason)


def _problems(record: SigningKeyRecord) -> tuple[Problem, ...]:
    ends_early = record.expires_at is not None and record.expires_at <= record.added_at
    return (
        parse_problems("key_id", parse_key_id, record.key_id)
        + parse_problems("tenant_id", parse_tenant_id, record.tenant_id)
        + parse_problems("principal_id", parse_principal_id, record.principal_id)
        + parse_problems("added_by", parse_principal_id, record.added_by)
        + when(not _is_key_of(record), "public_key", "expected the 64 lower-case hex digits that `key_id` is of")
        + names_problems("scopes", record.scopes, SCOPE_FORM)
        + when(not record.scopes, "scopes", "expected at least one scope, got none")
        + when(ends_early, "expires_at", "expected an instant after added_at")
    )


def _is_key_of(record: SigningKeyRecord) -> bool:
    try:
        raw = bytes.fromhex(record.public_key)
    except ValueError:
        return False
    return raw.hex() == record.public_key and key_id_of(raw) == record.key_id


def _refuse(problems: tuple[Problem, ...]) -> None:
    if problems:
        raise InvalidCredentialError(problems)
