"""Answers: by level, kind and asker; one with everything behind it; the history of any id; reporting an outcome."""

from typing import Any, NamedTuple

import msgspec
from litestar import Request, get, post
from litestar.params import FromPath
from litestar.response import Response
from msgspec import Struct

from assay.flows.claims.show_claims import ClaimsView, ShowClaim
from assay.flows.delivery.answers import AnswerDetail, AnswerLine, ListAnswers, ShowAnswer
from assay.flows.delivery.outcomes import ListOutcomes
from assay.flows.delivery.query_types import ListQueries
from assay.flows.delivery.report_outcome import ReportOutcome
from assay.flows.delivery.rules import ShowRule
from assay.flows.delivery.trace import ShownTrace, ShowTrace
from assay.flows.request import MOST_ITEMS, Page
from assay.flows.show_overview import show_ledger_standing
from assay.kernel.errors import Error
from assay.kernel.instant import render_instant
from assay.operations.problem import problem_of
from assay.surfaces.console.page import render_page, see_other
from assay.surfaces.console.places import thing_path
from assay.surfaces.console.session import Form, GivenVisit, Visit, needs, read_form
from assay.surfaces.http.query import parse_query

_PAGE = 50
_MOST_READ = 20
OUTCOMES = ("success", "failure", "partial", "indeterminate")
# What the absence of each strand means for a reader.
STRANDS = {
    "knowledge": "the knowledge behind it is indexed as authoritative",
    "capability": "the service that answered is able and permitted to answer",
    "proof": "the code that answered carries the rules it names",
    "human": "a person certified the rules",
}


class AnswersQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`below` are answers below the level that their query type expects; `withheld` those that nobody was given."""

    asked_by: str = ""
    kind: str = ""
    level: str = ""
    below: str = ""
    withheld: str = ""
    cursor: str = ""


class Row(NamedTuple):
    line: AnswerLine
    expected: str | None

    @property
    def is_below(self) -> bool:
        return self.expected is not None and self.line.level < self.expected


@get("/answers", opt=needs("answers.list"))
async def list_answers(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """The newest first; filters read on through the list until a page is full."""
    wanted = parse_query(AnswersQuery, request)
    rows, following, kinds, levels = await visit.desk.run(lambda: _gather(visit, wanted))
    return render_page("answers.html", visit, rows=rows, wanted=wanted, following=following, kinds=kinds, levels=levels)


def _gather(visit: Visit, wanted: AnswersQuery) -> tuple[list[Row], str | None, list[str], list[str]]:
    expected = _expected(visit)
    rows: list[Row] = []
    cursor: str | None = wanted.cursor or None
    for _ in range(_MOST_READ):
        asked = ListAnswers(asked_by=wanted.asked_by or None, cursor=cursor, limit=_PAGE)
        page: Page[AnswerLine] = visit.perform("answers.list", asked)
        found = (Row(line, expected.get(line.query_type)) for line in page.items)
        rows += [row for row in found if _is_wanted(visit, row, wanted)]
        cursor = page.next
        if cursor is None or len(rows) >= _PAGE:
            break
    return rows, cursor, sorted(expected), [f"PRAMANA-{number}" for number in range(5)]


def _expected(visit: Visit) -> dict[str, str]:
    if not visit.may("queries.list"):
        return {}
    page = visit.perform("queries.list", ListQueries(limit=MOST_ITEMS))
    return {one.slug: str(one.expected_level) for one in page.items}


def _is_wanted(visit: Visit, row: Row, wanted: AnswersQuery) -> bool:
    line = row.line
    if (wanted.kind and line.query_type != wanted.kind) or (wanted.level and line.level != wanted.level):
        return False
    if wanted.below and not row.is_below:
        return False
    return not wanted.withheld or _detail(visit, line.answer_id).withheld


def _detail(visit: Visit, answer_id: str) -> AnswerDetail:
    detail: AnswerDetail = visit.perform("answer.show", ShowAnswer(answer_id=answer_id))
    return detail


@get("/answers/{answer_id:str}", opt=needs("answer.show"))
async def show_answer(request: Request[Any, Any, Any], visit: GivenVisit, answer_id: FromPath[str]) -> Response[bytes]:
    """How an answer was marked and why, what came of it, and its complete history."""
    return await _page(visit, answer_id, is_done="done" in request.query_params)


@post("/answers/{answer_id:str}/outcome", opt=needs("outcome.report"), status_code=303)
async def report_outcome(request: Request[Any, Any, Any], visit: GivenVisit, answer_id: FromPath[str]) -> Response[Any]:
    """Report what came of an answer; a refusal is shown beside the form."""
    form = await read_form(request, visit)
    try:
        await visit.desk.act(lambda: _report(visit, answer_id, form))
    except Error as error:
        return await _page(visit, answer_id, refused=error, written=form)
    return see_other(f"/answers/{answer_id}?done=1#outcomes")


def _report(visit: Visit, answer_id: str, form: Form) -> None:
    detail = _detail(visit, answer_id)
    mark = detail.annotation
    signal = {
        "signal_type": "phala",
        "rule_id": form.get("rule"),
        "applied_by": mark.service,
        "query_context": form.find("context"),
        "outcome": form.get("outcome"),
        "strands_available": [str(one) for one in mark.strands_present],
        "authenticity_level": str(mark.authenticity_level),
        "rca_triggered": False,
        "timestamp": render_instant(visit.at),
        "answer_id": answer_id,
    }
    visit.perform("outcome.report", ReportOutcome(signal=msgspec.json.encode(signal)))


async def _page(
    visit: Visit, answer_id: str, *, refused: Error | None = None, written: Form | None = None, is_done: bool = False
) -> Response[bytes]:
    values = await visit.desk.run(lambda: _look(visit, answer_id))
    problem = None if refused is None else problem_of(refused)
    return render_page(
        "answer.html",
        visit,
        status=200 if problem is None else problem.status,
        problem=problem,
        written=written or Form({}),
        is_done=is_done,
        outcomes_offered=OUTCOMES,
        strands=STRANDS,
        **values,
    )


def _look(visit: Visit, answer_id: str) -> dict[str, Any]:
    detail = _detail(visit, answer_id)
    history: ShownTrace | None = None
    if visit.may("trace.show"):
        history = visit.perform("trace.show", ShowTrace(id=answer_id))
    outcomes = ()
    if visit.may("outcomes.list"):
        outcomes = visit.perform("outcomes.list", ListOutcomes(answer_id=answer_id, limit=_PAGE)).items
    rules = []
    if visit.may("rule.show"):
        rules = [(ref, visit.perform("rule.show", ShowRule(rule_id=ref.rule_id))) for ref in detail.annotation.rules]
    return {
        "detail": detail,
        "mark": detail.annotation,
        "history": history,
        "outcomes": outcomes,
        "rules": rules,
        "claims": _claims(visit, detail),
        "covered": show_ledger_standing(visit.desk.tools, visit.tenant_id).covered,
        "thing_path": thing_path,
    }


def _claims(visit: Visit, detail: AnswerDetail) -> ClaimsView | None:
    """The bundle that an action's answer was gated by; a plain answer has none."""
    gate = detail.annotation.gate
    if not gate or gate.bundle_hash is None:
        return None
    try:
        found: ClaimsView = visit.perform("claims.show", ShowClaim(bundle_hash=gate.bundle_hash))
    except Error:
        return None  # of another principal
    return found


@get("/trace/{name:path}", opt=needs("trace.show"))
async def show_history(visit: GivenVisit, name: FromPath[str]) -> Response[bytes]:
    """The complete history behind any id."""
    asked = name.removeprefix("/")
    history = await visit.desk.run(lambda: visit.perform("trace.show", ShowTrace(id=asked)))
    return render_page("trace.html", visit, history=history, asked=asked, thing_path=thing_path)
