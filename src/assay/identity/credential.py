"""API keys and password records: what proves a principal, kept so that a stolen database proves nothing.

An API key is `prefix.secret`. The prefix is public and finds the record; the secret is shown once, and only its SHA-256
is kept: it holds 256 random bits, so a slow hash would protect nothing more. Passwords are short, so they are argon2id.
"""

import re
from collections.abc import Sequence
from datetime import timedelta
from enum import StrEnum
from typing import NewType

from msgspec import UNSET, Struct, UnsetType

from assay.identity._check import Lifetime, check_secret
from assay.identity._secret import SECRET_BYTES, SECRET_FORM, make_name, make_secret, require_entropy, secret_hash
from assay.identity.errors import IdentityError, InvalidCredentialError, MalformedApiKeyError
from assay.identity.finding import CredentialFinding
from assay.identity.principal import Granted, Principal
from assay.identity.problem import Problem, names_problems, parse_problems, when
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.ids import PrincipalId, TenantId, parse_principal_id, parse_tenant_id
from assay.kernel.instant import Instant

ApiKeyPrefix = NewType("ApiKeyPrefix", str)

# Everything its principal may do; a key with a narrower list may do less, and never more.
EVERY_SCOPE = "*"
_NAME_BYTES = 8
_NAME_LENGTH = 12
API_KEY_ENTROPY_BYTES = _NAME_BYTES + SECRET_BYTES

_PREFIX = re.compile(r"ak_[a-z2-7]{12}", re.ASCII)
_API_KEY = re.compile(rf"(ak_[a-z2-7]{{12}})\.({SECRET_FORM})", re.ASCII)
SCOPE_FORM = re.compile(r"\*|[a-z][a-z0-9_]*(:[a-z][a-z0-9_]*)?", re.ASCII)
_ARGON2ID = re.compile(r"\$argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]{22,}\$[A-Za-z0-9+/]{43,}", re.ASCII)


class CredentialKind(StrEnum):
    API_KEY = "api_key"
    PASSWORD = "password"  # noqa: S105  the name of a kind
    SESSION = "session"
    SIGNING_KEY = "signing_key"


def password_id(principal_id: PrincipalId) -> str:
    """The id under which a password is stored; it has no public half of its own."""
    return f"password/{principal_id}"


class ApiKeyRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is kept of an API key; valid from `issued_at`, up to and not including `expires_at`."""

    prefix: ApiKeyPrefix
    tenant_id: TenantId
    principal_id: PrincipalId
    secret_hash: Digest
    scopes: tuple[str, ...]
    issued_at: Instant
    expires_at: Instant | None = None
    granted: Granted | UnsetType = UNSET

    def __post_init__(self) -> None:
        _refuse(_api_key_problems(self))


class ApiKeyRevocation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A later fact: the key is void from `revoked_at` on, which may lie ahead while its successor is rolled out."""

    prefix: ApiKeyPrefix
    tenant_id: TenantId
    revoked_at: Instant
    revoked_by: PrincipalId
    reason: str

    def __post_init__(self) -> None:
        _refuse(
            parse_problems("prefix", parse_api_key_prefix, self.prefix)
            + parse_problems("tenant_id", parse_tenant_id, self.tenant_id)
            + parse_problems("revoked_by", parse_principal_id, self.revoked_by)
            + when(not self.reason.strip(), "reason", "expected a reason, got none")
        )


class PasswordRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person's password as an argon2id encoded string; hashing is slow and random, so an adapter does it.

    INVARIANT: stores only ever add a record; the one with the latest `set_at` is in force.
    """

    tenant_id: TenantId
    principal_id: PrincipalId
    encoded: str
    set_at: Instant
    set_by: PrincipalId
    granted: Granted | UnsetType = UNSET

    def __post_init__(self) -> None:
        _refuse(
            parse_problems("tenant_id", parse_tenant_id, self.tenant_id)
            + parse_problems("principal_id", parse_principal_id, self.principal_id)
            + parse_problems("set_by", parse_principal_id, self.set_by)
            # The text itself stays out of the message: it may be a password put in the wrong place.
            + when(_ARGON2ID.fullmatch(self.encoded) is None, "encoded", "expected an argon2id encoded string, v=19")
        )


def issue_api_key(
    principal: Principal, *, entropy: bytes, scopes: Sequence[str], at: Instant, expires_at: Instant | None = None
) -> tuple[str, ApiKeyRecord]:
    """The text to show once, and the record to keep; `entropy` is `API_KEY_ENTROPY_BYTES` unpredictable bytes."""
    require_entropy(entropy, API_KEY_ENTROPY_BYTES)
    prefix = ApiKeyPrefix("ak_" + make_name(entropy[:_NAME_BYTES], _NAME_LENGTH))
    secret = make_secret(entropy[_NAME_BYTES:])
    record = ApiKeyRecord(
        prefix=prefix,
        tenant_id=principal.tenant_id,
        principal_id=principal.id,
        secret_hash=secret_hash(secret),
        scopes=tuple(sorted(set(scopes))),
        issued_at=at,
        expires_at=expires_at,
    )
    return f"{prefix}.{secret}", record


def revoke_api_key(record: ApiKeyRecord, *, at: Instant, by: PrincipalId, reason: str) -> ApiKeyRevocation:
    return ApiKeyRevocation(
        prefix=record.prefix, tenant_id=record.tenant_id, revoked_at=at, revoked_by=by, reason=reason
    )


def rotate_api_key(
    old: ApiKeyRecord, principal: Principal, *, entropy: bytes, at: Instant, overlap: timedelta, by: PrincipalId
) -> tuple[str, ApiKeyRecord, ApiKeyRevocation]:
    """A successor with the same scopes and lifetime, and the end of the old key `overlap` later."""
    _require_own(old, principal)
    if overlap < timedelta():
        raise InvalidCredentialError(when(True, "overlap", f"expected zero or more, got {overlap}"))
    lifetime = None if old.expires_at is None else old.expires_at - old.issued_at
    expires_at = None if lifetime is None else Instant(at + lifetime)
    text, record = issue_api_key(principal, entropy=entropy, scopes=old.scopes, at=at, expires_at=expires_at)
    ends_at = Instant(at + overlap)
    return text, record, revoke_api_key(old, at=ends_at, by=by, reason=f"rotated to `{record.prefix}`")


def parse_api_key(text: str) -> tuple[ApiKeyPrefix, str]:
    """Prefix and secret. The text itself is never put into the error, since most of it may be a secret."""
    match = _API_KEY.fullmatch(text)
    if match is None:
        raise MalformedApiKeyError(f"expected `ak_` and 12 characters, a dot and a secret, got {len(text)} characters")
    return ApiKeyPrefix(match[1]), match[2]


def parse_api_key_prefix(text: str) -> ApiKeyPrefix:
    if _PREFIX.fullmatch(text) is None:
        raise MalformedApiKeyError(f"expected `ak_` and 12 of `a-z 2-7`, got {len(text)} characters")
    return ApiKeyPrefix(text)


def check_api_key(
    record: ApiKeyRecord,
    secret: str | None,
    principal: Principal,
    *,
    at: Instant,
    revocations: Sequence[Struct],
) -> CredentialFinding:
    """Check that this secret proves this principal at this instant; the caller looks up all three by the prefix.

    The secret is checked first, so that a stranger learns nothing about the key. None: the request showed it already.
    """
    _require_own(record, principal)
    own = (fact for fact in revocations if isinstance(fact, ApiKeyRevocation) and fact.prefix == record.prefix)
    lifetime = Lifetime(
        starts_at=record.issued_at,
        ends_at=record.expires_at,
        revoked_at=min((fact.revoked_at for fact in own), default=None),
    )
    return check_secret(secret, record.secret_hash, principal, lifetime, at=at)


def covers(scopes: Sequence[str], scope: str) -> bool:
    """The scope itself, or every scope; whether the principal may do it at all is another question."""
    return scope in scopes or EVERY_SCOPE in scopes


def has_scope(record: ApiKeyRecord, scope: str) -> bool:
    return covers(record.scopes, scope)


def set_password(principal: Principal, encoded: str, *, at: Instant, by: PrincipalId) -> PasswordRecord:
    if not principal.is_person():
        raise IdentityError.machine_password(f"expected a person, got {principal.kind} `{principal.id}`")
    return PasswordRecord(
        tenant_id=principal.tenant_id, principal_id=principal.id, encoded=encoded, set_at=at, set_by=by
    )


def _api_key_problems(record: ApiKeyRecord) -> tuple[Problem, ...]:
    ends_early = record.expires_at is not None and record.expires_at <= record.issued_at
    return (
        parse_problems("prefix", parse_api_key_prefix, record.prefix)
        + parse_problems("tenant_id", parse_tenant_id, record.tenant_id)
        + parse_problems("principal_id", parse_principal_id, record.principal_id)
        + parse_problems("secret_hash", parse_digest, record.secret_hash)
        + names_problems("scopes", record.scopes, SCOPE_FORM)
        + when(not record.scopes, "scopes", "expected at least one scope, got none")
        + when(ends_early, "expires_at", "expected an instant after issued_at")
    )


def _require_own(record: ApiKeyRecord, principal: Principal) -> None:
    if (record.tenant_id, record.principal_id) != (principal.tenant_id, principal.id):
        raise IdentityError.wrong_record(
            f"expected the principal `{record.principal_id}` of the key, got `{principal.id}`"
        )


def _refuse(problems: tuple[Problem, ...]) -> None:
    if problems:
        raise InvalidCredentialError(problems)
