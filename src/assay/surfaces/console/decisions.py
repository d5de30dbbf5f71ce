"""Decisions: verdicts as a list, and one record with everything that led to what it came to."""

from typing import Any

from litestar import Request, get, post
from litestar.params import FromPath
from litestar.response import Response
from msgspec import Struct

from assay.flows.ledger.prove_record import prove_record
from assay.flows.show_overview import LedgerStanding, show_ledger_standing
from assay.flows.verdicts.explain_verdict import VerdictExplainer
from assay.flows.verdicts.read_verdicts import Decided, list_verdicts, show_entry_verdict
from assay.flows.verdicts.replay_verdict import replay_verdict
from assay.kernel.bundle import render_bundle
from assay.surfaces.console.numbers import parse_number
from assay.surfaces.console.page import render_page
from assay.surfaces.console.session import GivenVisit, Visit, needs, read_form
from assay.surfaces.http.query import parse_query
from assay.verdicts.envelope import Verdict
from assay.verdicts.replay import Replay

_PAGE = 50


class DecisionsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`before` is an entry's number: what is recorded meanwhile moves nothing."""

    rule: str = ""
    subject: str = ""
    verdict: str = ""
    before: str = ""


@get("/decisions", opt=needs("verdicts.list"))
async def list_decisions(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """The newest first; a held one shows that it is none yet."""
    wanted, desk = parse_query(DecisionsQuery, request), visit.desk
    rows = await desk.run(
        lambda: list_verdicts(
            desk.tools,
            visit.tenant_id,
            rule_id=wanted.rule or None,
            subject=wanted.subject or None,
            verdict=wanted.verdict or None,
            before=parse_number(wanted.before) if wanted.before else None,
            limit=_PAGE + 1,
        )
    )
    following = rows[_PAGE - 1].sequence_number if len(rows) > _PAGE else None
    return render_page(
        "decisions.html", visit, rows=rows[:_PAGE], wanted=wanted, verdicts=list(Verdict), following=following
    )


@get("/decisions/{number:str}", opt=needs("verdict.show"))
async def show_decision(visit: GivenVisit, number: FromPath[str]) -> Response[bytes]:
    """The record that an entry is about, rule by rule, in the words of the rule."""
    return await _decision_page(visit, parse_number(number))


@post("/decisions/{number:str}/replay", opt=needs("verdicts.replay"), status_code=200)
async def replay_decision(request: Request[Any, Any, Any], visit: GivenVisit, number: FromPath[str]) -> Response[bytes]:
    """Reach the verdict again from what is stored, with the node's own model; nothing is recorded."""
    await read_form(request, visit)
    desk, wanted = visit.desk, parse_number(number)
    replay = await desk.judge(lambda: replay_verdict(desk.tools, visit.tenant_id, wanted))
    return await _decision_page(visit, wanted, replay=replay)


@get("/proofs/{number:str}", opt=needs("entry.prove"))
async def download_proof(visit: GivenVisit, number: FromPath[str]) -> Response[bytes]:
    """The file that proves one entry to whoever has nothing but a key they trust."""
    desk, wanted = visit.desk, parse_number(number)
    bundle = await desk.run(lambda: prove_record(desk.tools, visit.tenant_id, wanted))
    headers = {
        "cache-control": "no-store",
        "content-disposition": f'attachment; filename="proof-{visit.tenant_id}-{wanted}.json"',
    }
    return Response(render_bundle(bundle), media_type="application/json", headers=headers)


async def _decision_page(visit: Visit, number: int, *, replay: Replay | None = None) -> Response[bytes]:
    desk = visit.desk

    def look() -> tuple[Decided, Any, LedgerStanding]:
        decided = show_entry_verdict(desk.tools, visit.tenant_id, number)
        rules = VerdictExplainer(desk.tools, visit.tenant_id).explain(decided)
        return decided, rules, show_ledger_standing(desk.tools, visit.tenant_id)

    decided, rules, standing = await desk.run(look)
    pairs = list(zip(decided.verdicts, rules, strict=True))
    return render_page(
        "decision.html",
        visit,
        decided=decided,
        pairs=pairs,
        replay=replay,
        covered=standing.covered,
        can_replay=desk.tools.reasoner is not None,
    )
