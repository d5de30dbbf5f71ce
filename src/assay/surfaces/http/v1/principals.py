"""`/api/v1/principals`, the changes: who joins, what they may, and that they may no more; by an administrator.

Each in the administrator's own session; a change of tier is only asked for, and a second person's to authorise.
"""

from typing import Any

from litestar import Request, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response
from msgspec import UNSET
from msgspec.structs import replace

from assay.flows.answer_once import Reply
from assay.flows.identity.authenticate import Authenticated
from assay.flows.identity.change_tier import request_tier
from assay.flows.identity.keep_principals import (
    add_principal_as_admin,
    amend_principal_as_admin,
    disable_principal_as_admin,
)
from assay.flows.tools import Tools
from assay.identity.principal import BuiltInRole, Principal
from assay.kernel.ids import parse_principal_id
from assay.review.ticket import Ticket
from assay.surfaces.http.body import parse_body, read_body
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.errors import FieldProblem, FieldsError
from assay.surfaces.http.guard import allow
from assay.surfaces.http.query import path_text
from assay.surfaces.http.v1.change import change, reply_json
from assay.surfaces.http.v1.common import PREFIX, changes, made
from assay.surfaces.http.v1.principal_shapes import AddPrincipal, AmendPrincipal, AskTier, change_of

__all__ = ["add_known_principal", "amend_known_principal", "ask_tier", "disable_known_principal"]

_PRINCIPALS = f"{PREFIX}/principals"
_PRINCIPAL = f"{_PRINCIPALS}/{{principal_id:str}}"
_WRITE = allow(scope="identity:write", roles=[BuiltInRole.ADMIN], session=True)
_ASK = allow(scope="identity:write", roles=[BuiltInRole.ADMIN, BuiltInRole.OPERATOR], session=True)
_JOINS = {"principal_id": "user:amira", "kind": "person", "name": "Amira", "roles": ["reviewer"]}
_NOTHING = FieldProblem(field="", message="expected at least one field to change, got none", pointer="")


@post(
    _PRINCIPALS,
    opt=_WRITE,
    operation_class=changes(AddPrincipal, example=_JOINS),
    responses=made(f"POST {_PRINCIPALS}", Principal),
)
async def add_known_principal(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Add a person, an agent or a service, allowed nothing but what is granted; a key or password comes after."""
    received = await read_body(request)

    def work(tools: Tools) -> Reply:
        wanted = parse_body(AddPrincipal, received)
        added = add_principal_as_admin(
            tools,
            parse_principal_id(wanted.principal_id),
            kind=wanted.kind,
            name=wanted.principal_id if wanted.name is UNSET else wanted.name,
            granted=replace(change_of(wanted), name=UNSET),
            credential=credential,
            at=tools.clock.now(),
        )
        return reply_json(added, status=201, location=f"{_PRINCIPALS}/{added.id}")

    return await change(request, desk, caller, received, work)


@post(
    f"{_PRINCIPAL}/amend",
    opt=_WRITE,
    operation_class=changes(AmendPrincipal, example={"roles": ["auditor", "reviewer"]}),
    responses=made(f"POST {_PRINCIPALS}/{{principal_id}}/amend", Principal),
)
async def amend_known_principal(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
    principal_id: FromPath[str],
) -> Response[bytes]:
    """Record the next version of a principal, upon whatever is in force then."""
    received, name = await read_body(request), path_text(principal_id)

    def work(tools: Tools) -> Reply:
        wanted, now = parse_body(AmendPrincipal, received), tools.clock.now()
        if wanted == AmendPrincipal():
            raise FieldsError([_NOTHING])
        who, differently = parse_principal_id(name), change_of(wanted)
        return reply_json(amend_principal_as_admin(tools, who, differently, credential=credential, at=now), status=201)

    return await change(request, desk, caller, received, work)


@post(
    f"{_PRINCIPAL}/disable",
    opt=_WRITE,
    operation_class=changes(),
    responses=made(f"POST {_PRINCIPALS}/{{principal_id}}/disable", Principal),
)
async def disable_known_principal(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
    principal_id: FromPath[str],
) -> Response[bytes]:
    """Refuse a principal everything from now on: the next request with any key or session of theirs is refused."""
    name = path_text(principal_id)

    def work(tools: Tools) -> Reply:
        who, now = parse_principal_id(name), tools.clock.now()
        return reply_json(disable_principal_as_admin(tools, who, credential=credential, at=now), status=201)

    return await change(request, desk, caller, await request.body(), work)


@post(
    f"{_PRINCIPAL}/tier",
    opt=_ASK,
    operation_class=changes(AskTier, example={"to_tier": 2, "reason": "it has to write its findings"}),
    responses=made(f"POST {_PRINCIPALS}/{{principal_id}}/tier", Ticket),
)
async def ask_tier(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
    principal_id: FromPath[str],
) -> Response[bytes]:
    """Ask that a tier changes: a ticket for an administrator who is neither the asker nor the principal (FRJ-015)."""
    received, name = await read_body(request), path_text(principal_id)

    def work(tools: Tools) -> Reply:
        wanted, who, now = parse_body(AskTier, received), parse_principal_id(name), tools.clock.now()
        asked = request_tier(tools, who, wanted.to_tier, reason=wanted.reason, credential=credential, at=now)
        return reply_json(asked, status=201, location=f"{PREFIX}/tickets/{asked.id}")

    return await change(request, desk, caller, received, work)
