"""What people do to a ticket besides answering: in their own session, signed, and on record."""

from datetime import timedelta
from typing import Any

from litestar import Request, delete, get, post, put
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response
from msgspec.structs import asdict

from assay.flows.answer_once import Reply as Answer
from assay.flows.identity.authenticate import Authenticated
from assay.flows.review.act_review import Acted, Wish, act_review, prepare_act
from assay.flows.review.answer_review import SignedElsewhere, prepare_answer
from assay.flows.review.claim_review import claim_wish, release_wish
from assay.flows.review.comment_review import comment_wish
from assay.flows.review.keep_draft import DraftedReply, KeptDraft, drop_draft, keep_draft
from assay.flows.review.place_review import assign_wish, priority_wish
from assay.flows.review.show_ticket import DeskTicket, show_ticket
from assay.flows.review.show_timeline import show_timeline
from assay.flows.review.undo_answer import undo_wish
from assay.flows.tools import Tools
from assay.kernel.canonical import canonicalize
from assay.kernel.commitment import MIN_SALT_SIZE
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.ids import PrincipalId, parse_principal_id, parse_ticket_id
from assay.kernel.instant import parse_instant, render_instant
from assay.review.act import ActKind, act_message
from assay.review.answer import answer_message
from assay.review.draft import Reply
from assay.surfaces.http.body import parse_body, read_body
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.errors import FieldProblem, FieldsError
from assay.surfaces.http.guard import allow
from assay.surfaces.http.query import parse_query
from assay.surfaces.http.v1 import desk_room
from assay.surfaces.http.v1.change import change, reply_json
from assay.surfaces.http.v1.common import PREFIX, FormQuery, changes, found, made, one_operation
from assay.surfaces.http.v1.desk_shapes import (
    ActRequest,
    DraftRequest,
    PreparedAct,
    PreparedAnswer,
    TimelinePage,
)
from assay.surfaces.http.v1.one import answer_one, answer_page, answer_value, wants_csv
from assay.surfaces.http.v1.shapes import TicketAnswer

__all__ = [
    "DESK",
    "act_on_ticket",
    "delete_draft",
    "prepare_ticket_act",
    "prepare_ticket_answer",
    "put_draft",
    "show_desk_ticket",
    "show_ticket_timeline",
    "signed_elsewhere",
]

_TICKET = f"{PREFIX}/tickets/{{ticket_id:str}}"
_READ, _WRITE = allow(scope="review:read"), allow(scope="review:answer", session=True)
_PREPARE = allow(scope="review:read", session=True)
_ACT = {"act": "claim", "seconds": 900}


@get(
    f"{_TICKET}/desk",
    opt=_READ,
    operation_class=one_operation(),
    responses=found(f"GET {PREFIX}/tickets/{{ticket_id}}/desk", DeskTicket),
)
async def show_desk_ticket(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    ticket_id: FromPath[str],
) -> Response[bytes]:
    """A ticket with who works on it, whose it is, what was said, and the caller's own draft and held answer."""
    name, now, person = parse_ticket_id(ticket_id), desk.tools.clock.now(), caller.principal
    seen = await desk.run(lambda: show_ticket(desk.tools, person.tenant_id, name, viewer=person, at=now))
    return answer_one(request, seen)


@get(
    f"{_TICKET}/timeline",
    opt=_READ,
    operation_class=one_operation(FormQuery, may_be_csv=True),
    responses=found(f"GET {PREFIX}/tickets/{{ticket_id}}/timeline", TimelinePage),
)
async def show_ticket_timeline(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    ticket_id: FromPath[str],
) -> Response[bytes]:
    """Everything that happened to a ticket, each step with its place in the ledger and the hash of its entry."""
    parse_query(FormQuery, request)
    name, person = parse_ticket_id(ticket_id), caller.principal
    steps = await desk.run(lambda: show_timeline(desk.tools, person.tenant_id, name, viewer=person))
    page = TimelinePage(items=steps)
    return answer_page(request, page) if wants_csv(request) else answer_one(request, page)


@post(
    f"{_TICKET}/acts",
    opt=_WRITE,
    operation_class=changes(ActRequest, example=_ACT),
    responses=made(f"POST {PREFIX}/tickets/{{ticket_id}}/acts", Acted),
)
async def act_on_ticket(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
    ticket_id: FromPath[str],
) -> Response[bytes]:
    """Claim, release, assign, prioritise, comment or undo, in one's own session; an API key is not enough."""
    received = await read_body(request)

    def work(tools: Tools) -> Answer:
        wanted = parse_body(ActRequest, received)
        done = act_review(
            tools,
            parse_ticket_id(ticket_id),
            _wish(tools, wanted, _salt_of(wanted)),
            credential=credential,
            signing=signed_elsewhere(wanted.signature, wanted.acted_at),
            seen=_seen(wanted),
            at=tools.clock.now(),
        )
        return reply_json(done, status=201)

    return await change(request, desk, caller, received, work)


@post(
    f"{_TICKET}/acts/prepare",
    opt=_PREPARE,
    status_code=200,
    operation_class=changes(ActRequest, example=_ACT),
    responses=found(f"POST {PREFIX}/tickets/{{ticket_id}}/acts/prepare", PreparedAct, 409, 413, 415),
)
async def prepare_ticket_act(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    credential: NamedDependency[str],
    ticket_id: FromPath[str],
) -> Response[bytes]:
    """What a person with a key of their own has to sign; nothing is recorded."""
    received, now = await read_body(request), desk.tools.clock.now()

    def prepare() -> PreparedAct:
        wanted, tools = parse_body(ActRequest, received), desk.tools
        salt = tools.entropy.token(MIN_SALT_SIZE) if wanted.act is ActKind.COMMENT else None
        wish = _wish(tools, wanted, salt)
        name = parse_ticket_id(ticket_id)
        unsigned = prepare_act(tools, name, wish, credential=credential, seen=_seen(wanted), at=now)
        return PreparedAct(
            message=act_message(unsigned).hex(),
            acted_at=render_instant(now),
            salt=None if salt is None else salt.hex(),
            act=asdict(unsigned),
        )

    return answer_value(await desk.run(prepare))


@post(
    f"{_TICKET}/answers/prepare",
    opt=_PREPARE,
    status_code=200,
    operation_class=changes(TicketAnswer),
    responses=found(f"POST {PREFIX}/tickets/{{ticket_id}}/answers/prepare", PreparedAnswer, 409, 413, 415),
)
async def prepare_ticket_answer(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    credential: NamedDependency[str],
    ticket_id: FromPath[str],
) -> Response[bytes]:
    """What a person with a key of their own has to sign; nothing is recorded."""
    received, now = await read_body(request), desk.tools.clock.now()

    def prepare() -> PreparedAnswer:
        wanted = parse_body(TicketAnswer, received)
        reply = Reply(
            choice=wanted.choice,
            seen=parse_digest(wanted.seen),
            reason=wanted.reason,
            body=canonicalize(wanted.body).decode(),
        )
        unsigned = prepare_answer(desk.tools, parse_ticket_id(ticket_id), reply, credential=credential, at=now)
        return PreparedAnswer(
            message=answer_message(unsigned).hex(), answered_at=render_instant(now), answer=asdict(unsigned)
        )

    return answer_value(await desk.run(prepare))


@put(
    f"{_TICKET}/draft",
    opt=_WRITE,
    operation_class=changes(DraftRequest),
    responses=found(f"PUT {PREFIX}/tickets/{{ticket_id}}/draft", KeptDraft, 409, 413, 415),
)
async def put_draft(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
    ticket_id: FromPath[str],
) -> Response[bytes]:
    """Keep a draft of one's answer; nobody else sees it, and it is in no ledger."""
    received = await read_body(request)

    def work(tools: Tools) -> Answer:
        wanted = parse_body(DraftRequest, received)
        reply = DraftedReply(choice=wanted.choice, reason=wanted.reason, body=wanted.body)
        name = parse_ticket_id(ticket_id)
        return reply_json(keep_draft(tools, name, reply, credential=credential, at=tools.clock.now()))

    return await change(request, desk, caller, received, work)


@delete(
    f"{_TICKET}/draft",
    opt=_WRITE,
    status_code=200,
    operation_class=changes(),
    responses=found(f"DELETE {PREFIX}/tickets/{{ticket_id}}/draft", dict[str, bool], 409),
)
async def delete_draft(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
    ticket_id: FromPath[str],
) -> Response[bytes]:
    """Throw one's draft away, whether or not there was one."""

    def work(tools: Tools) -> Answer:
        drop_draft(tools, parse_ticket_id(ticket_id), credential=credential, at=tools.clock.now())
        return reply_json({"dropped": True})

    return await change(request, desk, caller, b"", work)


DESK = (
    desk_room.list_queue,
    show_desk_ticket,
    show_ticket_timeline,
    act_on_ticket,
    prepare_ticket_act,
    prepare_ticket_answer,
    put_draft,
    delete_draft,
    desk_room.list_saved_views,
    desk_room.put_view,
    desk_room.delete_view,
    desk_room.show_reviewers,
    desk_room.plan_many,
    desk_room.answer_many,
)


def _wish(tools: Tools, wanted: ActRequest, salt: bytes | None) -> Wish:
    """What the request asks for; a field that the act needs and does not have is named."""
    match wanted.act:
        case ActKind.CLAIM:
            return claim_wish(tools, None if wanted.seconds is None else timedelta(seconds=wanted.seconds))
        case ActKind.RELEASE:
            return release_wish(_principal(wanted.holder))
        case ActKind.ASSIGN:
            return assign_wish(person=_principal(wanted.person), role=wanted.role)
        case ActKind.UNDO:
            return undo_wish(wanted.reason)
        case ActKind.PRIORITISE if wanted.priority is not None:
            return priority_wish(wanted.priority)
        case ActKind.COMMENT if wanted.text is not None:
            return comment_wish(tools, wanted.text, salt=salt)
    field = "priority" if wanted.act is ActKind.PRIORITISE else "text"
    raise FieldsError([FieldProblem(field=field, message=f"expected this field with `{wanted.act}`, got none")])


def signed_elsewhere(signature: str | None, at: str | None) -> SignedElsewhere | None:
    """Both, or the node signs; which it refuses to do for whoever has a key of their own."""
    if signature is None or at is None:
        return None
    return SignedElsewhere(signature=bytes.fromhex(signature), answered_at=parse_instant(at))


def _salt_of(wanted: ActRequest) -> bytes | None:
    """A salt counts with a signature alone: whoever lets the node sign lets it draw one."""
    return bytes.fromhex(wanted.salt) if wanted.salt is not None and wanted.signature is not None else None


def _seen(wanted: ActRequest) -> Digest | None:
    return None if wanted.seen is None else parse_digest(wanted.seen)


def _principal(text: str | None) -> PrincipalId | None:
    return None if text is None else parse_principal_id(text)
