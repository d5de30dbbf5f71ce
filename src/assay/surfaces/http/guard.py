"""Who is asking, and may they: every route is closed unless it says that it is open.

the request's one proof -> caller -> scope, role, tier -> the handler's `caller` and `credential`
"""

from collections.abc import Iterable, Mapping
from typing import Any

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency
from litestar.handlers import BaseRouteHandler
from litestar.params import SkipValidation
from msgspec.structs import replace

from assay.flows.identity.authenticate import Authenticated, refusal_of
from assay.identity.access import Needs, Requirement, check_access, find_unmet
from assay.identity.authorise import has_role, require_role
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.instant import Instant
from assay.kernel.trace import TRACE_BYTES, find_trace, new_trace
from assay.registry.action import Tier
from assay.surfaces.http.desk import Desk, GivenDesk
from assay.surfaces.http.proof import prove_caller
from assay.surfaces.http.rate import TRACE_STATE

# A route's `opt` that lets anybody in; health checks and the description of the interface, nothing else.
OPEN = {"open": True}
# And one for whoever is signed in, whatever their credential is for.
SIGNED_IN = {"scope": None, "roles": None}
IN_SESSION = {**SIGNED_IN, "session": True}
# Who may look at what tells of others: their observations, their standings.
SEE_ALL = (BuiltInRole.AUDITOR, BuiltInRole.OPERATOR, BuiltInRole.REVIEWER)
_READING = frozenset({"GET", "HEAD"})
_READ_SCOPES = (":read", ":query")
_CREDENTIAL = "assay.credential"


def allow(*, scope: str, roles: Iterable[str] | None = None, session: bool = False) -> dict[str, Any]:
    """A route's `opt`: the credential needs this scope, and the principal one of these roles unless any will do.

    With `session` a person has to ask in their own session, whatever a key of theirs is good for.
    """
    return {"scope": scope, "roles": None if roles is None else tuple(str(role) for role in roles), "session": session}


async def guard(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Litestar's guard for the whole application; runs before a body is read."""
    # OPTIONS is answered by Litestar itself, with nothing but the methods of the route.
    if handler.opt.get("open") or connection.scope.get("method") == "OPTIONS":
        return
    desk: Desk = connection.app.state.desk
    proof = await prove_caller(connection)
    needs = needs_of(handler.opt, str(connection.scope.get("method")))
    connection.state[_CREDENTIAL] = proof.credential
    caller = traced(desk, connection, proof.caller)
    operation = handler.opt.get("operation")
    if operation is not None:
        connection.scope["user"] = desk.dispatch.permit(operation, caller)
        return
    tier = active_tier_of(desk, caller.principal)
    unmet = find_unmet(access_of(needs, caller, active_tier=tier, at=caller.at))
    if unmet is not None:
        raise refusal_of(unmet)
    connection.scope["user"] = caller


def traced(desk: Desk, connection: ASGIConnection[Any, Any, Any, Any], caller: Caller) -> Caller:
    """The caller of this request: now, under the trace id of `traceparent` or a new one."""
    given = connection.headers.get("traceparent")
    trace = None if given is None else find_trace(given)
    if trace is None:
        trace = new_trace(desk.tools.entropy.token(TRACE_BYTES))
    connection.state[TRACE_STATE] = trace
    return replace(caller, at=desk.tools.clock.now(), trace=trace)


def needs_of(opt: Mapping[str, Any], method: str) -> Needs:
    """What a route asks for. Reading is tier 1, by method or by its scope, and everything else tier 2 (Forja)."""
    if "tier" in opt:
        return Needs(scope=opt["scope"], roles=opt["roles"], tier=opt["tier"], session=opt["session"])
    reads = method in _READING or str(opt["scope"]).endswith(_READ_SCOPES)
    tier = Tier.READ if reads else Tier.LOW_RISK_WRITE
    return Needs(scope=opt["scope"], roles=opt["roles"], tier=tier, session=opt.get("session", False))


def active_tier_of(desk: Desk, principal: Principal) -> int:
    """What the node's own switch leaves to machines now, and to this one."""
    return Tier.FULL if desk.registry is None else desk.registry.own.tier_left(asker_of(principal))


def asker_of(principal: Principal) -> str:
    """By which name a principal is known to the switch, which counts for all tenants."""
    return f"{principal.tenant_id} {principal.id}"


def access_of(needs: Needs, caller: Authenticated, *, active_tier: int, at: Instant) -> tuple[Requirement, ...]:
    """Every requirement of a route for this caller: what the guard refuses by, and what `/api/v1/why` shows."""
    return check_access(needs, caller.standing(active_tier), tenant_id=caller.principal.tenant_id, at=at)


# Each asks for the one before it. Litestar gives dependencies that do not know of each other a task each, which costs
# more than what they do.
async def provide_caller(request: Request[Any, Any, Any], desk: GivenDesk) -> Authenticated:  # noqa: ARG001 - as above
    """The dependency `caller`: whoever the guard let in."""
    caller = request.scope["user"]
    assert isinstance(caller, Authenticated)  # noqa: S101 - a route that asks for a caller is never open
    return caller


async def provide_credential(
    request: Request[Any, Any, Any],
    caller: NamedDependency[SkipValidation[Authenticated]],  # noqa: ARG001 - as above
) -> str:
    """The dependency `credential`, for journeys that prove the caller again in the commit that they end with."""
    return str(request.state[_CREDENTIAL])


def whose(caller: Authenticated, asked: str | None) -> str | None:
    """Whose records the caller sees, None for everybody's; asking for another's needs a role that sees all."""
    if asked == caller.principal.id or has_role(caller.principal, SEE_ALL):
        return asked
    if asked is not None:
        require_role(caller.principal, SEE_ALL)
    return caller.principal.id
