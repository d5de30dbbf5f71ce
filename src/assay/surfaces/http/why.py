"""`/api/v1/why`: may I do this, and if not, what would change it; read from what the door itself reads.

action (a route, or an action of this node as a service) + on (a risk tier, a level, a service) -> requirements
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from litestar import Litestar, Request, get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.response import Response
from msgspec import Struct

from assay.delivery.level import Level
from assay.flows.errors import NotFoundError
from assay.flows.identity.authenticate import Authenticated
from assay.flows.identity.explain_access import explain_action, explain_level, explain_risk
from assay.flows.known import get_principal
from assay.flows.request import PrincipalName
from assay.identity.access import Needs, Requirement, find_unmet
from assay.identity.authorise import require_role
from assay.identity.caller import Caller, Proof, Via
from assay.identity.credential import EVERY_SCOPE
from assay.identity.principal import BuiltInRole, Principal
from assay.identity.risk import RiskTier
from assay.kernel.ids import parse_principal_id
from assay.kernel.instant import Instant
from assay.registry.action import ServicePower
from assay.surfaces.http.describe import asks, described, problems
from assay.surfaces.http.desk import Desk, GivenDesk
from assay.surfaces.http.guard import SIGNED_IN, access_of, active_tier_of, needs_of
from assay.surfaces.http.query import parse_query
from assay.surfaces.http.v1.key_shapes import Why

_ABOUT_OTHERS = (BuiltInRole.ADMIN, BuiltInRole.AUDITOR)
_KIND = re.compile(r":[a-z]+\}")


class WhyQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`action` is a route (`POST /contracts`) or an action that this node declares as a service.

    `on` is what it is about: a risk tier, an authenticity level, or this node's name as a service. `who` is somebody
    else, which admins and auditors may ask about.
    """

    action: str
    on: str | None = None
    who: PrincipalName | None = None


@get(
    "/api/v1/why",
    opt=SIGNED_IN,
    operation_class=asks(WhyQuery),
    responses={200: described("every requirement", kind=Why), **problems(400, 401, 403, 404, 422)},
)
async def show_why(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[Why]:
    """Why the caller may, or may not, do this now."""
    asked = parse_query(WhyQuery, request)
    subject = caller if asked.who is None else await desk.run(lambda: _other(desk, caller, str(asked.who)))
    return Response(
        explain(ground_of(request.app), subject, asked.action, asked.on), headers={"cache-control": "no-store"}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What an explanation stands on: what every route asks for, and the node as a service, as they are now."""

    routes: Mapping[str, Needs]
    power: ServicePower
    at: Instant
    # What the switch leaves to one of them, where a server counts whose questions fail.
    tier_left: Callable[[Principal], int] | None = None


def explain(ground: Ground, subject: Authenticated, action: str, on: str | None) -> Why:
    """The same for the server and for the command line."""
    found = (*_of_action(ground, subject, action), *_of_thing(ground, subject.principal, on))
    return Why(
        principal_id=subject.principal.id,
        action=action,
        on=on,
        allowed=find_unmet(found) is None,
        requirements=found,
    )


def ground_of(app: Litestar) -> Ground:
    desk: Desk = app.state.desk
    assert desk.registry is not None  # noqa: S101 - a server is always a registry
    pairs = [(route.path, handler) for route in app.routes for handler in getattr(route, "route_handlers", ())]
    return Ground(
        routes=needs_by_route(pairs),
        power=desk.registry.own.service.power(),
        at=desk.tools.clock.now(),
        tier_left=partial(active_tier_of, desk),
    )


def needs_by_route(pairs: Iterable[tuple[str, HTTPRouteHandler]]) -> Mapping[str, Needs]:
    """Every closed route as the description names it, with what it asks for."""
    return {
        f"{method} {_KIND.sub('}', path)}": needs_of(handler.opt, str(method))
        for path, handler in pairs
        for method in sorted(handler.http_methods - {"OPTIONS"})
        if not handler.opt.get("open") and "scope" in handler.opt
    }


def in_general(principal: Principal, *, at: Instant) -> Authenticated:
    """Somebody who is not asking: as if by a credential that narrows nothing, a person in their own session."""
    via = Via.SESSION if principal.is_person() else Via.API_KEY
    proof = Proof(via=via, credential_id="", scopes=(EVERY_SCOPE,))
    return Caller(tenant_id=principal.tenant_id, principal=principal, proof=proof, at=at)


def _other(desk: Desk, caller: Authenticated, who: str) -> Authenticated:
    if who == caller.principal.id:
        return caller
    require_role(caller.principal, _ABOUT_OTHERS)
    principal_id, tenant_id = parse_principal_id(who), caller.principal.tenant_id
    principal = desk.tools.database.read(lambda unit: get_principal(unit, tenant_id, principal_id))
    return in_general(principal, at=caller.at)


def _of_action(ground: Ground, subject: Authenticated, action: str) -> tuple[Requirement, ...]:
    needs = ground.routes.get(action)
    if needs is not None:
        tier = ground.power.active_tier if ground.tier_left is None else ground.tier_left(subject.principal)
        return access_of(needs, subject, active_tier=tier, at=ground.at)
    if action not in ground.power.actions:
        raise NotFoundError(f"expected a route such as `POST /api/v1/entries` or an action, got `{action[:80]}`")
    return explain_action(subject.principal, ground.power, action)


def _of_thing(ground: Ground, principal: Principal, on: str | None) -> tuple[Requirement, ...]:
    if on is None or on == ground.power.service_id:
        return ()
    if on in RiskTier.__members__:
        return (explain_risk(principal, RiskTier[on]),)
    if on in set(Level):
        return (explain_level(principal, Level(on)),)
    raise NotFoundError(f"expected a risk tier, an authenticity level or this service, got `{on[:80]}`")
