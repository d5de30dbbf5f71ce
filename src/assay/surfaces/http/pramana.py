"""PRAMANA over HTTP (sections 7 and 8): STATE, TRUST, a question with its marked answer, and PHALA.

Every answer carries its annotation in the body and its level in the header `Pramana-Authenticity`.
"""

from typing import Any

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response
from msgspec import UNSET, Struct, UnsetType

from assay.delivery.annotate import HEADER, AnswerBody, render_body, render_header
from assay.delivery.outcome import Outcome
from assay.delivery.state import PramanaState
from assay.flows.answer_once import Reply
from assay.flows.delivery.count_outcome import Reported
from assay.flows.delivery.deliver_answer import Delivered, deliver_answer
from assay.flows.delivery.inspect_delivery import show_state, show_trust
from assay.flows.delivery.report_outcome import report_outcome
from assay.flows.delivery.resume_answer import resume_answer
from assay.flows.errors import NotFoundError
from assay.flows.identity.authenticate import Authenticated
from assay.flows.tools import Tools
from assay.kernel.ids import parse_tenant_id
from assay.surfaces.http.body import parse_body, read_body
from assay.surfaces.http.describe import described, problems
from assay.surfaces.http.desk import Desk, GivenDesk
from assay.surfaces.http.guard import OPEN, SIGNED_IN, allow, whose
from assay.surfaces.http.query import path_text
from assay.surfaces.http.v1.change import change, find_key, reply_json
from assay.surfaces.http.v1.common import changes

__all__ = [
    "PREFIX",
    "Asked",
    "PhalaSignal",
    "PramanaTrust",
    "answer_question",
    "at_floor",
    "record_phala",
    "resume_held_answer",
    "show_entity_state",
    "show_pramana_state",
    "show_user_trust",
]

PREFIX = "/api/v2/pramana"
_JSON = "application/json"
_NO_STORE = {"cache-control": "no-store"}


class Asked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question of a registered type; `question` is any JSON.

    `nonce`, 16 to 128 visible characters that are new each time, comes back in the sealed annotation.
    """

    query_type: str
    question: Any = None
    session_id: str | None = None
    nonce: str | None = None


class PramanaTrust(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The members of PRAMANA 7.2."""

    user_id: str
    role: str
    trust_mask: int
    can_query: tuple[str, ...]
    can_execute: tuple[str, ...]
    authenticity_level_floor: int


class PhalaSignal(Struct, frozen=True, kw_only=True):
    """The members of PRAMANA 7.4.1, and `answer_id` of an answer of this node; `rca_triggered` is read and ignored."""

    signal_type: str
    applied_by: str
    outcome: Outcome
    strands_available: tuple[str, ...]
    authenticity_level: str
    timestamp: str
    rule_id: str | UnsetType = UNSET
    rule_ids: tuple[str, ...] | UnsetType = UNSET
    query_context: str | UnsetType = UNSET
    strand_missing: tuple[str, ...] | UnsetType = UNSET
    rca_triggered: bool | UnsetType = UNSET
    two_wrong_flag: bool | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    batch_id: str | UnsetType = UNSET
    answer_id: str | UnsetType = UNSET


@get(
    f"{PREFIX}/state",
    opt=OPEN,
    security=[{}],
    responses={200: described("STATE", kind=PramanaState), **problems()},
)
async def show_pramana_state(desk: GivenDesk) -> Response[bytes]:
    """STATE: what this node can answer, and which strands it checks; open to everybody."""
    return await _state(desk, None)


@get(
    f"{PREFIX}/state/{{entity_id:str}}",
    opt=OPEN,
    security=[{}],
    responses={200: described("STATE", kind=PramanaState), **problems(404)},
)
async def show_entity_state(desk: GivenDesk, entity_id: FromPath[str]) -> Response[bytes]:
    """The same under the name of this service."""
    return await _state(desk, path_text(entity_id))


@get(
    f"{PREFIX}/trust/{{user_id:str}}",
    opt=SIGNED_IN,
    responses={200: described("TRUST", kind=PramanaTrust), **problems(401, 403, 404, 409)},
)
async def show_user_trust(
    desk: GivenDesk, caller: NamedDependency[Authenticated], user_id: FromPath[str]
) -> Response[bytes]:
    """TRUST of one principal: one's own, or anybody's for auditors, operators and reviewers."""
    name = path_text(user_id)
    whose(caller, name)
    now = desk.tools.clock.now()
    found = await desk.run(lambda: show_trust(desk.tools, caller.principal.tenant_id, name, at=now))
    told = PramanaTrust(
        user_id=found.principal.id,
        role=", ".join(found.principal.roles) or str(found.principal.kind),
        trust_mask=found.principal.trust_mask,
        can_query=found.can_query,
        can_execute=found.can_execute,
        authenticity_level_floor=found.principal.authenticity_level_floor,
    )
    return Response(msgspec.json.encode(told), media_type=_JSON, headers=_NO_STORE)


@post(
    f"{PREFIX}/query",
    opt=allow(scope="pramana:query"),
    operation_class=changes(Asked),
    status_code=200,
    responses={
        200: described(
            "the answer with its annotation; without its output below the caller's floor, or where the gates hold it",
            kind=AnswerBody,
        ),
        **problems(400, 401, 403, 404, 409, 413, 415, 422),
    },
)
async def answer_question(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Ask; the answer is on record with its rules before it is sent, and its level is in the header too."""
    received = await read_body(request)

    def ask(tools: Tools) -> Reply:
        wanted = parse_body(Asked, received)
        done = deliver_answer(
            tools,
            wanted.query_type,
            wanted.question,
            credential=credential,
            session_id=wanted.session_id,
            nonce=wanted.nonce,
            at=tools.clock.now(),
        )
        return _answered(done)

    return await change(request, desk, caller, at_floor(received, caller), ask)


@post(
    f"{PREFIX}/query/{{answer_id:str}}/resume",
    opt=allow(scope="pramana:query"),
    operation_class=changes(),
    status_code=200,
    responses={
        200: described("the answer as the gates decide about it now", kind=AnswerBody),
        **problems(400, 401, 403, 404, 409, 413, 422),
    },
)
async def resume_held_answer(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
    answer_id: FromPath[str],
) -> Response[bytes]:
    """Ask for one's own answer that the gates held back, with what people answered meanwhile."""
    name = path_text(answer_id)

    def resume(tools: Tools) -> Reply:
        return _answered(resume_answer(tools, name, credential=credential, at=tools.clock.now()))

    return await change(request, desk, caller, at_floor(await request.body(), caller), resume)


def at_floor(received: bytes, caller: Authenticated) -> bytes:
    """What a kept answer is known by: with another floor than it was given at, the same request is another one."""
    return b"%s\nfloor %d" % (received, caller.principal.authenticity_level_floor)


def _answered(done: Delivered) -> Reply:
    return Reply(status=200, body=render_body(done.body), headers={HEADER: render_header(done.body.annotation)})


@post(
    f"{PREFIX}/phala",
    opt=allow(scope="pramana:report"),
    operation_class=changes(PhalaSignal),
    responses={
        200: described("it was counted before, under this key or with this content", kind=Reported),
        201: described("on disk and counted; what it did to each rule", kind=Reported),
        **problems(400, 401, 403, 404, 409, 413, 415, 422),
    },
)
async def record_phala(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Report what came of an answer; with an `Idempotency-Key` the same signal again counts once."""
    received, key = await read_body(request), find_key(request)

    def report(_tools: Tools) -> Reply:
        # Signals of many senders share a commit, and each is known by its key already: no other note is needed.
        tools = desk.tools
        done = report_outcome(tools, received, credential=credential, idempotency_key=key, at=tools.clock.now())
        return _counted(done)

    async def plainly() -> Reply:
        return _counted(await desk.report(received, credential))

    return await change(request, desk, caller, received, report, is_repeatable=True, plainly=plainly)


def _counted(done: Reported) -> Reply:
    return reply_json(done, status=201 if done.is_new else 200)


async def _state(desk: Desk, entity_id: str | None) -> Response[bytes]:
    if entity_id is not None and entity_id != desk.tools.delivery.service:
        raise NotFoundError(f"this is `{desk.tools.delivery.service}`, not `{entity_id[:80]}`")
    tenant_id = parse_tenant_id(desk.config.node.tenant)
    state = await desk.run(lambda: show_state(desk.tools, tenant_id))
    return Response(msgspec.json.encode(state), media_type=_JSON, headers=_NO_STORE)
