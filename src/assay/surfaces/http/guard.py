"""Who is asking, and may they: every route is closed unless it says that it is open.

Authorization: Bearer TEXT | x-api-key: TEXT -> authenticate -> scope -> role -> the handler's `caller`
"""

from collections.abc import Iterable
from typing import Any

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from assay.flows.authenticate import Authenticated, authenticate
from assay.flows.errors import NotSignedInError
from assay.identity.authorise import has_role, require_role
from assay.identity.principal import BuiltInRole
from assay.kernel.errors import Blame
from assay.registry.action import Tier
from assay.surfaces.http.desk import Desk
from assay.surfaces.http.errors import HttpError

__all__ = [
    "OPEN",
    "SEE_ALL",
    "SIGNED_IN",
    "ScopeMissingError",
    "allow",
    "guard",
    "provide_caller",
    "provide_credential",
    "whose",
]

# A route's `opt` that lets anybody in; health checks and the description of the interface, nothing else.
OPEN = {"open": True}
# And one for whoever is signed in, whatever their credential is for.
SIGNED_IN = {"scope": None, "roles": None}
# Who may look at what tells of others: their observations, their standings.
SEE_ALL = (BuiltInRole.AUDITOR, BuiltInRole.OPERATOR, BuiltInRole.REVIEWER)
_BEARER = "bearer "
_READING = frozenset({"GET", "HEAD"})
_READ_SCOPES = (":read", ":query")
_LONGEST_CREDENTIAL = 512


class ScopeMissingError(HttpError):
    """The credential may not be used for this, whoever holds it."""

    code = "identity.scope"
    blame = Blame.ANSWER


def allow(*, scope: str, roles: Iterable[str] | None = None) -> dict[str, Any]:
    """A route's `opt`: the credential needs this scope, and the principal one of these roles unless any will do."""
    return {"scope": scope, "roles": None if roles is None else tuple(str(role) for role in roles)}


async def guard(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Litestar's guard for the whole application; runs before a body is read."""
    # OPTIONS is answered by Litestar itself, with nothing but the methods of the route.
    if handler.opt.get("open") or connection.scope.get("method") == "OPTIONS":
        return
    desk: Desk = connection.app.state.desk
    credential = _credential(connection)
    caller = await desk.run(lambda: authenticate(desk.tools, credential, at=desk.tools.clock.now()))
    if handler.opt["scope"] is not None:
        _require_scope(caller, handler.opt["scope"])
    if handler.opt["roles"] is not None:
        require_role(caller.principal, handler.opt["roles"])
    if desk.registry is not None:
        desk.registry.own.require_tier(caller.principal, _tier_of(connection, handler))
    connection.scope["user"] = caller


def _tier_of(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> int:
    """Reading is tier 1, by method or by what the credential is for, and everything else tier 2 (Forja)."""
    reads = connection.scope.get("method") in _READING or str(handler.opt["scope"]).endswith(_READ_SCOPES)
    return Tier.READ if reads else Tier.LOW_RISK_WRITE


async def provide_caller(request: Request[Any, Any, Any]) -> Authenticated:
    """The dependency `caller`: whoever the guard let in."""
    caller = request.scope["user"]
    assert isinstance(caller, Authenticated)  # noqa: S101 - a route that asks for a caller is never open
    return caller


async def provide_credential(request: Request[Any, Any, Any]) -> str:
    """The dependency `credential`, for journeys that prove the caller again in the commit that they end with."""
    return _credential(request)


def whose(caller: Authenticated, asked: str | None) -> str | None:
    """Whose records the caller sees, None for everybody's; asking for another's needs a role that sees all."""
    if asked == caller.principal.id or has_role(caller.principal, SEE_ALL):
        return asked
    if asked is not None:
        require_role(caller.principal, SEE_ALL)
    return caller.principal.id


def _credential(connection: ASGIConnection[Any, Any, Any, Any]) -> str:
    authorization = connection.headers.get("authorization")
    key = connection.headers.get("x-api-key")
    if (authorization is None) == (key is None):
        raise NotSignedInError("expected one of `Authorization: Bearer …` and `x-api-key`")
    if authorization is not None:
        if not authorization.lower().startswith(_BEARER):
            raise NotSignedInError("expected `Authorization: Bearer …`, got another scheme")
        key = authorization[len(_BEARER) :].strip()
    if not key or len(key) > _LONGEST_CREDENTIAL:
        raise NotSignedInError("expected an API key or a session token")
    return key


def _require_scope(caller: Authenticated, scope: str) -> None:
    if not caller.has_scope(scope):
        raise ScopeMissingError(f"expected a credential with scope `{scope}`, got `{', '.join(caller.scopes)}`")
