"""The routes of PRAMANA (sections 7, 8, 10, 13): each parses into an operation's request and renders its result.

Every answer carries its annotation in the body and its level in the header `Pramana-Authenticity`.
"""

from typing import Any

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response
from msgspec import Struct

from assay.delivery.annotate import AnswerBody, render_body
from assay.delivery.pair import TrainingPair
from assay.delivery.state import PramanaState
from assay.flows.delivery.count_outcome import Reported
from assay.flows.delivery.deliver_answer import AskQuestion
from assay.flows.delivery.emit_event import EmitEvent, Emitted, SenseSignal
from assay.flows.delivery.peers import Forwarded, ForwardOutcome
from assay.flows.delivery.report_outcome import PhalaSignal, ReportOutcome
from assay.flows.delivery.resume_answer import ResumeAnswer
from assay.flows.delivery.service_state import ShowState, ShowTrust
from assay.flows.delivery.training import ExportPairs
from assay.flows.identity.authenticate import Authenticated
from assay.operations.delivery import (
    ANSWER_ASK,
    ANSWER_RESUME,
    EVENT_EMIT,
    OUTCOME_FORWARD,
    OUTCOME_REPORT,
    PAIRS_EXPORT,
    STATE_SHOW,
    TRUST_SHOW,
)
from assay.operations.dispatch import Outcome
from assay.surfaces.http.body import find_key, parse_body, read_body
from assay.surfaces.http.describe import described, problems
from assay.surfaces.http.desk import Desk, GivenDesk
from assay.surfaces.http.proof import anonymous
from assay.surfaces.http.query import path_text
from assay.surfaces.http.v1.common import changes
from assay.surfaces.http.v1.derive import opt_of

PREFIX = "/api/v2/pramana"
_JSON = "application/json"
_NO_STORE = {"cache-control": "no-store"}
_CREATED, _OK = 201, 200


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


@get(
    f"{PREFIX}/state",
    opt=opt_of(STATE_SHOW),
    security=[{}],
    responses={200: described("STATE", kind=PramanaState), **problems()},
)
async def show_pramana_state(request: Request[Any, Any, Any], desk: GivenDesk) -> Response[bytes]:
    """STATE: what this node can answer, and which strands it checks; open to everybody."""
    return await _state(request, desk, None)


@get(
    f"{PREFIX}/state/{{entity_id:str}}",
    opt=opt_of(STATE_SHOW),
    security=[{}],
    responses={200: described("STATE", kind=PramanaState), **problems(404)},
)
async def show_entity_state(
    request: Request[Any, Any, Any], desk: GivenDesk, entity_id: FromPath[str]
) -> Response[bytes]:
    """The same under the name of this service."""
    return await _state(request, desk, path_text(entity_id))


@get(
    f"{PREFIX}/trust/{{user_id:str}}",
    opt=opt_of(TRUST_SHOW),
    responses={200: described("TRUST", kind=PramanaTrust), **problems(401, 403, 404, 409)},
)
async def show_user_trust(
    desk: GivenDesk, caller: NamedDependency[Authenticated], user_id: FromPath[str]
) -> Response[bytes]:
    """TRUST of one principal: one's own; another's for those who may read `/api/v1/principals`."""
    found = (await desk.perform(TRUST_SHOW, caller, ShowTrust(user_id=path_text(user_id)))).value
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
    opt=opt_of(ANSWER_ASK),
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
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Ask; the answer is on record with its rules before it is sent, and its level is in the header too."""
    given, key = await read_body(request), find_key(request)
    wanted = parse_body(Asked, given)
    asked = AskQuestion(
        query_type=wanted.query_type, question=wanted.question, session_id=wanted.session_id, nonce=wanted.nonce
    )
    return _answered(await desk.perform(ANSWER_ASK, caller, asked, key))


@post(
    f"{PREFIX}/query/{{answer_id:str}}/resume",
    opt=opt_of(ANSWER_RESUME),
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
    answer_id: FromPath[str],
) -> Response[bytes]:
    """Ask for one's own answer that the gates held back, with what people answered meanwhile."""
    asked = ResumeAnswer(answer_id=path_text(answer_id))
    return _answered(await desk.perform(ANSWER_RESUME, caller, asked, find_key(request)))


@post(
    f"{PREFIX}/phala",
    opt=opt_of(OUTCOME_REPORT),
    operation_class=changes(PhalaSignal),
    responses={
        200: described("it was counted before, under this key or with this content", kind=Reported),
        201: described("on disk and counted; what it did to each rule", kind=Reported),
        **problems(400, 401, 403, 404, 409, 413, 415, 422),
    },
)
async def record_phala(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Report what came of an answer; with an `Idempotency-Key` the same signal again counts once."""
    asked, key = ReportOutcome(signal=await read_body(request), whole=True), find_key(request)
    return _changed(await desk.perform(OUTCOME_REPORT, caller, asked, key))


@post(
    f"{PREFIX}/phala/foreign",
    opt=opt_of(OUTCOME_FORWARD),
    operation_class=changes(PhalaSignal),
    responses={
        201: described("what was counted here, and what waits for a person", kind=Forwarded),
        **problems(400, 401, 403, 404, 409, 413, 415, 422),
    },
)
async def forward_foreign_phala(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """A peer forwards an outcome under its own rule ids; they are translated as agreed."""
    asked, key = ForwardOutcome(signal=await read_body(request)), find_key(request)
    return _changed(await desk.perform(OUTCOME_FORWARD, caller, asked, key))


@get(
    f"{PREFIX}/pairs",
    opt=opt_of(PAIRS_EXPORT),
    responses={
        200: described("training pairs, in the order of their capture", kind=list[TrainingPair]),
        **problems(401, 403),
    },
)
async def show_pairs(desk: GivenDesk, caller: NamedDependency[Authenticated]) -> Response[bytes]:
    """Training pairs exactly as PRAMANA 10.4 has them; outputs below the caller's floor are left out of them."""
    found = await desk.perform(PAIRS_EXPORT, caller, ExportPairs())
    return Response(found.value.body, media_type=_JSON, headers=_NO_STORE)


@post(
    f"{PREFIX}/sense/emit",
    opt=opt_of(EVENT_EMIT),
    operation_class=changes(SenseSignal),
    responses={
        201: described("on disk, and told to whoever subscribed", kind=Emitted),
        **problems(400, 401, 403, 409, 413, 415, 422),
    },
)
async def emit_sense(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """A service tells an event under its own name, and under no other."""
    asked, key = EmitEvent(event=await read_body(request)), find_key(request)
    return _changed(await desk.perform(EVENT_EMIT, caller, asked, key))


def _answered(outcome: Outcome) -> Response[bytes]:
    """The body has the members of PRAMANA 8 alone; a header names the tickets that the answer waits for."""
    response = _response(outcome, render_body(outcome.value.body), _OK)
    if outcome.value.tickets:
        response.headers["assay-tickets"] = ", ".join(one.ticket_id for one in outcome.value.tickets)
    return response


def _changed(outcome: Outcome) -> Response[bytes]:
    return _response(outcome, msgspec.json.encode(outcome.value), _CREATED if outcome.is_new else _OK)


def _response(outcome: Outcome, body: bytes, status: int) -> Response[bytes]:
    headers = {**outcome.headers, **_NO_STORE}
    if outcome.is_kept:
        headers["assay-is-kept"] = "true"
    return Response(body, status_code=status, media_type=_JSON, headers=headers)


async def _state(request: Request[Any, Any, Any], desk: Desk, service: str | None) -> Response[bytes]:
    state = (await desk.perform(STATE_SHOW, anonymous(request, desk), ShowState(service=service))).value
    return Response(msgspec.json.encode(state), media_type=_JSON, headers=_NO_STORE)
