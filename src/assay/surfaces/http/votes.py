"""People vote: what they are shown about a key, and their answer to it, which is bound to exactly that."""

from typing import Any

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response
from msgspec import Struct

from assay.flows.answer_once import Reply
from assay.flows.errors import NotFoundError
from assay.flows.identity.authenticate import Authenticated
from assay.flows.tools import Tools
from assay.flows.truth.cast_vote import CastVote, cast_vote
from assay.flows.truth.validation_ticket import find_validation_ticket
from assay.identity.principal import BuiltInRole
from assay.kernel.digest import parse_digest
from assay.kernel.instant import render_instant
from assay.review.ticket import Ticket
from assay.surfaces.http.body import parse_body, read_body
from assay.surfaces.http.describe import described, problems
from assay.surfaces.http.desk import Desk, GivenDesk
from assay.surfaces.http.guard import SEE_ALL, allow
from assay.surfaces.http.truth import state_value
from assay.surfaces.http.v1.change import change, reply_json
from assay.surfaces.http.v1.common import changes
from assay.truth.contract import VoteType
from assay.truth.status import TruthStatus

_JSON = "application/json"
_NO_STORE = {"cache-control": "no-store"}


class OpenQuestion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The open validation ticket of a key; a vote says `shown_hash` as what it saw."""

    ticket_id: str
    truthkey: str
    shown: str
    shown_hash: str
    choices: tuple[str, ...]
    opened_at: str
    due_at: str | None


class VoteRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`seen` is the `shown_hash` of the question; a rejection says its reason, an override the status it sets."""

    truthkey: str
    vote_type: VoteType
    seen: str
    reason: str = ""
    override_status: TruthStatus | None = None


class VoteReceipt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The vote is on disk; `state` is the key's state with it.

    Without one the key is not compiled yet, and `code` and `problem` say why: the next compilation counts the vote.
    """

    ticket_id: str
    voter_id: str
    vote_type: VoteType
    sequence_number: int
    version: int | None
    state: dict[str, Any] | None
    code: str | None = None
    problem: str | None = None


@get(
    "/truthstates/{key:str}/validation",
    opt=allow(scope="truth:read", roles=SEE_ALL),
    responses={200: described("the open question", kind=OpenQuestion), **problems(400, 401, 403, 404)},
)
async def show_question(desk: GivenDesk, caller: NamedDependency[Authenticated], key: FromPath[str]) -> Response[bytes]:
    """What people are asked about a key now, exactly as a vote must have seen it."""
    tenant_id = caller.principal.tenant_id

    def look() -> Ticket:
        ticket = desk.tools.database.read(lambda unit: find_validation_ticket(unit, tenant_id, key))
        if ticket is None:
            raise NotFoundError(f"nobody is asked about `{key[:200]}` now")
        return ticket

    ticket = await desk.run(look)
    question = OpenQuestion(
        ticket_id=ticket.id,
        truthkey=key,
        shown=ticket.shown,
        shown_hash=ticket.shown_hash,
        choices=tuple(choice.upper() for choice in ticket.choices),
        opened_at=render_instant(ticket.opened_at),
        due_at=None if ticket.due_at is None else render_instant(ticket.due_at),
    )
    return Response(msgspec.json.encode(question), media_type=_JSON, headers=_NO_STORE)


@post(
    "/votes",
    opt=allow(scope="truth:write", roles=[BuiltInRole.REVIEWER], session=True),
    operation_class=changes(VoteRequest),
    responses={
        201: described("on disk; the key's state with it, or why it has none yet", kind=VoteReceipt),
        **problems(400, 401, 403, 409, 413, 415, 422),
    },
)
async def record_vote(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """A person answers the open validation ticket of a key, in their own session; an API key is not enough."""
    received = await read_body(request)

    def vote(tools: Tools) -> Reply:
        wanted = parse_body(VoteRequest, received)
        done = cast_vote(
            tools,
            wanted.truthkey,
            wanted.vote_type,
            seen=parse_digest(wanted.seen),
            reason=wanted.reason,
            override_status=wanted.override_status,
            credential=credential,
            at=tools.clock.now(),
        )
        return reply_json(_receipt(desk, done), status=201)

    return await change(request, desk, caller, received, vote)


def _receipt(desk: Desk, done: CastVote) -> VoteReceipt:
    answer, compiled = done.answered.answer, done.compiled
    desk.metrics.count_vote(done.answered, compiled)
    return VoteReceipt(
        ticket_id=answer.ticket_id,
        voter_id=answer.by,
        vote_type=VoteType[answer.choice.upper()],
        sequence_number=done.answered.receipt.sequence_number,
        version=None if compiled is None else compiled.version,
        state=None if compiled is None else state_value(compiled.state),
        code=done.code,
        problem=done.problem,
    )
