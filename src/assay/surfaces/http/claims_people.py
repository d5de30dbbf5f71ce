"""`/claims/approvals` and `/claims/policies`: what people answer about bundles, and the law that the gates follow."""

from typing import Any

from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response
from msgspec import Struct

from assay.flows.answer_once import Reply as Answer
from assay.flows.claims.approve_claims import AnsweredClaims, answer_claims, get_readable_ticket
from assay.flows.claims.release_claims_policy import PolicyRelease, release_claims_policy
from assay.flows.claims.show_claims import PoliciesView, list_claims_policies
from assay.flows.identity.authenticate import Authenticated
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.review.show_ticket import ReviewView, ShowTicket, ticket
from assay.flows.tools import Tools
from assay.identity.principal import BuiltInRole
from assay.kernel.digest import parse_digest
from assay.kernel.ids import parse_ticket_id
from assay.review.draft import Reply
from assay.review.ticket import Ticket
from assay.surfaces.http.body import parse_body, read_body
from assay.surfaces.http.claims import answer_json
from assay.surfaces.http.describe import described, problems
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import allow
from assay.surfaces.http.v1.change import change, reply_json
from assay.surfaces.http.v1.claim_shapes import GatedBundle, gated_answer
from assay.surfaces.http.v1.common import changes


class OpenApproval(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What people are asked about a bundle; an answer says `shown_hash` as what it saw."""

    ticket_id: str
    kind: str
    shown: str
    shown_hash: str
    choices: tuple[str, ...]
    eligible_roles: tuple[str, ...]
    quorum: int
    state: str
    reason: str


class ApprovalRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`choice` is `approve`, `resume` or `reject`; a rejection says its reason."""

    ticket_id: str
    choice: str
    seen: str
    reason: str = ""


class AnsweredApproval(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer is on disk; `gated` is the bundle with it, and without one `code` and `problem` say why not yet."""

    ticket_id: str
    answered_by: str
    choice: str
    state: str
    gated: GatedBundle | None
    code: str | None = None
    problem: str | None = None


class GatePolicyRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A policy of the gates as YAML, signed or not; unsigned it is signed by the node."""

    document: str


@get(
    "/claims/approvals/{ticket_id:str}",
    opt=allow(scope="claims:read"),
    responses={200: described("what people are asked", kind=OpenApproval), **problems(401, 403, 404, 422)},
)
async def show_approval(
    desk: GivenDesk, caller: NamedDependency[Authenticated], ticket_id: FromPath[str]
) -> Response[bytes]:
    """What people are asked about a bundle, exactly as an answer must have seen it: for whoever may answer it."""

    def look() -> ReviewView:
        wanted = parse_ticket_id(ticket_id)
        desk.tools.database.read(lambda unit: get_readable_ticket(unit, caller.principal, wanted))
        return ticket(desk.tools, caller, ShowTicket(ticket_id=wanted))

    view = await desk.run(look)
    return answer_json(_open_approval(view.ticket, view.settlement.state, view.settlement.reason))


@post(
    "/claims/approvals",
    opt=allow(scope="claims:write", session=True),
    operation_class=changes(ApprovalRequest),
    responses={
        201: described("on disk; the bundle with it, or why it is not decided yet", kind=AnsweredApproval),
        **problems(400, 401, 403, 404, 409, 413, 415, 422),
    },
)
async def answer_approval(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """A person approves, resumes or rejects in their own session; then the bundle is gated again."""
    received = await read_body(request)

    def answer(tools: Tools) -> Answer:
        wanted = parse_body(ApprovalRequest, received)
        reply = Reply(choice=wanted.choice, seen=parse_digest(wanted.seen), reason=wanted.reason)
        done = answer_claims(
            tools,
            parse_ticket_id(wanted.ticket_id),
            reply,
            credential=credential,
            follow_ups=ROOM_FOLLOW_UPS,
            at=tools.clock.now(),
        )
        return reply_json(_receipt(done), status=201)

    return await change(request, desk, caller, received, answer)


@get(
    "/claims/policies",
    opt=allow(scope="claims:read"),
    responses={200: described("every released policy, and the one in force", kind=PoliciesView), **problems(401, 403)},
)
async def list_gate_policies(desk: GivenDesk, caller: NamedDependency[Authenticated]) -> Response[bytes]:
    """The policies of the gates of the caller's tenant; the last one is in force."""
    tenant_id = caller.principal.tenant_id
    found = await desk.run(lambda: desk.tools.database.read(lambda unit: list_claims_policies(unit, tenant_id)))
    return answer_json(found)


@post(
    "/claims/policies",
    opt=allow(scope="claims:write", roles=[BuiltInRole.OPERATOR], session=True),
    operation_class=changes(GatePolicyRequest),
    responses={
        200: described("the same was released before", kind=PolicyRelease),
        201: described("in force, and on disk", kind=PolicyRelease),
        **problems(400, 401, 403, 409, 413, 415, 422),
    },
)
async def release_gate_policy(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Bring a policy of the gates into force, in an operator's own session."""
    received = await read_body(request)

    def release(tools: Tools) -> Answer:
        wanted = parse_body(GatePolicyRequest, received)
        done = release_claims_policy(tools, wanted.document, credential=credential, at=tools.clock.now())
        return reply_json(done, status=201 if done.is_new else 200)

    return await change(request, desk, caller, received, release, is_repeatable=True)


def _receipt(done: AnsweredClaims) -> AnsweredApproval:
    said = done.answered.answer
    return AnsweredApproval(
        ticket_id=said.ticket_id,
        answered_by=said.by,
        choice=said.choice,
        state=done.answered.settlement.state,
        gated=None if done.gated is None else gated_answer(done.gated),
        code=done.code,
        problem=done.problem,
    )


def _open_approval(ticket: Ticket, state: str, reason: str) -> OpenApproval:
    return OpenApproval(
        ticket_id=ticket.id,
        kind=ticket.kind.value,
        shown=ticket.shown,
        shown_hash=ticket.shown_hash,
        choices=ticket.choices,
        eligible_roles=ticket.eligible_roles,
        quorum=ticket.quorum,
        state=state,
        reason=reason,
    )
