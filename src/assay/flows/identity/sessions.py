"""Sessions: a person logs in with a password, sees who they are here, and logs out.

password -> throttle by account and address (from the network) -> session for a short time -> end

INVARIANT: an attempt from the network is counted, durably, before its password is checked. Many guesses at once are
thereby many attempts, and neither a restart nor a second process forgets them.
"""

import math
from datetime import timedelta
from typing import Annotated

from msgspec import Meta, Struct

from assay.facts.identity import credential_issued, credential_revoked
from assay.flows.errors.identity import NotSignedInError, ThrottledError
from assay.flows.identity.authenticate import confirm, require_session
from assay.flows.known import get_session
from assay.flows.request import Done, Option, Request
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.credential import PasswordRecord
from assay.identity.principal import Principal
from assay.identity.session import (
    DEFAULT_SESSION_LIFETIME,
    LONGEST_SESSION_LIFETIME,
    SESSION_ENTROPY_BYTES,
    SessionId,
    SessionRecord,
    SessionRevocation,
    open_session,
    parse_session_id,
    revoke_session,
)
from assay.identity.throttle import (
    ACCOUNT,
    ADDRESS,
    Failures,
    Throttle,
    account_subject,
    add_failure,
    address_subject,
    free_at,
)
from assay.kernel.digest import Digest
from assay.kernel.errors import TypeFormError
from assay.kernel.ids import PrincipalId, TenantId, parse_principal_id
from assay.kernel.instant import Instant
from assay.ports.database import Unit

_REFUSAL = "expected a person of this tenant and that person's password, got something else"
_LONGEST_SECONDS = int(LONGEST_SESSION_LIFETIME.total_seconds())
_DEFAULT_SECONDS = int(DEFAULT_SESSION_LIFETIME.total_seconds())
# Nobody: a name that is no principal's is judged, counted and refused as any other that is unknown.
UNKNOWN = PrincipalId("unknown:unknown")
_Subjects = tuple[tuple[Digest, Throttle], ...]


class LogIn(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    principal_id: Annotated[str, Meta(description="The person."), Option(form="argument", metavar="ID")]
    password: Annotated[str, Meta(description="The password, read from standard input."), Option(form="secret")]
    lifetime_seconds: Annotated[
        int,
        Meta(ge=1, le=_LONGEST_SECONDS, description="How long the session lives, at most 12h."),
        Option(flag="--lifetime", form="span"),
    ] = _DEFAULT_SECONDS


class LogOut(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class WhoAmI(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class LoggedIn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new session; the token is shown in this answer only."""

    session_token: str | None
    session_id: SessionId
    principal_id: PrincipalId
    issued_at: Instant
    expires_at: Instant


class Who(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The caller: what they are, what they may reach for, and how they were authenticated."""

    id: str
    tenant_id: str
    kind: str
    name: str | None
    roles: tuple[str, ...]
    trust_mask: int
    action_tier: int
    risk_ceiling: str
    authenticity_level_floor: int
    via: str
    scopes: tuple[str, ...]


def log_in(tools: Tools, caller: Caller, request: LogIn) -> Done[LoggedIn]:
    """Open a session for a person who knows the password, and show its token, once.

    From the network each failure makes the next attempt wait longer.
    """
    try:
        principal_id = parse_principal_id(request.principal_id)
    except TypeFormError:
        principal_id = UNKNOWN
    lifetime = timedelta(seconds=request.lifetime_seconds)
    if caller.is_local:
        token, record = check_password(
            tools, caller.tenant_id, principal_id, request.password, lifetime=lifetime, at=caller.at
        )
    else:
        token, record = attempt_log_in(
            tools,
            caller.tenant_id,
            principal_id,
            request.password,
            address=caller.credential_id,
            lifetime=lifetime,
            at=caller.at,
        )
    opened = LoggedIn(
        session_token=token,
        session_id=record.id,
        principal_id=record.principal_id,
        issued_at=record.issued_at,
        expires_at=record.expires_at,
    )
    return Done(
        value=opened,
        kept=LoggedIn(
            session_token=None,
            session_id=record.id,
            principal_id=record.principal_id,
            issued_at=record.issued_at,
            expires_at=record.expires_at,
        ),
    )


def log_out(tools: Tools, caller: Caller, request: LogOut) -> SessionRevocation:  # noqa: ARG001 - nothing more is asked
    """End the session of the caller, also for anybody else who holds its token."""

    def work(unit: Unit) -> SessionRevocation:
        proved = confirm(unit, caller)
        require_session(proved)
        record = get_session(unit, parse_session_id(proved.credential_id))
        revocation = revoke_session(record, at=caller.at, by=proved.principal.id, reason="logged out")
        unit.record(credential_revoked(record.principal_id, revocation, at=caller.at))
        return revocation

    return tools.database.write(work)


def whoami(tools: Tools, caller: Caller, request: WhoAmI) -> Who:  # noqa: ARG001 - the caller is all there is to say
    """Show the principal behind the credential, with what the credential itself is good for."""
    principal = caller.principal
    return Who(
        id=principal.id,
        tenant_id=principal.tenant_id,
        kind=principal.kind,
        name=principal.name,
        roles=principal.roles,
        trust_mask=principal.trust_mask,
        action_tier=principal.action_tier,
        risk_ceiling=principal.risk_ceiling.name,
        authenticity_level_floor=principal.authenticity_level_floor,
        via=caller.via,
        scopes=caller.scopes,
    )


def attempt_log_in(
    tools: Tools,
    tenant_id: TenantId,
    principal_id: PrincipalId,
    password: str,
    *,
    address: str,
    lifetime: timedelta = DEFAULT_SESSION_LIFETIME,
    at: Instant,
) -> tuple[str, SessionRecord]:
    """A session, `identity.not_signed_in`, or `identity.throttled` with the time to wait, also for unknown people."""
    subjects: _Subjects = ((account_subject(tenant_id, principal_id), ACCOUNT), (address_subject(address), ADDRESS))
    tools.database.write(lambda unit: _count(unit, subjects, at))
    try:
        opened = check_password(tools, tenant_id, principal_id, password, lifetime=lifetime, at=at)
    except NotSignedInError:
        raise
    except Exception:
        # The password was not judged, so nobody failed.
        tools.database.write(lambda unit: _take_back(unit, subjects))
        raise
    tools.database.write(lambda unit: _succeeded(unit, subjects))
    return opened


def check_password(
    tools: Tools,
    tenant_id: TenantId,
    principal_id: PrincipalId,
    password: str,
    *,
    lifetime: timedelta = DEFAULT_SESSION_LIFETIME,
    at: Instant,
) -> tuple[str, SessionRecord]:
    """The token to show once, and what is stored. Unknown, disabled and wrong get one answer, after equal work."""
    known = tools.database.read(lambda unit: unit.identity.find_password(tenant_id, principal_id))
    matched = tools.passwords.verify(None if known is None else known.encoded, password)
    if not matched:
        raise NotSignedInError(_REFUSAL)
    entropy = tools.entropy.token(SESSION_ENTROPY_BYTES)

    def work(unit: Unit) -> tuple[str, SessionRecord]:
        person = _find_person(unit, tenant_id, principal_id, known, at)
        if person is None:
            raise NotSignedInError(_REFUSAL)
        return begin_session(unit, person, entropy=entropy, lifetime=lifetime, proved_by="password", at=at)

    return tools.database.write(work)


def begin_session(
    unit: Unit, person: Principal, *, entropy: bytes, lifetime: timedelta, proved_by: str, at: Instant
) -> tuple[str, SessionRecord]:
    """The token to show once, and what is stored: row and entry in the caller's unit of work."""
    token, record = open_session(person, entropy=entropy, at=at, lifetime=lifetime)
    row = unit.identity.sealed(record)
    # A session is issued by the person who was authenticated.
    unit.record(credential_issued(record, row, by=record.principal_id, proved_by=proved_by), row)
    return token, record


def _find_person(
    unit: Unit, tenant_id: TenantId, principal_id: PrincipalId, checked: PasswordRecord | None, at: Instant
) -> Principal | None:
    """The person, if still active and if the password that was checked still is the one in force."""
    person = unit.identity.find_principal(tenant_id, principal_id)
    if person is None or not person.is_active(at):
        return None
    return person if unit.identity.find_password(tenant_id, principal_id) == checked else None


def _count(unit: Unit, subjects: _Subjects, at: Instant) -> None:
    unit.access.forget_failures(before=Instant(at - max(ACCOUNT.forgotten_after, ADDRESS.forgotten_after)))
    known = [(subject, throttle, unit.access.find_failures(subject)) for subject, throttle in subjects]
    waits = [
        end - at for _, throttle, failures in known if (end := free_at(failures, throttle)) is not None and end > at
    ]
    if waits:
        raise ThrottledError(seconds=math.ceil(max(waits).total_seconds()))
    for subject, throttle, failures in known:
        unit.access.put_failures(subject, add_failure(failures, throttle, at=at))


def _succeeded(unit: Unit, subjects: _Subjects) -> None:
    """The account is clear: its owner may have mistyped before. Of the address only this attempt is taken back."""
    (account, _), (address, _) = subjects
    unit.access.clear_failures(account)
    _take_one_back(unit, address)


def _take_back(unit: Unit, subjects: _Subjects) -> None:
    for subject, _ in subjects:
        _take_one_back(unit, subject)


def _take_one_back(unit: Unit, subject: Digest) -> None:
    failures = unit.access.find_failures(subject)
    if failures is None or failures.count <= 1:
        unit.access.clear_failures(subject)
        return
    unit.access.put_failures(subject, Failures(count=failures.count - 1, failed_at=failures.failed_at))
