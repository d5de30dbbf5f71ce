"""Each journey through the one object that a program holds, on a real node."""

import json

import msgspec
import pytest

from assay.claims.bundle import ClaimBundle, ClaimType, Decision
from assay.claims.parse_bundle import Reading, check_bundle
from assay.delivery.annotate import GateMark
from assay.delivery.answerer import Question, Reply
from assay.delivery.level import Level
from assay.flows.errors.claims import ClaimsFlowError
from assay.flows.errors.delivery import AnswererError
from assay.kernel.bundle import parse_bundle
from assay.kernel.errors import Error
from assay.kernel.instant import render_instant
from assay.kernel.search_proof import parse_search
from assay.node import Node
from assay.verdicts.envelope import Verdict
from assay.verdicts.replay import ReplayResult
from tests.claims.making import CONTENT, claim, document, pointer
from tests.node._home import RULE, SLUG, Home, record, report, signal
from tests.raising import raises


def _is_strict(exported: ClaimBundle) -> bool:
    return check_bundle(msgspec.json.encode(exported), reading=Reading.STRICT).problems == ()


def test_a_note_is_appended_proven_verified_and_audited(node: Node) -> None:
    receipt = node.append({"who": "Ada", "what": "arrived"}, personal=["/who"])
    content = node.prove_entry(receipt.sequence_number, disclose=True)
    assert node.verify(content).holds
    proof = parse_bundle(content)
    assert node.verify(proof).holds
    assert [bytes(one.value) for one in proof.disclosures] == [b'"Ada"']
    stranger = node.verify(proof, trust=["sha256:" + "0" * 64])
    assert (stranger.holds, stranger.code) == (False, "proof.untrusted_signer")
    assert node.sign_checkpoint().size >= receipt.sequence_number
    assert node.audit(full=True).holds


def test_entries_are_found_by_what_is_in_them_and_none_is_missing(node: Node) -> None:
    """The first proof makes the index and the checkpoint that it needs; later entries wait for the next index."""
    for number in range(3):
        node.append({"rule_id": "R-1", "n": number})
    proof = node.prove_search(["rule_id=R-1"])
    assert len(parse_search(proof).entries) == 3
    assert node.verify(proof).holds
    assert node.verify(parse_search(proof)).holds
    assert node.verify(proof, trust=["sha256:" + "0" * 64]).code == "proof.untrusted_signer"
    node.append({"rule_id": "R-1", "n": 9})
    assert len(list(node.search(["rule_id=R-1"]))) == 4
    assert next(iter(node.indexes())).last < node.sign_checkpoint().size
    assert len(parse_search(node.prove_search(["rule_id=R-1"])).entries) == 3
    assert len(node.seal_index().indexes) == 1


def test_a_record_is_judged_shown_replayed_proven_and_exported(home: Home, node: Node) -> None:
    """By the shipped judge, which the first record starts."""
    sensor = home.keys["sensor"]
    given = record("t-1")
    decided = node.acting(sensor).evaluate(given)
    assert {one.rule_id: one.verdict for one in decided.verdicts} == {"SO2": Verdict.FLAG, "NOX": None}
    assert (decided.is_new, node.acting(sensor).evaluate(given).is_new) == (True, False)
    [held] = node.held()
    node.acting(home.keys["rita"]).attest(held.ticket.id, seen=held.ticket.shown_hash, reason="read")
    settled = node.verdicts_of("t-1")
    assert {one.rule_id: one.verdict for one in settled.verdicts} == {"SO2": Verdict.FLAG, "NOX": Verdict.CLEAR}
    assert {one.result for one in node.replay("t-1")} == {ReplayResult.MATCH}
    assert next(node.replay(entry=settled.verdicts[0].sequence_number)).result is ReplayResult.MATCH
    proofs = [parse_bundle(json.dumps(one).encode()) for one in json.loads(node.prove_verdict("t-1"))]
    assert all(node.verify(one).holds for one in proofs)
    assert {one.attachments[0].kind for one in proofs} == {"assay-receipt"}
    exported = node.verdict_claims("t-1")
    assert {one.claim_type for one in exported.claims} == {ClaimType.INFERENCE}
    assert _is_strict(exported)
    lines = [msgspec.json.encode(record(f"m-{number}", so2=number)) for number in range(2)]
    many = list(node.acting(sensor).evaluate_many([*lines, b"nonsense"]))
    assert [(one.status, one.code) for one in many][:2] == [("recorded", None), ("recorded", None)]
    assert many[2].code is not None


def test_a_record_goes_the_whole_way_to_a_marked_answer(home: Home, node: Node) -> None:
    """Authorised, judged, gated, marked, recorded, delivered; what is held for a person is not given out."""
    told = record("w-1")
    handled = node.acting(home.keys["sensor"]).answer_record(told)
    assert (handled.delivered.body.withheld, handled.decided) == (True, None)
    gate = handled.delivered.body.annotation.gate
    assert isinstance(gate, GateMark)
    assert (gate.decision, handled.delivered.tickets[0].role) == ("DEFER", None)
    [held] = node.held()
    node.acting(home.keys["rita"]).attest(held.ticket.id, seen=held.ticket.shown_hash, reason="read")
    again = node.acting(home.keys["sensor"]).answer_record(told)
    assert (again.delivered.body.withheld, again.decided) == (False, node.verdicts_of("w-1"))
    done = node.acting(home.keys["sensor"]).ask("verdict", {"telemetry_id": "w-1"})
    assert {one["verdict"] for one in done.body.output["verdicts"]} == {"FLAG", "CLEAR"}
    assert {ref.rule_id for ref in done.body.annotation.rules} == {"SO2", "NOX"}


def test_what_no_rule_speaks_about_is_on_record_and_cannot_be_marked(home: Home, node: Node) -> None:
    """Unless the operator registered a rule for exactly that."""
    unknown = record("u-1") | {"subject": "moon"}
    with pytest.raises(AnswererError, match="rules behind"):
        node.acting(home.keys["sensor"]).answer_record(unknown)
    assert node.verdicts_of("u-1").verdicts[0].verdict is Verdict.NULL_UNMAPPED
    node.acting(home.keys["olga"]).register_query(
        "verdict", description="by the graph", domain="maritime", rules=[RULE]
    )
    handled = node.acting(home.keys["sensor"]).answer_record(unknown)
    assert [ref.rule_id for ref in handled.delivered.body.annotation.rules] == [RULE]


def test_who_may_not_ask_sets_no_room_to_work(home: Home, node: Node) -> None:
    with pytest.raises(Error) as caught:
        node.acting(home.keys["planner"]).answer_record(record("x-1"))
    assert caught.value.code == "registry.tier_closed"
    with pytest.raises(Error, match="no verdict"):
        node.verdicts_of("x-1")


def test_an_observation_becomes_a_state_with_its_history_proof_and_claims(home: Home, node: Node) -> None:
    gateway = home.keys["gateway"]
    seen = node.acting(gateway).observe(report("user:ben"))
    compiled = node.compile_state(seen.truthkey)
    assert node.state(seen.truthkey).state == compiled.state
    assert [one.version for one in node.versions(seen.truthkey)] == [1]
    assert len(node.map().features) == 1
    assert node.replay_truth(seen.truthkey).problems == ()
    assert node.verify(node.prove_state(seen.truthkey)).holds
    exported = node.state_claims(seen.truthkey)
    assert (exported.claims[0].claim_type, _is_strict(exported)) == (ClaimType.FACT, True)
    handled = node.acting(gateway).answer_key(seen.truthkey)
    # One report is too unsure for the gates: what they hold back is not given out beside the answer.
    assert (handled.delivered.body.withheld, handled.compiled) == (True, None)
    assert handled.delivered.body.annotation.rules[0].rule_id == "earth.flood.v1"
    lines = [msgspec.json.encode(report("user:cem")), b"nonsense"]
    assert [one.status for one in node.acting(gateway).observe_many(lines)] == ["recorded", "refused"]


@pytest.mark.clause("pramana", "14.6")
def test_below_the_floor_nothing_is_given_out_beside_the_answer(home: Home, node: Node) -> None:
    """Neither the state that was compiled for it, nor the verdicts that were reached."""
    gateway, sensor = home.keys["gateway"], home.keys["sensor"]
    seen = node.acting(gateway).observe(report("user:ben"))
    for name in ("service:gateway", "service:sensor"):
        node.amend_principal(name, authenticity_level_floor=3)
    state = node.acting(gateway).answer_key(seen.truthkey)
    assert (state.delivered.body.withheld, state.compiled) == (True, None)
    verdicts = node.acting(sensor).answer_record(record("w-2"))
    assert (verdicts.delivered.body.withheld, verdicts.decided) == (True, None)
    assert node.verdicts_of("w-2").verdicts


def test_a_bundle_is_gated_people_approve_and_it_is_resumed(home: Home, node: Node) -> None:
    planner = home.keys["planner"]
    now = render_instant(node.tools.clock.now())
    node.acting(planner).attach_evidence(CONTENT)
    deletion = claim(risk_tier="DELETE", evidence_pointers=[pointer(retrieved_at=now)])
    gated = node.acting(planner).gate(document(deletion, timestamp=now, origin_agent="ai:planner"))
    assert gated.decision is Decision.ESCALATE
    ticket = node.ticket(gated.tickets[0].ticket_id).ticket
    node.acting(home.keys["otto"]).answer_ticket(ticket.id, "approve", seen=ticket.shown_hash, reason="yes")
    assert node.acting(planner).resume_claim(gated.bundle_hash).decision is Decision.PUBLISH
    assert len(node.claim(gated.bundle_hash).decisions) == 2
    with raises(ClaimsFlowError.no_estimator):
        node.estimate("how deep is the river")
    kept = node.acting(planner).attach_evidence(b"a paper")
    assert kept.is_new
    released = node.acting(home.keys["olga"]).release_gate_policy("id: mine\nversion: '1'\n")
    assert released.is_new


def test_a_question_is_answered_its_outcomes_counted_and_its_way_traced(home: Home, node: Node) -> None:
    @node.answers(SLUG, rules=[RULE])
    def under_keel(question: Question) -> str:
        return f"{question.question['ship']} is clear"

    answer = node.acting(home.keys["amira"]).ask(SLUG, {"ship": "Ada"})
    assert (answer.body.output, answer.body.authenticity_level) == ("Ada is clear", Level.SINGLE_SOURCE)
    good = signal("success", answer_id=answer.answer_id)
    told = [node.acting(home.keys["sensor"]).outcome(good, idempotency_key="one") for _ in range(2)]
    assert [one.is_new for one in told] == [True, False]
    [line] = [one for one in node.rules() if one.rule_id == RULE]
    assert (line.tally.total, node.rule(RULE).tally.success) == (1, 1)
    assert node.trace(answer.answer_id).problems == ()
    proof = parse_bundle(node.prove_answer(answer.answer_id))
    assert node.verify(proof).holds
    assert proof.attachments[0].content == b'"Ada is clear"'
    assert proof.attachments[0].sha256 == answer.body.annotation.output_hash
    exported = node.answer_claims(answer.answer_id)
    assert (exported.claims[0].id, _is_strict(exported)) == (answer.answer_id, True)


def test_an_outcome_needs_no_more_than_its_answer(home: Home, node: Node) -> None:
    node.answers(SLUG, rules=[RULE])(lambda _question: "clear")
    answer = node.acting(home.keys["amira"]).ask(SLUG, {"ship": "Ada"})
    told = {"answer_id": answer.answer_id, "outcome": "failure"}
    done = [node.acting(home.keys["sensor"]).outcome(told) for _ in range(2)]
    assert [one.is_new for one in done] == [True, False]
    assert (node.rule(RULE).tally.failure, node.trace(answer.answer_id).problems) == (1, ())


def test_a_doubtful_answer_is_resumed_when_a_person_let_it_through(home: Home, node: Node) -> None:
    doubtful = {
        "id": "depth",
        "statement": "there is enough water",
        "claim_type": "INFERENCE",
        "evidence_pointers": [],
        "uncertainty": {"method": "semantic_entropy", "value": 0.9},
        "risk_tier": "READ_ONLY",
    }
    node.answers(SLUG)(lambda _question: Reply(output="clear", claims=(doubtful,)))
    held = node.acting(home.keys["amira"]).ask(SLUG)
    assert (held.body.output, parse_bundle(node.prove_answer(held.answer_id)).attachments) == (None, ())
    [waiting] = [one.ticket for one in node.tickets() if one.ticket.id == held.tickets[0].ticket_id]
    node.acting(home.keys["sam"]).answer_ticket(waiting.id, "resume", seen=waiting.shown_hash, reason="sounded")
    assert node.acting(home.keys["amira"]).resume_answer(held.answer_id).body.output == "clear"
    assert node.answer_claims(held.answer_id).claims[0].statement == "there is enough water"
