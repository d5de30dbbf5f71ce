"""`/policies` and `/penalties`: the laws of trust, and the one way in which people lower a standing."""

from decimal import Decimal
from typing import Annotated, Any

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.response import Response
from msgspec import Meta, Struct

from assay.flows.answer_once import Reply
from assay.flows.identity.authenticate import Authenticated
from assay.flows.tools import Tools
from assay.flows.trust.register_policy import register_policy
from assay.flows.trust.request_penalty import request_penalty
from assay.flows.trust.show_policy import list_policies
from assay.identity.principal import BuiltInRole
from assay.kernel.instant import render_instant
from assay.ports.trust_store import RegisteredPolicy
from assay.review.ticket import Ticket
from assay.surfaces.http.body import parse_body, read_body
from assay.surfaces.http.describe import described, problems
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import allow
from assay.surfaces.http.v1.change import change, reply_json
from assay.surfaces.http.v1.common import changes

_HEADERS = {"cache-control": "no-store"}


class PolicyRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A trust policy as YAML or JSON text; what it extends must be registered.

    `accept` names exactly the weaknesses that linting it finds, none where there are none.
    """

    document: str
    accept: tuple[str, ...] = ()


class ShownPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A registered policy with everything that it inherits, and the entry that holds it."""

    policy_id: str
    policy_hash: str
    document: str
    registered_at: str
    registered_by: str
    sequence_number: int


class PolicyList(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """In the order of registration; `in_force` is the id of the last, null where there is none."""

    policies: tuple[ShownPolicy, ...]
    in_force: str | None


class PenaltyRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many points an agent is to lose, and why."""

    agent_id: str
    points: Annotated[float, Meta(gt=0, le=1000)]
    reason: str


class PenaltyTicket(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ticket on the review desk; nothing has changed yet."""

    ticket_id: str
    agent_id: str
    title: str
    shown: str
    shown_hash: str
    opened_at: str
    due_at: str | None


@get(
    "/policies",
    opt=allow(scope="trust:read"),
    responses={200: described("every registered policy", kind=PolicyList), **problems(401, 403)},
)
async def list_trust_policies(desk: GivenDesk, caller: NamedDependency[Authenticated]) -> Response[bytes]:
    """The trust policies of the caller's tenant; the last one reads the whole log."""
    tenant_id = caller.principal.tenant_id
    found = await desk.run(lambda: list_policies(desk.tools, tenant_id))
    in_force = found[-1].policy_id if found else None
    return _answer(PolicyList(policies=tuple(_shown(one) for one in found), in_force=in_force))


@post(
    "/policies",
    opt=allow(scope="trust:write", roles=[BuiltInRole.OPERATOR]),
    operation_class=changes(PolicyRequest),
    responses={
        200: described("the same was registered before", kind=ShownPolicy),
        201: described("in force, and on disk", kind=ShownPolicy),
        **problems(400, 401, 403, 409, 413, 415, 422),
    },
)
async def register_new_policy(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Register a trust policy; another body under a known id is refused, and a change needs a new id.

    Putting another in the place of the one in force takes an operator's session.
    """
    received = await read_body(request)

    def register(tools: Tools) -> Reply:
        wanted, now = parse_body(PolicyRequest, received), tools.clock.now()
        done = register_policy(tools, wanted.document, credential=credential, accept=wanted.accept, at=now)
        return reply_json(_shown(done.policy), status=201 if done.is_new else 200)

    return await change(request, desk, caller, received, register, is_repeatable=True)


@post(
    "/penalties",
    opt=allow(scope="trust:write", roles=[BuiltInRole.OPERATOR, BuiltInRole.REVIEWER]),
    operation_class=changes(PenaltyRequest),
    responses={
        201: described("people are asked", kind=PenaltyTicket),
        **problems(400, 401, 403, 404, 409, 413, 415, 422),
    },
)
async def ask_for_penalty(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Ask people to lower an agent's standing; whoever asks does not decide, nor does the agent."""
    received = await read_body(request)
    now = desk.tools.clock.now()

    def ask(tools: Tools) -> Reply:
        wanted = parse_body(PenaltyRequest, received)
        points = Decimal(str(wanted.points))
        ticket = request_penalty(tools, wanted.agent_id, points, reason=wanted.reason, credential=credential, at=now)
        return reply_json(_ticket(ticket, wanted.agent_id), status=201)

    return await change(request, desk, caller, received, ask)


def _answer(value: Struct) -> Response[bytes]:
    return Response(msgspec.json.encode(value), media_type="application/json", headers=_HEADERS)


def _shown(policy: RegisteredPolicy) -> ShownPolicy:
    return ShownPolicy(
        policy_id=policy.policy_id,
        policy_hash=policy.policy_hash,
        document=policy.document,
        registered_at=render_instant(policy.registered_at),
        registered_by=policy.registered_by,
        sequence_number=policy.sequence_number,
    )


def _ticket(ticket: Ticket, agent_id: str) -> PenaltyTicket:
    return PenaltyTicket(
        ticket_id=ticket.id,
        agent_id=agent_id,
        title=ticket.title,
        shown=ticket.shown,
        shown_hash=ticket.shown_hash,
        opened_at=render_instant(ticket.opened_at),
        due_at=None if ticket.due_at is None else render_instant(ticket.due_at),
    )
