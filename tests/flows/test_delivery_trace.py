"""The complete history of an answer is found by any id in it, and names who decided what, and why."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.delivery.answerer import Reply
from assay.flows.delivery.deliver_answer import AskQuestion
from assay.flows.delivery.trace import ShownTrace
from assay.flows.errors import NotFoundError
from assay.identity.caller import local_caller
from assay.identity.principal import PrincipalChange
from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.trace import TraceId
from assay.operations.dispatch import Dispatcher
from assay.operations.table import BY_NAME
from assay.permits.permit import Effect
from tests.acting import amend_principal, caller_of
from tests.delivering import performed, resume_answer, show_item
from tests.flows._claims import opened_claims
from tests.flows._delivery import SLUG, Delivery, opened_delivery
from tests.flows._people import ADMIN, TENANT
from tests.flows._verdicts import opened_verdicts, rule
from tests.flows.test_permits import Tool

_TRACE = TraceId("4bf92f3577b34da6a3ce929d0e0e4736")
_DOUBT = {"method": "semantic_entropy", "value": 0.9, "interpretation": "the samples disagree"}
_CLAIM = {"id": "g", "statement": "rain", "claim_type": "INFERENCE", "risk_tier": "READ_ONLY", "uncertainty": _DOUBT}


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Delivery]:
    with opened_delivery(tmp_path) as delivery:
        yield delivery.ready(lambda _question: Reply(output="rain", claims=({**_CLAIM, "evidence_pointers": []},)))


def _traced(node: Delivery, name: str) -> ShownTrace:
    caller = local_caller(TENANT, at=node.desk.at(minutes=20))
    found: ShownTrace = performed(node.tools, caller, "trace.show", id=name)
    return found


@pytest.mark.clause("pramana", "9")
def test_any_id_of_a_history_finds_all_of_it(node: Delivery) -> None:
    """An answer waits for a reviewer, is given out, fails three times, and a person concludes why."""
    caller = replace(caller_of(node.tools, node.amira, at=node.desk.at(minutes=3)), trace=_TRACE)
    asked = AskQuestion(query_type=SLUG, question={"ship": "Ada"})
    held = Dispatcher(tools=node.tools)(BY_NAME["answer.ask"], caller, asked).value
    [waiting] = held.tickets
    ticket = node.desk.read(lambda unit: unit.review.find_ticket(TENANT, TicketId(waiting.ticket_id)))
    assert ticket is not None
    open_now = _traced(node, held.answer_id)
    assert [one.stage for one in open_now.steps if one.stage in {"ticket", "review"}] == ["ticket"]
    node.accept(ticket, by=node.rita, choice="resume", minute=5)
    assert resume_answer(node.tools, held.answer_id, credential=node.amira, at=node.desk.at(minutes=6)).body.output
    marked = held.body.annotation
    failed = node.fail(
        answer_id=held.answer_id,
        authenticity_level=str(marked.authenticity_level),
        strands_available=list(marked.strands_present),
        strand_missing=list(marked.strands_missing),
        minute=7,
    )
    item_id = str(failed[-1].rules[0].item_id)
    node.conclude(item_id, by=node.sam)
    pair_id = str(show_item(node.tools, TENANT, item_id).pair_id)

    whole = _traced(node, held.answer_id)
    told = {(one.stage, one.by) for one in whole.steps}
    assert {("question", "user:amira"), ("review", "user:rita"), ("conclusion", "user:sam")} <= told
    assert {("outcome", "service:bell"), ("training pair", None), ("root cause", None)} <= told
    assert whole.permission is not None
    assert (whole.permission.principal_id, whole.permission.action_tier) == ("user:amira", 1)
    reasons = [one.text for one in whole.steps if one.stage == "gate"]
    assert reasons[0].startswith("gates decided DEFER: ")
    assert any(one.startswith("gates decided PUBLISH") for one in reasons)
    assert [one.trace_id for one in whole.steps if one.stage == "answer"] == [_TRACE]
    assert [one.at for one in whole.steps] == sorted(one.at for one in whole.steps)
    names = [
        *(str(marked.gate.bundle_hash if marked.gate else ""), waiting.ticket_id, failed[-1].signal_id),
        *(item_id, pair_id, str(_TRACE), str(held.sequence_number)),
    ]
    for name in names:
        assert _traced(node, name).answer_id == held.answer_id, name


def test_the_permission_is_that_of_the_time_of_the_question(node: Delivery) -> None:
    """A floor that was raised since then does not show."""
    asked = node.ask(minute=3)
    change = PrincipalChange(authenticity_level_floor=3)
    amend_principal(node.tools, TENANT, PrincipalId("user:amira"), change, by=ADMIN, at=node.desk.at(minutes=9))
    shown = _traced(node, asked.answer_id).permission
    assert shown is not None
    assert (shown.principal_id, shown.version, shown.authenticity_level_floor) == ("user:amira", 1, 0)


def test_a_permit_and_the_ticket_about_its_effect_lead_to_the_whole_history(tmp_path: Path) -> None:
    with opened_claims(tmp_path) as desk:
        tool = Tool(desk)
        signed = tool.issue()
        tool.claim(signed)
        tool.report(signed, Effect.UNKNOWN)
        permit_id = signed.permit.permit_id
        caller = local_caller(TENANT, at=tool.later(30))
        told: ShownTrace = performed(desk.tools, caller, "trace.show", id=permit_id)
        assert [one.stage for one in told.steps] == ["claim", "gate", "permit", "permit", "effect", "ticket"]
        assert told.permission is not None
        assert told.permission.principal_id == tool.caller().principal.id
        ticket_id = told.steps[-1].id
        assert ticket_id is not None
        for name in (ticket_id, signed.permit.bundle_hash, str(told.steps[3].sequence_number)):
            assert performed(desk.tools, caller, "trace.show", id=name) == told, name


def test_the_ticket_of_a_held_verdict_leads_to_its_record(tmp_path: Path) -> None:
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(rule("high", "high"))
        held = desk.decide({"so2": 5}, name="t-1")
        [ticket_id] = [one.ticket_id for one in held.verdicts]
        assert ticket_id is not None
        caller = local_caller(TENANT, at=desk.at(minutes=20))
        told: ShownTrace = performed(desk.tools, caller, "trace.show", id=ticket_id)
        assert [(one.stage, one.id) for one in told.steps] == [("verdict", "t-1"), ("ticket", ticket_id)]


def test_an_id_of_nothing_is_not_found(node: Delivery) -> None:
    for name in ("ans_none", "99999", "0" * 31 + "1", "tkt_none", "sha256:" + "0" * 64):
        with pytest.raises(NotFoundError):
            _traced(node, name)
