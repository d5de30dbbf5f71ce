"""Sessions: a person who proved who they are, for a short time, until revoked.

A token is `st_id.secret`; like an API key, it is shown once and kept only as the SHA-256 of its secret. It is the
`human_session_token` that Forja asks for, so a machine can never hold one.
"""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import NewType

from msgspec import Struct

from assay.identity._check import Lifetime, check_secret
from assay.identity._secret import SECRET_BYTES, SECRET_FORM, make_name, make_secret, require_entropy, secret_hash
from assay.identity.errors import IdentityError, InvalidSessionError, MalformedSessionTokenError
from assay.identity.finding import CredentialFinding
from assay.identity.principal import Principal
from assay.identity.problem import Problem, parse_problems, when
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.ids import PrincipalId, TenantId, parse_principal_id, parse_tenant_id
from assay.kernel.instant import Instant

SessionId = NewType("SessionId", str)

DEFAULT_SESSION_LIFETIME = timedelta(minutes=15)
LONGEST_SESSION_LIFETIME = timedelta(hours=12)
_NAME_BYTES = 10
_NAME_LENGTH = 16
SESSION_ENTROPY_BYTES = _NAME_BYTES + SECRET_BYTES

_ID = re.compile(r"st_[a-z2-7]{16}", re.ASCII)
_TOKEN = re.compile(rf"(st_[a-z2-7]{{16}})\.({SECRET_FORM})", re.ASCII)


class SessionRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is kept of a session; valid from `issued_at`, up to and not including `expires_at`."""

    id: SessionId
    tenant_id: TenantId
    principal_id: PrincipalId
    secret_hash: Digest
    issued_at: Instant
    expires_at: Instant

    def __post_init__(self) -> None:
        _refuse(_session_problems(self))


class SessionRevocation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A later fact: the session is void from `revoked_at` on."""

    session_id: SessionId
    tenant_id: TenantId
    revoked_at: Instant
    revoked_by: PrincipalId
    reason: str

    def __post_init__(self) -> None:
        _refuse(
            parse_problems("session_id", parse_session_id, self.session_id)
            + parse_problems("tenant_id", parse_tenant_id, self.tenant_id)
            + parse_problems("revoked_by", parse_principal_id, self.revoked_by)
            + when(not self.reason.strip(), "reason", "expected a reason, got none")
        )


def open_session(
    principal: Principal, *, entropy: bytes, at: Instant, lifetime: timedelta = DEFAULT_SESSION_LIFETIME
) -> tuple[str, SessionRecord]:
    """The token to show once, and the record to keep; the caller has already checked the password or its like."""
    if not principal.is_person():
        raise IdentityError.machine_session(f"expected a person, got {principal.kind} `{principal.id}`")
    require_entropy(entropy, SESSION_ENTROPY_BYTES)
    session_id = SessionId("st_" + make_name(entropy[:_NAME_BYTES], _NAME_LENGTH))
    secret = make_secret(entropy[_NAME_BYTES:])
    record = SessionRecord(
        id=session_id,
        tenant_id=principal.tenant_id,
        principal_id=principal.id,
        secret_hash=secret_hash(secret),
        issued_at=at,
        expires_at=Instant(at + lifetime),
    )
    return f"{session_id}.{secret}", record


def revoke_session(record: SessionRecord, *, at: Instant, by: PrincipalId, reason: str) -> SessionRevocation:
    return SessionRevocation(
        session_id=record.id, tenant_id=record.tenant_id, revoked_at=at, revoked_by=by, reason=reason
    )


def parse_session_token(text: str) -> tuple[SessionId, str]:
    """Id and secret. The text itself is never put into the error, since most of it may be a secret."""
    match = _TOKEN.fullmatch(text)
    if match is None:
        raise MalformedSessionTokenError(
            f"expected `st_` and 16 characters, a dot and a secret, got {len(text)} characters"
        )
    return SessionId(match[1]), match[2]


def parse_session_id(text: str) -> SessionId:
    if _ID.fullmatch(text) is None:
        raise MalformedSessionTokenError(f"expected `st_` and 16 of `a-z 2-7`, got {len(text)} characters")
    return SessionId(text)


def check_session(
    record: SessionRecord,
    secret: str | None,
    principal: Principal,
    *,
    at: Instant,
    revocations: Sequence[Struct],
) -> CredentialFinding:
    """Check that this secret proves this person at this instant; None: the request showed it already.

    A principal that is no person is refused outright.
    """
    if (record.tenant_id, record.principal_id) != (principal.tenant_id, principal.id):
        raise IdentityError.wrong_record(
            f"expected the principal `{record.principal_id}` of the session, got `{principal.id}`"
        )
    if not principal.is_person():
        raise IdentityError.machine_session(f"expected a person, got {principal.kind} `{principal.id}`")
    own = (fact for fact in revocations if isinstance(fact, SessionRevocation) and fact.session_id == record.id)
    lifetime = Lifetime(
        starts_at=record.issued_at,
        ends_at=record.expires_at,
        revoked_at=min((fact.revoked_at for fact in own), default=None),
    )
    return check_secret(secret, record.secret_hash, principal, lifetime, at=at)


def _session_problems(record: SessionRecord) -> tuple[Problem, ...]:
    lifetime = record.expires_at - record.issued_at
    return (
        parse_problems("id", parse_session_id, record.id)
        + parse_problems("tenant_id", parse_tenant_id, record.tenant_id)
        + parse_problems("principal_id", parse_principal_id, record.principal_id)
        + parse_problems("secret_hash", parse_digest, record.secret_hash)
        + when(
            not timedelta() < lifetime <= LONGEST_SESSION_LIFETIME,
            "expires_at",
            f"expected more than zero and at most {LONGEST_SESSION_LIFETIME} after issued_at, got {lifetime}",
        )
    )


def _refuse(problems: tuple[Problem, ...]) -> None:
    if problems:
        raise InvalidSessionError(problems)
