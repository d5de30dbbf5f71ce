"""The demonstration of delivery: one answer at every level, three failures, a person's conclusion, a corrected rule."""

import json
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from assay.delivery.annotate import SlmContribution
from assay.delivery.answerer import Question, Reply
from assay.delivery.level import Level
from assay.delivery.plugin import Category
from assay.delivery.rule import RuleId
from assay.flows.delivery.answerers import Answerers
from assay.flows.delivery.deliver_answer import AnsweredQuestion, AskQuestion, ask
from assay.flows.delivery.measure_proof import MeasureProof, measure_proof
from assay.flows.delivery.query_types import RegisterQuery, register_query
from assay.flows.delivery.recount_rules import RecountRules, recount_rules
from assay.flows.delivery.report_outcome import ReportOutcome, outcome
from assay.flows.delivery.root_causes import ConcludeRootCause, ShownItem, ShowRootCause, root_cause
from assay.flows.delivery.rules import (
    CertifyRule,
    GrantReporter,
    RegisterRule,
    RequestCertification,
    ShowRule,
    ask_certification,
    certify_rule,
    grant_reporter,
    register_rule,
    rule,
)
from assay.flows.delivery.trace import ShowTrace, trace
from assay.flows.delivery.training import captured_pairs
from assay.flows.identity.authenticate import authenticate
from assay.flows.identity.sessions import check_password
from assay.flows.known import known_ticket
from assay.flows.review.answer_desk import answer_desk
from assay.flows.tools import Tools
from assay.identity.caller import Caller, local_caller
from assay.identity.principal import BuiltInRole, PrincipalChange, PrincipalKind
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import render_instant
from assay.operations.dispatch import Dispatcher
from assay.operations.table import BY_NAME
from assay.review.draft import Reply as DeskReply
from assay.surfaces.cli.demo_keys import add_principal, issue_api_key
from assay.surfaces.cli.demo_step import Step
from assay.wiring import init_node, open_node

_TENANT, _BY = TenantId("default"), PrincipalId("operator:demo")
_RULE, _SLUG = "MAR-YK-007", "vessel.ukc-status"
_TEXT = "The under-keel clearance must be at least 10 % of the draught."
_CORRECTED = "The under-keel clearance must be at least 10 % of the draught, and 15 % where there is swell."
_PASSWORD = "only for the demonstration"  # noqa: S105 - it opens a node that is thrown away
_QUERY_BIT = 0b10
_FAILURES = 3


class _People(NamedTuple):
    """Credentials: an operator, whoever asks and reports, and two people who review."""

    chief: str
    bridge: str
    rita: str
    sam: str


def run_delivery(node: Path) -> Iterator[Step]:
    """Run on a node of its own; the steps come as they are done."""
    init_node(node, origin="demo.example/delivery")
    with open_node(node) as (opened, _):
        tools = _answering(opened)
        people = _gather(tools)
        yield from _climb(tools, people)
        answer, item = yield from _fail(tools, people)
        yield _refuse_machine(tools, people, item)
        yield from _conclude(tools, people, item)
        yield _trace(tools, answer)


def _answering(tools: Tools) -> Tools:
    """Two answerers: one that computes, and one in which a plugin had a share."""
    table = Answerers()

    @table.answers(_SLUG, rules=[_RULE])
    def _compute(_question: Question) -> str:
        return "clear"

    @table.answers("inferred", rules=[_RULE])
    def _infer(_question: Question) -> Reply:
        return Reply(output="clear", slm=SlmContribution(plugin_id="demo-slm", rules_applied=(RuleId(_RULE),)))

    return replace(tools, delivery=replace(tools.delivery, answerers=table.freeze()))


def _gather(tools: Tools) -> _People:
    asking = PrincipalChange(trust_mask=_QUERY_BIT, action_tier=1)
    everyone = (
        ("user:olga", PrincipalKind.PERSON, PrincipalChange(roles=(BuiltInRole.OPERATOR,)), None),
        ("service:bridge", PrincipalKind.SERVICE, asking, None),
        ("user:rita", PrincipalKind.PERSON, PrincipalChange(roles=(BuiltInRole.REVIEWER,)), _PASSWORD),
        ("user:sam", PrincipalKind.PERSON, PrincipalChange(roles=(BuiltInRole.REVIEWER,)), _PASSWORD),
    )
    for name, kind, granted, password in everyone:
        add_principal(
            tools,
            _TENANT,
            PrincipalId(name),
            kind=kind,
            name=name.partition(":")[2],
            granted=granted,
            password=password,
            by=_BY,
            at=tools.clock.now(),
        )
    chief, bridge = (
        issue_api_key(tools, _TENANT, PrincipalId(name), by=_BY, at=tools.clock.now())[0]
        for name in ("user:olga", "service:bridge")
    )
    rita, sam = (
        check_password(tools, _TENANT, PrincipalId(name), _PASSWORD, at=tools.clock.now())[0]
        for name in ("user:rita", "user:sam")
    )
    return _People(chief=chief, bridge=bridge, rita=rita, sam=sam)


def _climb(tools: Tools, people: _People) -> Iterator[Step]:
    """The same answer, with more and more behind it."""
    text = RegisterRule(rule_id=_RULE, content=_TEXT, domains=("maritime",))
    register_rule(tools, _as(tools, people.chief), text)
    yield _level(tools, people, Level.UNVERIFIED, "nothing is declared, certified or proven")
    _declare(tools, people, _SLUG)
    yield _level(tools, people, Level.SINGLE_SOURCE, "the kind of question is declared")
    ticket = ask_certification(tools, _operator(tools), RequestCertification(rule_id=_RULE))
    certify_rule(tools, _as(tools, people.rita), CertifyRule(rule_id=_RULE, seen=ticket.shown_hash))
    yield _level(tools, people, Level.PARTIAL, "and user:rita stands by the rule")
    measure_proof(tools, _operator(tools), MeasureProof(texts={"ukc.py": f"# @rule:{_RULE}"}))
    yield _level(tools, people, Level.AUTHENTIC, "and the code is shown to implement it")
    _declare(tools, people, "inferred")
    yield _level(tools, people, Level.INFERRED, "and a plugin had a share in it", slug="inferred")


def _declare(tools: Tools, people: _People, slug: str) -> None:
    kind = RegisterQuery(
        slug=slug, description="is there enough water under the keel", domain="maritime", rules=(_RULE,)
    )
    register_query(tools, _as(tools, people.chief), kind)


def _as(tools: Tools, credential: str) -> Caller:
    return authenticate(tools, credential, at=tools.clock.now())


def _operator(tools: Tools) -> Caller:
    return local_caller(_TENANT, at=tools.clock.now())


def _ask(tools: Tools, people: _People, slug: str) -> AnsweredQuestion:
    return ask(tools, _as(tools, people.bridge), AskQuestion(query_type=slug, question={"ship": "Ada"})).value


def _level(tools: Tools, people: _People, expected: Level, why: str, *, slug: str = _SLUG) -> Step:
    body = _ask(tools, people, slug).body
    review = ", for people to review first" if body.human_review_required else ""
    words = f"“{body.output}” at {body.authenticity_level}{review}: {why}"
    return Step("Answer", words, body.authenticity_level is expected)


def _fail(tools: Tools, people: _People) -> Generator[Step, None, tuple[AnsweredQuestion, ShownItem]]:
    """Three failures in a row reach the rule that caused them, and open a root cause."""
    grant_reporter(tools, _as(tools, people.chief), GrantReporter(principal_id="service:bridge", rules=(_RULE,)))
    answer, item_id = _ask(tools, people, _SLUG), None
    for number in range(_FAILURES):
        if number:
            # An answer has one outcome.
            answer = _ask(tools, people, _SLUG)
        signal = {
            "signal_type": "phala",
            "rule_id": _RULE,
            "applied_by": "bridge",
            "query_context": f"port {number + 1}, long swell",
            "outcome": "failure",
            "strands_available": list(answer.body.annotation.strands_present),
            "authenticity_level": str(answer.body.authenticity_level),
            "rca_triggered": False,
            "timestamp": render_instant(tools.clock.now()),
            "answer_id": answer.answer_id,
        }
        content = json.dumps(signal).encode()
        done = outcome(tools, _as(tools, people.bridge), ReportOutcome(signal=content))
        item_id = done.value.rules[0].item_id
    recounted = recount_rules(tools, _operator(tools), RecountRules())
    words = f"{_FAILURES} failures of {_RULE}, counted and counted again the same: a root cause is before people"
    yield Step("Outcomes", words, recounted.holds and item_id is not None)
    return answer, _item(tools, item_id or "")


def _refuse_machine(tools: Tools, people: _People, item: ShownItem) -> Step:
    try:
        _say(tools, item, people.bridge)
    except Error as error:
        return Step("A machine concludes", f"refused, {error.code}", is_right=True)
    return Step("A machine concludes", "it was recorded", is_right=False)


def _say(tools: Tools, item: ShownItem, credential: str) -> None:
    seen = item.ticket.shown_hash if item.ticket is not None else item.item.rule_history[-1].content_hash
    said = ConcludeRootCause(
        item_id=item.item.item_id,
        failure_category=Category.RULE,
        siddhanta="the rule forgets the swell",
        seen=seen,
        corrected_rule=_CORRECTED,
    )
    # As a door does it: only a reviewer in session is permitted.
    Dispatcher(tools=tools)(BY_NAME["rootcause.conclude"], _as(tools, credential), said)


def _conclude(tools: Tools, people: _People, item: ShownItem) -> Iterator[Step]:
    """One person concludes, a second one accepts the corrected rule."""
    _say(tools, item, people.rita)
    done = _item(tools, item.item.item_id)
    words = "user:rita logs in and concludes category C; a training pair is captured in the same commit"
    yield Step("Conclude", words, len(captured_pairs(tools.database, _TENANT)) == 1 and not done.is_open)
    before = rule(tools, _operator(tools), ShowRule(rule_id=_RULE))
    ticket_id = TicketId(done.proposal_ticket_id or "")
    ticket = known_ticket(tools, _TENANT, ticket_id)
    reply = DeskReply(choice="accept", seen=ticket.shown_hash, reason="", body="{}")
    answer_desk(tools, _as(tools, people.sam), ticket.id, reply)
    after = rule(tools, _operator(tools), ShowRule(rule_id=_RULE))
    words = f"user:sam accepts: version {len(after.versions)} of {_RULE} is in force, the first one is kept"
    is_right = (before.content, after.content, after.is_certified) == (_TEXT, _CORRECTED, True)
    yield Step("Corrected rule", words, is_right)


def _item(tools: Tools, item_id: str) -> ShownItem:
    return root_cause(tools, _operator(tools), ShowRootCause(item_id=item_id))


def _trace(tools: Tools, answer: AnsweredQuestion) -> Step:
    shown = trace(tools, _operator(tools), ShowTrace(id=answer.answer_id))
    stages = list(dict.fromkeys(str(one.stage) for one in (shown.trace.loops if shown.trace is not None else ())))
    words = f"{', '.join(stages)}: each says what it read, where it routed, what it recorded"
    return Step("Trace", words, not shown.problems and len(stages) == len(("query", "delivery", "outcome", "rca")))
