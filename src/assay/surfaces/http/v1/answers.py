"""`/api/v1/answers`, `outcomes` and `rules`: what was asked and answered, what came of it, and on which rules."""

from typing import Any

from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Response
from msgspec import UNSET, Struct, UnsetType

from assay.delivery.annotate import HEADER, render_header
from assay.delivery.complete import find_incomplete
from assay.delivery.outcome import Outcome, Signal
from assay.flows.answer_once import Reply
from assay.flows.delivery.count_outcome import Reported
from assay.flows.delivery.deliver_answer import Delivered, deliver_answer
from assay.flows.delivery.delivery_entry import read_text as read_record
from assay.flows.delivery.inspect_delivery import ShownRuleRecord, list_rules, show_rule
from assay.flows.delivery.report_answer import report_answer
from assay.flows.delivery.resume_answer import resume_answer
from assay.flows.delivery.show_answer import show_answer as show_recorded
from assay.flows.identity.authenticate import Authenticated
from assay.flows.tools import Tools
from assay.kernel.ids import PrincipalId
from assay.ports.database import Unit
from assay.ports.delivery_store import DeliveredAnswer, StoredSignal
from assay.surfaces.http.body import parse_body, read_body
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import SEE_ALL, allow, whose
from assay.surfaces.http.pramana import at_floor
from assay.surfaces.http.query import parse_query, path_text
from assay.surfaces.http.v1.change import change, find_key, reply_json
from assay.surfaces.http.v1.common import (
    PREFIX,
    PageQuery,
    changes,
    found,
    lists,
    lists_operation,
    made,
    one_operation,
)
from assay.surfaces.http.v1.one import answer_one, answer_page
from assay.surfaces.http.v1.page import cut, cut_named, read_number
from assay.surfaces.http.v1.shapes import (
    AnswerDetail,
    AnsweredQuestion,
    AnswerLine,
    AnswerPage,
    OutcomeLine,
    OutcomePage,
    Question,
    RulePage,
)

__all__ = [
    "OUTCOME_EXAMPLE",
    "AnswersQuery",
    "OutcomeReport",
    "OutcomesQuery",
    "ask_question",
    "list_answers",
    "list_outcomes",
    "list_rule_lines",
    "record_outcome",
    "resume_held_answer",
    "show_answer",
    "show_rule_record",
]

_READ = allow(scope="pramana:read", roles=SEE_ALL)
_OWN, _ASK, _REPORT = allow(scope="pramana:read"), allow(scope="pramana:query"), allow(scope="pramana:report")
_ANSWERS, _OUTCOMES, _RULES = f"{PREFIX}/answers", f"{PREFIX}/outcomes", f"{PREFIX}/rules"
_NEWEST = 2**53 - 1
OUTCOME_EXAMPLE = {
    "signal_type": "phala",
    "rule_id": "MAR-001",
    "applied_by": "freight",
    "outcome": "success",
    "strands_available": ["capability", "knowledge"],
    "authenticity_level": "PRAMANA-2",
    "timestamp": "2026-01-07T12:00:00Z",
}


class AnswersQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of one asker, or of all for whoever may see them."""

    asked_by: str | None = None


class OutcomesQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of one answer."""

    answer_id: str | None = None


class OutcomeReport(Struct, frozen=True, kw_only=True):
    """The members of PRAMANA 7.4.1. With `answer_id` of an answer of this node, all but `outcome` may be left out and
    is then what the answer says of itself; without it, they are all needed as there.
    """

    outcome: Outcome
    answer_id: str | UnsetType = UNSET
    signal_type: str | UnsetType = UNSET
    rule_id: str | UnsetType = UNSET
    rule_ids: tuple[str, ...] | UnsetType = UNSET
    applied_by: str | UnsetType = UNSET
    query_context: str | UnsetType = UNSET
    strands_available: tuple[str, ...] | UnsetType = UNSET
    strand_missing: tuple[str, ...] | UnsetType = UNSET
    authenticity_level: str | UnsetType = UNSET
    rca_triggered: bool | UnsetType = UNSET
    two_wrong_flag: bool | UnsetType = UNSET
    timestamp: str | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    batch_id: str | UnsetType = UNSET


@get(
    _ANSWERS,
    opt=_OWN,
    operation_class=lists_operation(AnswersQuery),
    responses=lists(f"GET {_ANSWERS}", AnswerPage),
)
async def list_answers(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Answers, the newest first; whoever may not see all of them sees their own."""
    wanted = parse_query(AnswersQuery, request)
    of, tenant_id = whose(caller, wanted.asked_by), caller.principal.tenant_id
    by, before = None if of is None else PrincipalId(of), read_number("answers", wanted.cursor, first=_NEWEST)

    def look(unit: Unit) -> tuple[DeliveredAnswer, ...]:
        return unit.pages.answers(tenant_id, asked_by=by, before=before, limit=wanted.limit + 1)

    rows = await desk.run(lambda: desk.tools.database.read(look))
    page, following = cut("answers", rows, wanted.limit, lambda row: row.sequence_number)
    return answer_page(request, AnswerPage(items=tuple(map(_line, page)), next=following))


@get(
    f"{_ANSWERS}/{{answer_id:str}}",
    opt=_OWN,
    operation_class=one_operation(),
    responses=found(f"GET {_ANSWERS}/{{answer_id}}", AnswerDetail),
)
async def show_answer(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    answer_id: FromPath[str],
) -> Response[bytes]:
    """How an answer was marked and on which rules; its output is for its asker alone."""
    name = path_text(answer_id)
    shown = await desk.run(lambda: show_recorded(desk.tools, name, viewer=caller.principal))
    body = shown.body
    detail = AnswerDetail(
        answer_id=name,
        query_type=shown.query_type,
        asked_by=shown.asked_by,
        annotation=body.annotation,
        withheld=body.withheld,
        output=body.output,
        sequence_number=shown.sequence_number,
    )
    response = answer_one(request, detail)
    response.headers[HEADER] = render_header(body.annotation)
    return response


@post(
    _ANSWERS,
    opt=_ASK,
    operation_class=changes(Question, example={"query_type": "freight.rate", "question": {"route": "INMUN-AEJEA"}}),
    responses=made(f"POST {_ANSWERS}", AnsweredQuestion),
)
async def ask_question(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Ask; the answer is gated, marked and on record before it is sent, and withheld where it must be."""
    received = await read_body(request)

    def work(tools: Tools) -> Reply:
        wanted = parse_body(Question, received)
        done = deliver_answer(
            tools,
            wanted.query_type,
            wanted.question,
            credential=credential,
            session_id=wanted.session_id,
            nonce=wanted.nonce,
            at=tools.clock.now(),
        )
        return reply_json(_answered(done), status=201, location=f"{_ANSWERS}/{done.answer_id}", **_level(done))

    return await change(request, desk, caller, at_floor(received, caller), work)


@post(
    f"{_ANSWERS}/{{answer_id:str}}/resume",
    opt=_ASK,
    operation_class=changes(),
    responses=made(f"POST {_ANSWERS}/{{answer_id}}/resume", AnsweredQuestion),
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

    def work(tools: Tools) -> Reply:
        done = resume_answer(tools, name, credential=credential, at=tools.clock.now())
        return reply_json(_answered(done), status=201, **_level(done))

    return await change(request, desk, caller, at_floor(await request.body(), caller), work)


@get(
    _OUTCOMES,
    opt=_READ,
    operation_class=lists_operation(OutcomesQuery),
    responses=lists(f"GET {_OUTCOMES}", OutcomePage),
)
async def list_outcomes(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """What was reported, the newest first."""
    wanted, tenant_id = parse_query(OutcomesQuery, request), caller.principal.tenant_id
    before = read_number("outcomes", wanted.cursor, first=_NEWEST)

    def look(unit: Unit) -> tuple[StoredSignal, ...]:
        return unit.pages.outcomes(tenant_id, answer_id=wanted.answer_id, before=before, limit=wanted.limit + 1)

    rows = await desk.run(lambda: desk.tools.database.read(look))
    page, following = cut("outcomes", rows, wanted.limit, lambda row: row.sequence_number)
    return answer_page(request, OutcomePage(items=tuple(map(_outcome, page)), next=following))


@post(
    _OUTCOMES,
    opt=_REPORT,
    operation_class=changes(OutcomeReport, example=OUTCOME_EXAMPLE),
    responses=made(f"POST {_OUTCOMES}", Reported, old="it was counted before, and nothing moved"),
)
async def record_outcome(
    request: Request[Any, Any, Any],
    desk: GivenDesk,
    caller: NamedDependency[Authenticated],
    credential: NamedDependency[str],
) -> Response[bytes]:
    """Report what came of an answer to the rules that caused it; the same signal counts once."""
    received, key = await read_body(request), find_key(request)

    def work(_tools: Tools) -> Reply:
        # Signals of many senders share a commit, and each is known by its key already: no other note is needed.
        tools = desk.tools
        done = report_answer(tools, received, credential=credential, idempotency_key=key, at=tools.clock.now())
        return _counted(done)

    async def plainly() -> Reply:
        if find_incomplete(received) is not None:
            return await desk.act(lambda: work(desk.tools))
        return _counted(await desk.report(received, credential))

    return await change(request, desk, caller, received, work, is_repeatable=True, plainly=plainly)


def _counted(done: Reported) -> Reply:
    return reply_json(done, status=201 if done.is_new else 200)


@get(
    _RULES,
    opt=_READ,
    operation_class=lists_operation(),
    responses=lists(f"GET {_RULES}", RulePage),
)
async def list_rule_lines(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Response[bytes]:
    """Every rule with its counters, by id."""
    wanted = parse_query(PageQuery, request)
    known = await desk.run(lambda: list_rules(desk.tools, caller.principal.tenant_id))
    page, following = cut_named("rules", known, wanted.cursor, wanted.limit, lambda one: one.rule_id)
    return answer_page(request, RulePage(items=page, next=following))


@get(
    f"{_RULES}/{{rule_id:str}}",
    opt=_READ,
    operation_class=one_operation(),
    responses=found(f"GET {_RULES}/{{rule_id}}", ShownRuleRecord),
)
async def show_rule_record(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated], rule_id: FromPath[str]
) -> Response[bytes]:
    """One rule: its versions, who stands by them, and what came of it."""
    name = path_text(rule_id)
    return answer_one(request, await desk.run(lambda: show_rule(desk.tools, caller.principal.tenant_id, name)))


def _level(done: Delivered) -> dict[str, str]:
    return {HEADER: render_header(done.body.annotation)}


def _answered(done: Delivered) -> AnsweredQuestion:
    return AnsweredQuestion(
        answer_id=done.answer_id,
        body=done.body,
        sequence_number=done.receipt.sequence_number,
        entry_hash=done.receipt.entry_hash,
        tickets=done.tickets,
    )


def _line(row: DeliveredAnswer) -> AnswerLine:
    return AnswerLine(
        answer_id=row.answer_id,
        query_type=row.query_type,
        asked_by=row.asked_by,
        level=row.level,
        answered_at=row.answered_at,
        sequence_number=row.sequence_number,
    )


def _outcome(row: StoredSignal) -> OutcomeLine:
    signal = read_record(row.text, Signal)
    return OutcomeLine(
        signal_id=row.signal_id,
        outcome=signal.outcome,
        rule_ids=signal.rule_ids,
        answer_id=row.answer_id,
        sender=signal.sender,
        received_at=row.received_at,
        sequence_number=row.sequence_number,
    )
