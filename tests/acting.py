"""Set-up for tests: callers, and keys issued by the operator of the folder."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from assay.flows.identity import api_keys, principals, sessions, tiers
from assay.flows.identity.authenticate import authenticate
from assay.flows.registry.register_service import register_key_in
from assay.flows.registry.revoke_service_key import revoke_key_in
from assay.flows.review import show_ticket
from assay.flows.review.show_progress import ListProgress, progress
from assay.flows.review.show_timeline import TimelineEntry, timeline
from assay.flows.tools import Tools
from assay.identity.caller import Caller, Proof, Via, local_caller
from assay.identity.credential import EVERY_SCOPE, ApiKeyPrefix, ApiKeyRecord, ApiKeyRevocation
from assay.identity.principal import BuiltInRole, Principal, PrincipalChange, PrincipalKind
from assay.identity.session import DEFAULT_SESSION_LIFETIME, SessionRecord, SessionRevocation
from assay.identity.signing_key import SigningKeyEnd, SigningKeyRecord
from assay.kernel.ids import KeyId, PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant, parse_instant, render_instant
from assay.operations.dispatch import Dispatcher
from assay.operations.table import BY_NAME
from assay.ports.registry_store import RegisteredKey, RevokedKey
from assay.registry.tier_change import TierChange
from assay.review.progress import Progress
from assay.review.settle import Settlement
from assay.review.ticket import Ticket

_TENANT = TenantId("default")


def caller_of(tools: Tools, credential: str, *, at: Instant) -> Caller:
    """The caller that this credential authenticates; a database that a test meddles with is not asked yet."""
    database = getattr(tools.database, "inner", tools.database)
    return authenticate(replace(tools, database=database), credential, at=at)


def acting(tenant_id: TenantId, by: PrincipalId, *, at: Instant) -> Caller:
    """The operator of the folder, recorded under this name."""
    caller = local_caller(tenant_id, at=at)
    return msgspec.structs.replace(caller, principal=msgspec.structs.replace(caller.principal, id=by))


def plain(version: Principal) -> Principal:
    """A version as it is stored, without what the result of an operation adds."""
    return Principal(**{name: getattr(version, name) for name in Principal.__struct_fields__})


def add_principal(
    tools: Tools,
    tenant_id: TenantId,
    principal_id: PrincipalId,
    *,
    kind: PrincipalKind,
    name: str,
    granted: PrincipalChange | None = None,
    password: str | None = None,
    by: PrincipalId,
    at: Instant,
) -> Principal:
    """Version 1 of a principal, with any role that a test needs."""
    given = {} if granted is None else {field: value for field, value in asdict(granted).items() if value is not UNSET}
    disabled_at = given.pop("disabled_at", None)
    named = {"principal_id": principal_id, "kind": kind, "name": name, "password": password}
    wanted = principals.AddPrincipal(**{**named, **given})
    added = principals.add_principal(_with_roles(tools, wanted.roles), acting(tenant_id, by, at=at), wanted)
    if disabled_at is None:
        return plain(added)
    return amend_principal(tools, tenant_id, principal_id, PrincipalChange(disabled_at=disabled_at), by=by, at=at)


def amend_principal(
    tools: Tools,
    tenant_id: TenantId,
    principal_id: PrincipalId,
    change: PrincipalChange,
    *,
    by: PrincipalId,
    at: Instant,
) -> Principal:
    return plain(principals.amend(tools, acting(tenant_id, by, at=at), principal_id, change))


def disable_principal(
    tools: Tools, tenant_id: TenantId, principal_id: PrincipalId, *, by: PrincipalId, at: Instant
) -> Principal:
    wanted = principals.DisablePrincipal(principal_id=principal_id)
    return principals.disable_principal(tools, acting(tenant_id, by, at=at), wanted)


def erase_principal(
    tools: Tools, tenant_id: TenantId, principal_id: PrincipalId, *, by: PrincipalId, reason: str, at: Instant
) -> principals.NameErasure:
    wanted = principals.ErasePrincipal(principal_id=principal_id, reason=reason)
    return principals.erase_principal(tools, acting(tenant_id, by, at=at), wanted)


def set_password(
    tools: Tools, tenant_id: TenantId, principal_id: PrincipalId, password: str, *, by: PrincipalId, at: Instant
) -> principals.PasswordSet:
    wanted = principals.SetPassword(principal_id=principal_id, password=password)
    return principals.set_password(tools, acting(tenant_id, by, at=at), wanted)


def inspect_principal(
    tools: Tools, tenant_id: TenantId, principal_id: PrincipalId, *, at: Instant
) -> principals.PrincipalView:
    wanted = principals.ShowPrincipal(principal_id=principal_id)
    return principals.principal(tools, local_caller(tenant_id, at=at), wanted)


def list_principals(tools: Tools, tenant_id: TenantId) -> tuple[Principal, ...]:
    return tools.database.read(lambda unit: unit.identity.principals(tenant_id))


def request_tier(
    tools: Tools, subject: PrincipalId, to_tier: int, *, reason: str, credential: str, at: Instant
) -> Ticket:
    """As dispatch does: the needs of the operation are bound to the caller, and checked."""
    operation = BY_NAME["tier.request"]
    wanted = tiers.RequestTier(principal_id=subject, to_tier=to_tier, reason=reason)
    ticket: Ticket = Dispatcher(tools=tools)(operation, caller_of(tools, credential, at=at), wanted).value
    return ticket


def list_tier_changes(tools: Tools, tenant_id: TenantId, subject: PrincipalId) -> tuple[TierChange, ...]:
    wanted = tiers.ListTierChanges(principal_id=subject)
    return tiers.tier_changes(tools, local_caller(tenant_id, at=tools.clock.now()), wanted).items


def _with_roles(tools: Tools, roles: tuple[str, ...] | UnsetType) -> Tools:
    built_in = {str(role) for role in BuiltInRole}
    own = () if isinstance(roles, UnsetType) else tuple(role for role in roles if role not in built_in)
    return replace(tools, roles=own)


def viewing(principal: Principal, *, at: Instant) -> Caller:
    """This principal in a session, for what only reads."""
    proof = Proof(via=Via.SESSION, credential_id="ses_test", scopes=(EVERY_SCOPE,))
    return Caller(tenant_id=principal.tenant_id, principal=principal, proof=proof, at=at)


def issue_api_key(
    tools: Tools,
    tenant_id: TenantId,
    principal_id: PrincipalId,
    *,
    scopes: Sequence[str] = (EVERY_SCOPE,),
    expires_at: Instant | None = None,
    by: PrincipalId,
    at: Instant,
) -> tuple[str, ApiKeyRecord]:
    """The key's text and its record."""
    wanted = api_keys.IssueKey(
        principal_id=principal_id,
        scopes=tuple(scopes),
        expires_at=None if expires_at is None else render_instant(expires_at),
    )
    return _issued(tools, api_keys.issue_key(tools, acting(tenant_id, by, at=at), wanted).value)


def rotate_api_key(
    tools: Tools, tenant_id: TenantId, prefix: ApiKeyPrefix, *, overlap: timedelta, by: PrincipalId, at: Instant
) -> tuple[str, ApiKeyRecord]:
    wanted = api_keys.RotateKey(prefix=prefix, overlap_seconds=int(overlap.total_seconds()))
    return _issued(tools, api_keys.rotate_key(tools, acting(tenant_id, by, at=at), wanted).value)


def revoke_api_key(
    tools: Tools, tenant_id: TenantId, prefix: ApiKeyPrefix, *, reason: str, by: PrincipalId, at: Instant
) -> ApiKeyRevocation:
    wanted = api_keys.RevokeKey(prefix=prefix, reason=reason)
    return api_keys.revoke_key(tools, acting(tenant_id, by, at=at), wanted)


def register_signing_key(
    tools: Tools,
    tenant_id: TenantId,
    principal_id: PrincipalId,
    public_key: bytes,
    *,
    scopes: Sequence[str] = (EVERY_SCOPE,),
    expires_at: Instant | None = None,
    by: PrincipalId,
    at: Instant,
) -> SigningKeyRecord:
    wanted = api_keys.AddPublicKey(
        principal_id=principal_id,
        public_key=public_key.hex(),
        scopes=tuple(scopes),
        expires_at=None if expires_at is None else render_instant(expires_at),
    )
    return api_keys.add_public_key(tools, acting(tenant_id, by, at=at), wanted)


def end_signing_key(
    tools: Tools, tenant_id: TenantId, key_id: KeyId, *, reason: str, by: PrincipalId, at: Instant
) -> SigningKeyEnd:
    wanted = api_keys.EndPublicKey(key_id=key_id, reason=reason)
    return api_keys.end_public_key(tools, acting(tenant_id, by, at=at), wanted)


def _issued(tools: Tools, issued: api_keys.IssuedKey) -> tuple[str, ApiKeyRecord]:
    record = tools.database.read(lambda unit: unit.identity.find_api_key(issued.prefix))
    assert record is not None
    return str(issued.api_key), record


def log_in(
    tools: Tools,
    tenant_id: TenantId,
    principal_id: PrincipalId,
    password: str,
    *,
    lifetime: timedelta = DEFAULT_SESSION_LIFETIME,
    at: Instant,
) -> tuple[str, SessionRecord]:
    """A person's session token and its record."""
    return sessions.check_password(tools, tenant_id, principal_id, password, lifetime=lifetime, at=at)


def log_out(tools: Tools, token: str, *, at: Instant) -> SessionRevocation:
    return sessions.log_out(tools, caller_of(tools, token, at=at), sessions.LogOut())


def looking(viewer: Principal | None, *, at: Instant | None = None, tenant_id: TenantId = _TENANT) -> Caller:
    """The caller who reads as this principal, in session; None is the operator of the folder."""
    when = at or parse_instant("2026-01-07T12:00:00Z")
    if viewer is None:
        return local_caller(tenant_id, at=when)
    proof = Proof(via=Via.SESSION, credential_id="", scopes=(EVERY_SCOPE,))
    return Caller(tenant_id=viewer.tenant_id, principal=viewer, proof=proof, at=when)


def view_ticket(tools: Tools, caller: Caller, ticket_id: TicketId) -> show_ticket.ReviewView:
    return show_ticket.ticket(tools, caller, show_ticket.ShowTicket(ticket_id=ticket_id))


def view_desk(tools: Tools, caller: Caller, ticket_id: TicketId) -> show_ticket.DeskTicket:
    return show_ticket.desk_ticket(tools, caller, show_ticket.ShowTicket(ticket_id=ticket_id))


def timeline_of(tools: Tools, caller: Caller, ticket_id: TicketId) -> tuple[TimelineEntry, ...]:
    return timeline(tools, caller, show_ticket.ShowTicket(ticket_id=ticket_id)).items


def list_tickets(tools: Tools, caller: Caller, *, settled: bool = False) -> tuple[tuple[Ticket, Settlement], ...]:
    """Every ticket that the caller may read, with its settlement so far."""
    found = show_ticket.tickets(tools, caller, show_ticket.ListTickets(settled=settled, limit=500)).items
    return tuple((one.ticket, one.settlement) for one in found)


def list_progress(tools: Tools, caller: Caller) -> tuple[Progress, ...]:
    return progress(tools, caller, ListProgress(limit=500)).items


def register_service(
    tools: Tools, tenant_id: TenantId, service_id: str, public_key: bytes, *, by: PrincipalId, at: Instant
) -> RegisteredKey:
    """Make a key known for a service, as an operator's request does."""
    return tools.database.write(lambda unit: register_key_in(unit, tenant_id, service_id, public_key, by=by, at=at))[0]


def revoke_service_key(
    tools: Tools, tenant_id: TenantId, service_id: str, key_id: KeyId, *, reason: str, by: PrincipalId, at: Instant
) -> RevokedKey:
    """Revoke a key of a service, as an operator's request does."""
    end = RevokedKey(service_id=service_id, key_id=key_id, reason=reason, by=by, revoked_at=at)
    return tools.database.write(lambda unit: revoke_key_in(unit, tenant_id, end))[0]
