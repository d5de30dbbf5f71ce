"""Every output passes the gates, whichever room reasoned: published, held for people, or refused; always recorded."""

from collections.abc import Iterator
from dataclasses import replace as with_fields
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from assay.claims.bundle import ClaimType, UncertaintyMethod
from assay.claims.estimate.equivalence import RuleJudge
from assay.claims.parse_bundle import Reading, check_bundle
from assay.delivery.annotate import GateMark
from assay.delivery.answerer import Question
from assay.delivery.answerer import Reply as Said
from assay.delivery.level import Level
from assay.flows.claims.estimate import ModelEstimator
from assay.flows.claims.output_claims import bundle_claims, claims_of_state, claims_of_verdicts
from assay.flows.claims.policies import ReleaseGatePolicy, release_gate_policy
from assay.flows.delivery.answer_record import get_record
from assay.flows.delivery.deliver_answer import AnsweredQuestion, AskQuestion, ask
from assay.flows.errors import NotFoundError
from assay.flows.errors.claims import ClaimsFlowError
from assay.flows.errors.delivery import AnswererError
from assay.flows.known import get_ticket
from assay.flows.registry.fire_switch import fire_switch
from assay.flows.review.show_queue import page_queue
from assay.flows.review.show_ticket import ListTickets, tickets
from assay.flows.truth.states import show_truth
from assay.identity.caller import local_caller
from assay.identity.principal import PrincipalChange
from assay.identity.risk import RiskTier
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId
from assay.kernel.ledger import EntryKind
from assay.ports.model import FinishReason, Generation, Model, ModelIdentity
from assay.registry.errors import TierClosedError
from assay.registry.trip import Fired, FiringCause, SenseFigures
from assay.review.errors import ReviewError
from assay.review.queue import QueueFilter
from assay.review.ticket import Ticket, TicketSubject
from assay.truth.status import TruthStatus
from tests.acting import amend_principal, caller_of, looking, view_desk
from tests.delivering import deliver_answer, resume_answer, trace_answer
from tests.flows._delivery import RULE, SLUG, Delivery, opened_delivery
from tests.flows._people import ADMIN, TENANT
from tests.flows._truth import opened_truth
from tests.flows._verdicts import opened_verdicts
from tests.flows._verdicts import rule as graph_rule
from tests.raising import raises

UNSURE = {
    "id": "depth",
    "statement": "there is enough water",
    "claim_type": "INFERENCE",
    "evidence_pointers": [],
    "uncertainty": {"method": "semantic_entropy", "value": 0.9, "interpretation": "three answers out of four differ"},
    "risk_tier": "READ_ONLY",
}


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Delivery]:
    with opened_delivery(tmp_path) as delivery:
        yield delivery.ready()


def gate_of(done: AnsweredQuestion) -> GateMark:
    gate = done.body.annotation.gate
    assert isinstance(gate, GateMark)
    return gate


def claiming(*claims: dict[str, Any]) -> Said:
    return Said(output="clear", claims=claims)


def ticket_of(node: Delivery, done: AnsweredQuestion) -> Ticket:
    [asked] = done.tickets
    return node.desk.read(lambda unit: get_ticket(unit, TENANT, asked.ticket_id))


def grant(node: Delivery, name: str, **fields: Any) -> None:  # noqa: ANN401  any field of a change
    amend_principal(
        node.tools, TENANT, PrincipalId(name), PrincipalChange(**fields), by=ADMIN, at=node.desk.at(minutes=1)
    )


@pytest.mark.clause("pramana", "6.4")
@pytest.mark.clause("pramana", "11.5")
def test_an_answer_carries_the_decision_that_published_it(node: Delivery) -> None:
    """The decision is signed with the annotation, and in the entry; missing strands fail no gate (PRAMANA 6.4)."""
    done = node.ask()
    assert done.body.output == "clear"
    assert (gate_of(done).decision, gate_of(done).reason, done.tickets) == ("PUBLISH", "all gates passed", ())
    [entry] = node.desk.entries(EntryKind.ANSWER_DELIVERED)
    assert entry["delivered"]["gate"]["decision"] == "PUBLISH"
    assert entry["delivered"]["strands_missing"] == ["proof"]


@pytest.mark.clause("claimbundle", "gate-recommendations")
def test_a_caveat_reaches_the_output(node: Delivery) -> None:
    """Above 0.50 the output goes out with what makes it doubtful."""
    doubtful = UNSURE | {"uncertainty": {"method": "confidence_score", "value": 0.6}}
    done = node.answering(lambda _question: claiming(doubtful), "other").ask(slug="other")
    assert done.body.output == "clear"
    assert "confidence_score 0.6" in gate_of(done).caveats[0]


@pytest.mark.parametrize("rough", [{"id": 1}, "claim", UNSURE | {"risk_tier": "ENORMOUS"}])
def test_claims_that_are_none_are_refused(node: Delivery, rough: Any) -> None:  # noqa: ANN401  anything
    done = node.answering(lambda _question: claiming(rough), "other").ask(slug="other")
    assert (done.body.output, done.body.withheld, gate_of(done).decision) == (None, True, "REFUSE")
    assert (done.tickets, gate_of(done).bundle_hash) == ((), None)
    with raises(ClaimsFlowError.not_resumable):
        resume_answer(node.tools, done.answer_id, credential=node.amira, at=node.desk.at(minutes=5))


class _Speaker:
    """A model that says the same each time, and counts what it was asked."""

    def __init__(self, said: str) -> None:
        self.said = said
        self.drawn = 0

    def generate(self, _prompt: str, **_how: object) -> tuple[Generation, ...]:
        self.drawn += 1
        made = Generation(
            text=self.said,
            tokens=(),
            finish=FinishReason.STOP,
            model=cast("ModelIdentity", None),
            seed=0,
            prompt_tokens=None,
            generated_tokens=None,
            elapsed_seconds=0.0,
        )
        return (made,)


def _estimating(node: Delivery, speaker: _Speaker, per_day: int | None = None) -> Delivery:
    """The node with a general model, and a policy that requires a computed uncertainty."""
    text = 'id: c\nversion: "1"\nuncertainty: {require_computed: true}\n'
    release_gate_policy(node.tools, local_caller(TENANT, at=node.desk.at(seconds=30)), ReleaseGatePolicy(document=text))
    estimator = ModelEstimator(cast("Model", speaker), RuleJudge(), name="speaker", answers_per_day=per_day)
    return with_fields(node, desk=with_fields(node.desk, tools=with_fields(node.tools, estimator=estimator)))


def test_an_answer_is_estimated_by_the_general_model_once_and_within_a_budget(node: Delivery) -> None:
    """The same answer costs nothing the second time; another one beyond the budget waits for people."""
    speaker = _Speaker("Yes.")
    node = _estimating(node, speaker, per_day=7)
    assert [gate_of(node.ask()).decision for _ in range(2)] == ["PUBLISH", "PUBLISH"]
    assert speaker.drawn == 5
    other = node.answering(lambda _question: claiming(UNSURE), "other")
    done = other.ask(slug="other")
    assert gate_of(done).decision == "DEFER"
    assert "claims.estimate_budget" in gate_of(done).reason
    assert speaker.drawn == 5


def test_an_answer_that_the_general_model_denies_waits_with_its_estimate_on_record(node: Delivery) -> None:
    node = _estimating(node, _Speaker("No, it is not."))
    done = node.ask()
    assert (done.body.output, gate_of(done).decision) == (None, "DEFER")
    [entry] = node.desk.entries(EntryKind.CLAIMS_RECEIVED)
    [estimate] = entry["context"]["estimates"].values()
    assert estimate["cost"]["answers"] == 5
    # The decision on record rests on the same estimate, without another question.
    [decided] = node.desk.entries(EntryKind.CLAIMS_DECIDED)
    assert "does not affirm" in decided["outcome"]["reason"]


@pytest.mark.clause("claimbundle", "gate-recommendations")
@pytest.mark.clause("pramana", "11.6")
def test_a_doubtful_answer_waits_for_a_person_and_is_then_given_out(node: Delivery) -> None:
    """Nothing of it is told before; the asker's own word about it does not count; afterwards it is the same answer."""
    asked: list[Question] = []

    def doubt(question: Question) -> Said:
        asked.append(question)
        return claiming(UNSURE)

    node = node.answering(doubt, "other")
    done = node.ask(slug="other", by=node.rita)
    assert (done.body.output, done.body.annotation.output_hash, gate_of(done).decision) == (None, None, "DEFER")
    assert (done.body.authenticity_level, done.body.human_review_required) == (Level.UNVERIFIED, True)
    assert "withheld" in done.body.disclosure
    waiting = resume_answer(node.tools, done.answer_id, credential=node.rita, at=node.desk.at(minutes=5))
    assert (waiting.body.output, waiting.tickets) == (None, done.tickets)
    ticket = ticket_of(node, done)
    assert "there is enough water" in ticket.shown
    with raises(ReviewError.own_request):
        node.accept(ticket, by=node.rita, choice="resume")
    node.accept(ticket, by=node.sam, choice="resume")
    released = resume_answer(node.tools, done.answer_id, credential=node.rita, at=node.desk.at(minutes=13))
    assert (released.body.output, gate_of(released).decision) == ("clear", "PUBLISH")
    assert "resumed by user:sam" in gate_of(released).caveats[0]
    traced = trace_answer(node.tools, TENANT, done.answer_id).trace
    assert traced is not None
    turns = [one.route[0] for one in traced.loops if one.stage == "delivery"]
    given = "delivered with its annotation to user:rita"
    assert turns == ["withheld by the gates to user:rita", "withheld by the gates to user:rita", given]
    assert len(asked) == 1
    assert len(node.desk.entries(EntryKind.ANSWER_DELIVERED)) == 3


def test_nobody_else_is_given_an_answer(node: Delivery) -> None:
    node = node.answering(lambda _question: claiming(UNSURE), "other")
    done = node.ask(slug="other")
    with pytest.raises(NotFoundError):
        resume_answer(node.tools, done.answer_id, credential=node.rita, at=node.desk.at(minutes=5))


def test_who_may_only_read_gets_no_answer_to_act_on(node: Delivery) -> None:
    """The tier of the kind of question counts, whatever the answerer claims."""
    node.query("vessel.scuttle", risk_tier=RiskTier.DELETE)
    done = node.ask(slug="vessel.scuttle")
    assert (done.body.output, gate_of(done).decision) == (None, "REFUSE")
    assert "at most READ_ONLY, got DELETE" in gate_of(done).reason


@pytest.mark.clause("claimbundle", "risk-tiers")
def test_an_answer_that_deletes_waits_for_the_operations_team(node: Delivery) -> None:
    """And whoever lost the right to act meanwhile is not given it."""
    node.query("vessel.scuttle", risk_tier=RiskTier.DELETE)
    node.desk.add("user:otto", roles=("ops_team",))
    grant(node, "user:amira", risk_ceiling=RiskTier.DELETE)
    done = node.ask(slug="vessel.scuttle")
    assert (done.body.output, gate_of(done).decision, done.tickets[0].role) == (None, "ESCALATE", "ops_team")
    node.accept(ticket_of(node, done), by=node.desk.session("user:otto"), choice="approve")
    grant(node, "user:amira", risk_ceiling=RiskTier.MODIFY)
    with pytest.raises(TierClosedError):
        resume_answer(node.tools, done.answer_id, credential=node.amira, at=node.desk.at(minutes=13))
    grant(node, "user:amira", risk_ceiling=RiskTier.DELETE)
    released = resume_answer(node.tools, done.answer_id, credential=node.amira, at=node.desk.at(minutes=14))
    assert released.body.output == "clear"


def _release(node: Delivery, policy: str) -> None:
    caller = local_caller(TENANT, at=node.desk.at(minutes=2))
    release_gate_policy(node.tools, caller, ReleaseGatePolicy(document=policy))


def test_a_policy_that_only_watches_publishes_and_says_what_would_be(node: Delivery) -> None:
    policy = "id: watch\nversion: '1'\nmode: audit_only\n"
    _release(node, policy)
    done = node.answering(lambda _question: claiming(UNSURE), "other").ask(slug="other")
    assert (done.body.output, gate_of(done).decision) == ("clear", "PUBLISH")
    assert "would be DEFER" in gate_of(done).reason


def test_the_kept_answer_is_whole(node: Delivery) -> None:
    node = node.answering(lambda _question: claiming(UNSURE), "other")
    done = node.ask(slug="other")
    record = node.desk.read(lambda unit: get_record(unit, TENANT, done.answer_id))
    assert (record.output, record.withheld, [ref.rule_id for ref in record.annotation.rules]) == ("clear", True, [RULE])
    assert record.question.query_type != SLUG


@pytest.mark.clause("claimbundle", "fact")
@pytest.mark.clause("claimbundle", "confidence-score")
def test_a_truth_state_is_a_fact_with_its_evidence(tmp_path: Path) -> None:
    """As sure as the state, by the hashes of its evidence, and a bundle that reads back strictly."""
    with opened_truth(tmp_path) as desk:
        desk.people()
        desk.observe("user:ben")
        desk.compile()
        shown = show_truth(desk.tools, TENANT, desk.truthkey, at=desk.now("12:45"))
        [claim] = claims_of_state(shown)
        assert (claim.claim_type, claim.risk_tier) == (ClaimType.FACT, RiskTier.READ_ONLY)
        assert tuple(one.evidence_hash for one in claim.evidence_pointers) == shown.state.evidence_refs
        assert claim.uncertainty.value == pytest.approx(1 - float(shown.confidence_now))
        for status in (TruthStatus.VERIFIED_FALSE, TruthStatus.LEANING_FALSE):
            false = msgspec.structs.replace(shown, state=msgspec.structs.replace(shown.state, status=status))
            assert claims_of_state(false)[0].uncertainty.value == pytest.approx(float(shown.confidence_now))
        made = bundle_claims((claim,), origin_agent="service:assay", entropy=desk.tools.entropy, at=desk.now("12:45"))
        assert check_bundle(msgspec.json.encode(made), reading=Reading.STRICT).problems == ()


@pytest.mark.clause("claimbundle", "inference")
@pytest.mark.clause("claimbundle", "model-disagreement")
@pytest.mark.parametrize(("value", "is_agreed"), [(0.0, True), (1.0, False)])
def test_a_verdict_is_an_inference_that_cites_its_clauses(tmp_path: Path, value: float, *, is_agreed: bool) -> None:
    """Its uncertainty is whether model and verifier agree, never how bad the verdict is."""
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(graph_rule("SO2", tier="low"))
        if not is_agreed:
            desk.lies(lambda said: msgspec.structs.replace(said, verdict="CLEAR"))
        [claim] = claims_of_verdicts(desk.decide({"so2": 40}))
        assert (claim.claim_type, claim.uncertainty.method) == (
            ClaimType.INFERENCE,
            UncertaintyMethod.MODEL_DISAGREEMENT,
        )
        assert claim.uncertainty.value == value
        assert [one.source.partition("@")[0] for one in claim.evidence_pointers] == ["kg:SO2.o"]


def test_the_map_is_an_answer_by_its_contract(tmp_path: Path) -> None:
    with opened_truth(tmp_path) as desk:
        desk.people()
        desk.observe("user:ben")
        desk.compile()
        asker = PrincipalChange(trust_mask=0b10, action_tier=1)
        amend_principal(desk.tools, TENANT, PrincipalId("service:gateway"), asker, by=ADMIN, at=desk.start)
        done = deliver_answer(
            desk.tools, "map", {"claim_type": "earth.flood.v1"}, credential=desk.relay, at=desk.now("12:45")
        )
        assert [one["id"] for one in done.body.output["features"]] == [desk.truthkey]
        assert [ref.rule_id for ref in done.body.annotation.rules] == ["earth.flood.v1"]


def test_nothing_is_answered_by_a_policy_that_was_replaced_meanwhile(node: Delivery) -> None:
    """The decision is held against the policy in force once more, in the commit."""
    policy = "id: other\nversion: '1'\n"
    meddled = node.desk.interrupted_by(lambda: _release(node, policy))
    caller = caller_of(node.tools, node.amira, at=node.desk.at(minutes=3))
    with pytest.raises(AnswererError, match="policy of the gates changed"):
        ask(meddled.tools, caller, AskQuestion(query_type=SLUG, question={"ship": "Ada"}))
    assert node.desk.entries(EntryKind.ANSWER_DELIVERED) == []
    assert node.ask().body.output == "clear"


def test_a_node_whose_own_switch_fired_claims_nothing_above_reading(node: Delivery) -> None:
    """People may have approved: while the switch is latched, nothing that acts is given out."""
    node.query("vessel.scuttle", risk_tier=RiskTier.DELETE)
    node.desk.add("user:otto", roles=("ops_team",))
    grant(node, "user:amira", risk_ceiling=RiskTier.DELETE)
    done = node.ask(slug="vessel.scuttle")
    fired = Fired(
        service_id=node.tools.delivery.service,
        episode=1,
        cause=FiringCause.ERROR_RATE,
        reason="9 of 100 requests failed",
        snapshot=SenseFigures(requests=100, errors=9, active_tier=3),
        fired_at=node.desk.at(minutes=4),
    )
    fire_switch(node.tools, TENANT, fired, at=node.desk.at(minutes=4))
    node.accept(ticket_of(node, done), by=node.desk.session("user:otto"), choice="approve")
    stopped = resume_answer(node.tools, done.answer_id, credential=node.amira, at=node.desk.at(minutes=13))
    assert (stopped.body.output, gate_of(stopped).decision) == (None, "REFUSE")


def test_a_ticket_names_the_bundle_and_the_answer_that_it_is_about(node: Delivery) -> None:
    """In the queue, in the list and on its page; other tickets have no such subject."""
    node = node.answering(lambda _question: claiming(UNSURE), "other")
    done = node.ask(slug="other", by=node.rita)
    ticket, other = ticket_of(node, done), node.desk.ticket()
    caller = looking(None, at=node.desk.at(minutes=5))
    expected = TicketSubject(bundle_hash=Digest(str(gate_of(done).bundle_hash)), answer_id=done.answer_id)
    queued = {one.ticket.id: one.subject for one in page_queue(node.tools, caller, QueueFilter()).tickets}
    listed = {one.ticket.id: one.subject for one in tickets(node.tools, caller, ListTickets()).items}
    assert queued == listed == {ticket.id: expected, other.id: None}
    assert view_desk(node.tools, caller, ticket.id).subject == expected
    [received] = node.desk.entries(EntryKind.CLAIMS_RECEIVED)
    assert received["context"]["answer_id"] == done.answer_id
