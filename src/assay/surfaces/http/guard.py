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

from assay.flows.errors.identity import SessionRequiredError
from assay.flows.identity.authenticate import Authenticated, Via
from assay.identity.access import Needs, Requirement, Standing, check_access, find_unmet
from assay.identity.authorise import has_role, require_role
from assay.identity.errors import DisabledError, OtherTenantError, RoleMissingError
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.errors import Blame, Error
from assay.kernel.instant import Instant
from assay.registry.action import Tier
from assay.registry.errors import TierClosedError
from assay.surfaces.http.desk import Desk, GivenDesk
from assay.surfaces.http.errors import HttpError
from assay.surfaces.http.proof import prove_caller

__all__ = [
    "IN_SESSION",
    "OPEN",
    "SEE_ALL",
    "SIGNED_IN",
    "ScopeMissingError",
    "access_of",
    "active_tier_of",
    "allow",
    "asker_of",
    "guard",
    "needs_of",
    "provide_caller",
    "provide_credential",
    "whose",
]

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


class ScopeMissingError(HttpError):
    """The credential may not be used for this, whoever holds it."""

    code = "identity.scope"
    blame = Blame.ANSWER


_REFUSALS: Mapping[str, type[Error]] = {
    error.code: error
    for error in (
        DisabledError,
        OtherTenantError,
        RoleMissingError,
        ScopeMissingError,
        SessionRequiredError,
        TierClosedError,
    )
}


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
    tier = active_tier_of(desk, proof.caller.principal)
    unmet = find_unmet(access_of(needs, proof.caller, active_tier=tier, at=desk.tools.clock.now()))
    if unmet is not None:
        raise _REFUSALS[str(unmet.code)](unmet.reason)
    connection.scope["user"] = proof.caller
    connection.state[_CREDENTIAL] = proof.credential


def needs_of(opt: Mapping[str, Any], method: str) -> Needs:
    """What a route asks for. Reading is tier 1, by method or by its scope, and everything else tier 2 (Forja)."""
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
    standing = Standing(
        principal=caller.principal,
        scopes=caller.scopes,
        active_tier=active_tier,
        has_session=caller.via is Via.SESSION,
    )
    return check_access(needs, standing, tenant_id=caller.principal.tenant_id, at=at)


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
