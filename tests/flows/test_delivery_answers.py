"""No answer leaves without its annotation and its recorded rules, and nobody below their floor sees the output."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from assay.delivery.annotate import SlmContribution, annotation_message, question_digest
from assay.delivery.answerer import Question, Reply
from assay.delivery.consume import Asking, check_seal
from assay.delivery.errors import InvalidQuestionError
from assay.delivery.level import Level
from assay.delivery.rule import RuleId, RuleRef
from assay.delivery.strand import (
    CORE,
    MOST_STRANDS,
    StrandId,
    StrandResult,
    StrandType,
    present,
    register_strands,
)
from assay.delivery.trace import Stage
from assay.delivery.twowrong import Step, StepKind
from assay.flows import time_limit
from assay.flows.claims.export_claims import export_answer_claims
from assay.flows.delivery.answer_record import AnswerRecord, get_record
from assay.flows.delivery.answers import ShowAnswer, answer, answer_bundle
from assay.flows.delivery.service_state import ShowState, show_state
from assay.flows.delivery.strands import StrandFunction, Strands
from assay.flows.errors.delivery import AnswererError
from assay.identity.caller import local_caller
from assay.identity.principal import PrincipalChange
from assay.kernel.canonical import canonical_digest
from assay.kernel.ids import PrincipalId
from assay.kernel.ledger import EntryKind
from assay.kernel.signature import verify_ed25519
from tests.acting import amend_principal, viewing
from tests.contract._kit import refused
from tests.delivering import deliver_answer, measure_proof, resume_answer, show_trust, trace_answer
from tests.flows._delivery import CODE, RULE, SLUG, TEXT, Delivery, opened_delivery
from tests.flows._node import damage
from tests.flows._people import ADMIN, TENANT, LostError

_NEVER = threading.Event()


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Delivery]:
    with opened_delivery(tmp_path) as delivery:
        yield delivery


def _record(node: Delivery, answer_id: str) -> AnswerRecord:
    return node.desk.read(lambda unit: get_record(unit, TENANT, answer_id))


@pytest.mark.clause("pramana", "11.3")
@pytest.mark.clause("pramana", "11.4")
@pytest.mark.clause("pramana", "12.1")
@pytest.mark.clause("pramana", "6.4")
def test_the_level_grows_with_what_stands_behind_the_same_answer(node: Delivery) -> None:
    """Nothing, a declared query, a certified rule, a proof: four levels, and an answer at each of them."""
    node.rule()
    node = node.answering(lambda _question: "clear")
    levels = [node.ask().body.authenticity_level]
    node.query()
    levels.append(node.ask().body.authenticity_level)
    node.certify()
    levels.append(node.ask().body.authenticity_level)
    node.prove()
    levels.append(node.ask().body.authenticity_level)
    assert levels == [Level.UNVERIFIED, Level.SINGLE_SOURCE, Level.PARTIAL, Level.AUTHENTIC]


@pytest.mark.clause("pramana", "12.7")
@pytest.mark.clause("pramana", "8.5")
def test_a_plugin_that_contributed_is_named(node: Delivery) -> None:
    def infer(_question: Question) -> Reply:
        return Reply(output="clear", slm=SlmContribution(plugin_id="slm-1", rules_applied=(RuleId(RULE),)))

    node = node.ready(infer)
    node.prove()
    annotation = node.ask().body.annotation
    assert annotation.authenticity_level is Level.INFERRED
    assert (annotation.slm_plugin_id, annotation.slm_rules_applied) == ("slm-1", (RULE,))


@pytest.mark.clause("pramana", "12.7")
def test_a_reply_says_in_plain_json_what_a_plugin_and_its_steps_did(node: Delivery) -> None:
    """As a function of a table has it, which knows no type of ours; what is no step is no answer."""
    step = {"kind": "parameters", "ref": "draught", "verdict": "wrong", "evidence": "the log shows it"}
    fields: dict[str, Any] = {"slm": {"plugin_id": "slm-1", "rules_applied": [RULE]}, "steps": [step]}
    node = node.ready(lambda _question: Reply(output="clear", **fields))
    found = node.ask()
    assert found.body.annotation.slm_plugin_id == "slm-1"
    record = node.desk.read(lambda unit: get_record(unit, TENANT, found.answer_id))
    assert [(one.ref, one.verdict) for one in record.steps] == [("draught", "wrong"), (f"{RULE}@1", "unknown")]
    fields["steps"] = [{**step, "verdict": "maybe"}]
    with refused("delivery.answerer"):
        node.ask()


@pytest.mark.clause("pramana", "11.5")
@pytest.mark.clause("pramana", "11.6")
@pytest.mark.clause("pramana", "8")
def test_an_answer_is_on_record_with_its_rules_before_anybody_has_it(node: Delivery) -> None:
    node = node.ready()
    done = node.ask()
    annotation = done.body.annotation
    assert annotation.rules == (RuleRef(rule_id=RuleId(RULE), version=1),)
    record = _record(node, done.answer_id)
    assert (record.output, record.annotation.rules, record.withheld) == ("clear", annotation.rules, False)
    [entry] = node.desk.entries(EntryKind.ANSWER_DELIVERED)
    assert entry["output_hash"] == canonical_digest("clear")
    assert entry["delivered"]["rules"] == [{"rule_id": RULE, "version": 1}]
    assert [one["payload"]["query_type"] for one in node.events("query.received")] == [SLUG]
    [answered] = node.events("query.answered")
    assert (answered["payload"]["authenticity_level"], answered["service"]) == ("PRAMANA-2", "assay")


def test_the_annotation_is_sealed_by_the_node(node: Delivery) -> None:
    """The signature is over what is delivered; another level breaks it."""
    sealed = msgspec.to_builtins(node.ready().ask().body.annotation)
    key = node.tools.ledger_signer.public_key
    assert key is not None
    verify_ed25519(key, annotation_message(sealed), bytes.fromhex(sealed["signature"]["value_hex"]))
    with refused("signature.invalid"):
        forged = annotation_message({**sealed, "authenticity_level": "PRAMANA-3"})
        verify_ed25519(key, forged, bytes.fromhex(sealed["signature"]["value_hex"]))


def test_an_annotation_cannot_be_put_under_another_question(node: Delivery) -> None:
    """Two questions with the same output: each annotation is for its own."""
    node = node.ready()
    first, other = node.ask({"ship": "Ada"}).body.annotation, node.ask({"ship": "Bob"}).body.annotation
    assert first.output_hash == other.output_hash
    key = node.tools.ledger_signer.public_key
    assert key is not None
    asked = Asking(question_hash=question_digest({"ship": "Ada"}), query_type=SLUG, nonce="")
    assert first.question_hash == asked.question_hash
    reason = check_seal(msgspec.to_builtins(other), None, keys=[key], asked=asked)
    assert f"expected the answer to question {asked.question_hash}" in (reason or "")


def test_a_commit_that_fails_delivers_nothing(node: Delivery) -> None:
    node = node.ready()
    before = node.desk.head()
    broken = Delivery(
        desk=node.desk.failing(), olga=node.olga, amira=node.amira, bell=node.bell, rita=node.rita, sam=node.sam
    )
    with pytest.raises(LostError):
        broken.ask()
    assert node.desk.head() == before


@pytest.mark.clause("pramana", "14.6")
@pytest.mark.clause("pramana", "7.2")
def test_below_the_floor_the_output_stays_on_the_server(node: Delivery) -> None:
    """PRAMANA-0 with a disclosure, the computed level and the floor; the record still has the output."""
    node = node.ready()
    change = PrincipalChange(authenticity_level_floor=3)
    amend_principal(node.tools, TENANT, PrincipalId("user:amira"), change, by=ADMIN, at=node.desk.start)
    done = node.ask()
    body = done.body
    assert (body.output, body.withheld, body.authenticity_level) == (None, True, Level.UNVERIFIED)
    assert (body.computed_level, body.authenticity_level_floor, body.human_review_required) == (Level.PARTIAL, 3, True)
    assert (body.annotation.output_hash, body.annotation.authenticity_level) == (None, Level.UNVERIFIED)
    assert _record(node, done.answer_id).output == "clear"
    assert node.ask(by=node.rita).body.output == "clear"
    held, given = node.desk.entries(EntryKind.ANSWER_DELIVERED)
    assert (held["output_hash"], given["output_hash"]) == (None, canonical_digest("clear"))
    assert canonical_digest("clear") not in str(held)


def _read_again(node: Delivery, answer_id: str, what: str) -> object:
    viewer = node.desk.read(lambda unit: unit.identity.find_principal(TENANT, PrincipalId("user:amira")))
    assert viewer is not None
    if what == "show":
        return answer(node.tools, viewing(viewer, at=node.desk.at(minutes=5)), ShowAnswer(answer_id=answer_id))
    if what == "prove":
        return answer_bundle(node.tools, TENANT, answer_id)
    if what == "trace":
        return trace_answer(node.tools, TENANT, answer_id)
    if what == "claims":
        return export_answer_claims(node.tools, TENANT, answer_id, at=node.desk.at(minutes=5))
    return resume_answer(node.tools, answer_id, credential=node.amira, at=node.desk.at(minutes=5))


@pytest.mark.parametrize("what", ["show", "prove", "trace", "claims", "resume"])
def test_an_answer_that_was_changed_in_its_row_is_neither_signed_nor_given_out(
    node: Delivery, tmp_path: Path, what: str
) -> None:
    """The ledger binds the whole row, whose salt keeps the binding from confirming a guess of what was withheld."""
    node = node.ready()
    first, other = node.ask().answer_id, node.ask().answer_id
    damage(
        tmp_path / "node",
        f"UPDATE delivered_answer SET text = replace(text, 'clear', 'wreck') WHERE answer_id = '{first}'",
    )
    with refused("store.damaged_record"):
        _read_again(node, first, what)
    damage(tmp_path / "node", f"UPDATE delivered_answer SET sequence_number = 1 WHERE answer_id = '{other}'")
    with refused("store.damaged_record"):
        _read_again(node, other, what)
    with refused("flow.not_found"):
        _read_again(node, "ans_none", what)


@pytest.mark.clause("pramana", "12.8")
def test_an_answer_below_what_its_kind_should_have_is_delivered_and_shows(node: Delivery) -> None:
    node.rule()
    node.query(expected_level=Level.AUTHENTIC)
    node = node.answering(lambda _question: "clear")
    done = node.ask()
    assert done.body.output == "clear"
    shortfall = _record(node, done.answer_id).shortfall
    assert shortfall is not None
    assert (shortfall.expected_level, shortfall.level, shortfall.owner) == (
        Level.AUTHENTIC, Level.SINGLE_SOURCE, "user:olga",
    )  # fmt: skip
    assert node.events("query.answered")[0]["payload"]["shortfall"]["owner"] == "user:olga"


@pytest.mark.parametrize(("mask", "tier", "code"), [(0, 1, "registry.bits_missing"), (2, 0, "registry.tier_closed")])
def test_who_may_not_ask_is_told_so_before_anybody_answers(node: Delivery, mask: int, tier: int, code: str) -> None:
    asked: list[Question] = []
    node = node.ready(asked.append)
    change = PrincipalChange(trust_mask=mask, action_tier=tier)
    amend_principal(node.tools, TENANT, PrincipalId("user:amira"), change, by=ADMIN, at=node.desk.start)
    with refused(code):
        node.ask()
    before = node.desk.head()
    with refused("identity.not_signed_in"):
        node.ask(by="no such key")
    assert (asked, node.desk.head()) == ([], before)
    [entry] = node.desk.entries(EntryKind.QUERY_FAILED)
    assert (entry["asked_by"], entry["code"]) == ("user:amira", code)
    assert len(node.events("query.received")) == 1


def _slow(_question: Question) -> str:
    _NEVER.wait(5)
    return "late"


def _broken(_question: Question) -> str:
    raise RuntimeError("secret of a stranger")


def _twice(_question: Question) -> Reply:
    """An outcome of this answer could never be judged."""
    return Reply(output="clear", steps=(Step(kind=StepKind.ROUTE, ref="a"), Step(kind=StepKind.PARAMETERS, ref="a")))


def _no_text(_question: Question) -> Reply:
    return Reply(output="clear", steps=(Step(kind=StepKind.ROUTE, ref="\ud800"),))


class _OwnNumber(float):
    """As libraries of numbers have it: a float, and no JSON."""


def _own_number(_question: Question) -> object:
    return [_OwnNumber(1.5)]


@pytest.mark.parametrize(
    "answerer",
    [_slow, _broken, lambda _question: object(), lambda _question: float("nan"), _twice, _no_text, _own_number],
)
def test_an_answerer_that_fails_gives_no_answer_and_that_is_on_record(
    node: Delivery, answerer: Callable[[Question], object]
) -> None:
    node = node.ready(answerer).with_settings(answer_seconds=0.05)
    with pytest.raises(AnswererError) as refusal:
        node.ask()
    assert "secret" not in str(refusal.value)
    [entry] = node.desk.entries(EntryKind.QUERY_FAILED)
    assert (entry["query_type"], entry["code"]) == (SLUG, "delivery.answerer")
    assert node.desk.entries(EntryKind.ANSWER_DELIVERED) == []
    assert len(node.events("query.received")) == 1


@pytest.mark.clause("pramana", "6.2")
@pytest.mark.clause("pramana", "6.4")
@pytest.mark.parametrize("named", [[RULE, "NO-SUCH"], ["NO-SUCH"]], ids=["beside a known one", "alone"])
def test_an_answer_that_names_a_rule_nobody_knows_leaves_without_the_knowledge_strand(
    node: Delivery, named: list[str]
) -> None:
    """Its outcome is led back to the rules that are known: those it names, else those its type declares."""
    node = node.ready(lambda _question: Reply(output="clear", rules=tuple(map(RuleId, named))))
    body = node.ask().body
    assert body.output == "clear"
    assert body.annotation.authenticity_level is Level.SINGLE_SOURCE
    assert "knowledge" in body.annotation.strands_missing
    assert body.annotation.rules == (RuleRef(rule_id=RuleId(RULE), version=1),)
    [entry] = node.desk.entries(EntryKind.ANSWER_DELIVERED)
    assert "NO-SUCH" in str(entry["strands"])


def test_an_answer_behind_which_no_known_rule_stands_is_not_marked(node: Delivery) -> None:
    """A name that is none is refused with it, also beside a known rule."""
    node = node.ready().answering(lambda _question: "x", "bare", rules=[])
    node = node.answering(lambda _question: "x", "foreign", rules=["NO-SUCH"])
    node = node.answering(lambda _question: Reply(output="x", rules=(RuleId(RULE), RuleId("\n"))), "rough", rules=[])
    for slug in ("bare", "foreign", "rough"):
        with refused("delivery.answerer"):
            node.ask(slug=slug)
    with refused("delivery.no_answerer"):
        node.ask(slug="nobody")
    assert node.desk.entries(EntryKind.QUERY_FAILED)[-1]["code"] == "delivery.no_answerer"
    assert len(node.events("query.received")) == 4


class _Rough:
    """An answerer that keeps to no form."""

    def answer(self, _question: Question) -> Reply:
        return {"output": "clear"}  # type: ignore[return-value]  # as a program may

    def replay(self, _question: Question, _repaired: tuple[str, ...]) -> None: ...


def test_what_is_no_reply_is_no_answer(node: Delivery) -> None:
    node = node.ready().with_settings(answerers={SLUG: _Rough()})
    with refused("delivery.answerer"):
        node.ask()
    assert len(node.desk.entries(EntryKind.QUERY_FAILED)) == 1


def test_an_annotation_names_the_nonce_of_whoever_asked(node: Delivery) -> None:
    """By it an asker knows that the answer was made for this very asking; none was asked for, and none is named."""
    node, nonce = node.ready(), "0123456789abcdef"
    at = node.desk.at(minutes=3)
    done = deliver_answer(node.tools, SLUG, {}, credential=node.amira, nonce=nonce, at=at)
    assert (done.body.annotation.nonce, node.ask().body.annotation.nonce) == (nonce, UNSET)
    for rough in ("short", "with a space in it", "x" * 129, "x" * 15 + "\n"):
        with refused("delivery.question"):
            deliver_answer(node.tools, SLUG, {}, credential=node.amira, nonce=rough, at=at)
    for rough in ("", "x" * 201, "a\x00b"):
        with refused("delivery.question"):
            deliver_answer(node.tools, SLUG, {}, credential=node.amira, session_id=rough, at=at)


@pytest.mark.clause("pramana", "7.1")
def test_state_promises_no_answer_that_nobody_gives(node: Delivery) -> None:
    node = node.ready()
    node.query("of-nobody", answerer="nobody")
    node.query("of-rules", answerer="rule")
    assert show_state(node.tools, local_caller(TENANT, at=node.tools.clock.now()), ShowState()).can_answer == (
        "of-rules",
        SLUG,
    )
    at = node.desk.at(minutes=3)
    assert show_trust(node.tools, TENANT, "user:amira", at=at).can_query == ("of-rules", SLUG)


@pytest.mark.clause("pramana", "6.3")
def test_a_kind_of_question_is_covered_by_the_certified_rules_that_it_rests_on(node: Delivery) -> None:
    """Those that its registration names, and no prose about them."""
    node.rule()
    node.query()
    prose = {"README.md": f"Code carries @rule:{RULE}.", "a.py": f'TEXT = "# @rule:{RULE}"'}

    def measured(texts: dict[str, str], minute: float) -> tuple[float, tuple[str, ...]]:
        found = measure_proof(node.tools, TENANT, texts, by=ADMIN, at=node.desk.at(minutes=minute))
        return found.coverage_pct, found.capabilities_without_rules

    assert measured(CODE, 2) == (0.0, (SLUG,))
    node.certify()
    assert measured(prose, 3) == (0.0, ())
    assert measured(CODE, 4) == (100.0, ())


@dataclass
class _Check:
    """An extended strand that does as it is told."""

    says: Any

    def check(self, question: Question, rules: tuple[RuleRef, ...]) -> StrandResult:
        if self.says == "late":
            _NEVER.wait(5)
        if self.says == "broken":
            raise RuntimeError("down")
        if not isinstance(self.says, str):
            found: StrandResult = self.says(question.asked_at)
            return found
        return present(
            StrandId(self.says), "seen", evidence=[question.query_type, rules[0].rule_id], at=question.asked_at
        )


@pytest.mark.clause("pramana", "6.5")
@pytest.mark.parametrize(
    ("says", "absence"),
    [
        ("x-port", None),
        ("late", "timed_out"),
        ("broken", "error"),
        ("x-other", "error"),
        (lambda _at: None, "error"),
        (lambda _at: True, "error"),
        (lambda at: present(StrandId("x-port"), "seen", evidence=["\ud800"], at=at), "error"),
        (lambda at: present(StrandId("x-port"), "seen", evidence=[7], at=at), "error"),  # type: ignore[list-item]  # wrong on purpose
        (lambda at: present(StrandId("x-port"), "seen", evidence=["long" * 20_000], at=at), "error"),
        (lambda at: present(StrandId("x-port"), "seen", evidence=["", " "], at=at), "error"),
    ],
    ids=["seen", "late", "broken", "another", "none", "bare yes", "no text", "a number", "too long", "blank"],
)
def test_an_extended_strand_counts_and_its_failure_is_its_absence(
    node: Delivery,
    says: Any,  # noqa: ANN401  a name, or what it answers with
    absence: str | None,
) -> None:
    """A check that is late or broken, or says what cannot be recorded, never refuses the answer, and it says why."""
    kind = StrandType(
        strand_type_id=StrandId("x-port"),
        name="Port",
        how_to_check="ask the port",
        absence_implication="nobody asked the port",
        contact="ops",
    )
    node = node.ready()
    node.prove()
    node = node.with_settings(
        strands=register_strands([kind]), checks={StrandId("x-port"): _Check(says)}, strand_seconds=0.2
    )
    done = node.ask()
    [result] = [one for one in _record(node, done.answer_id).strands.results if one.strand == "x-port"]
    assert result.absence == absence
    expected = Level.AUTHENTIC if absence is None else Level.PARTIAL
    assert (done.body.authenticity_level, done.body.output) == (expected, "clear")


def _says(evidence: str, _question: Question, _rules: tuple[RuleRef, ...]) -> str:
    return evidence


@pytest.mark.clause("pramana", "6.4")
@pytest.mark.clause("pramana", "6.5")
def test_findings_that_an_entry_could_not_hold_together_make_their_strands_absent(node: Delivery) -> None:
    """Each strand has its share; an answer with as many as there may be, each with too much to say, is on record."""
    count, table = MOST_STRANDS - len(CORE), Strands()
    for number in range(count):
        add = table.strand(f"x-s{number}", name="n", how_to_check="ask", absence_implication="nobody", contact="ops")
        evidence = "e" * (60_000 if number % 2 else 10_000)
        add(partial(_says, evidence))
    frozen = table.freeze()
    node = node.ready().with_settings(strands=frozen.strands, checks=frozen.checks, strand_seconds=30)
    found = [one for one in _record(node, node.ask().answer_id).strands.results if one.strand.startswith("x-")]
    assert [one.present for one in found] == [number % 2 == 0 for number in range(count)]
    share = 512 * 1024 // count
    assert f"expected a finding of at most {share} bytes" in found[1].reason


def _with_port(node: Delivery, check: StrandFunction) -> Delivery:
    """The node with a strand of its own."""
    table = Strands()
    add = table.strand("x-port", name="Port", how_to_check="ask", absence_implication="nobody asked", contact="ops")
    add(check)
    strands, checks = table.freeze()
    return node.with_settings(strands=strands, checks=checks)


@pytest.mark.clause("pramana", "6.4")
def test_a_strand_that_hangs_for_ever_refuses_no_answer(node: Delivery, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it was asked: it is the one that is late, and nothing else is for that."""
    monkeypatch.setattr(time_limit, "_places", {})
    ended = threading.Event()
    node = _with_port(node.ready(), lambda _question, _rules: str(ended.wait(60)))
    node = node.with_settings(strand_seconds=0.3, answers_at_once=2)
    try:
        found = [node.ask().body.annotation for _ in range(4)]
    finally:
        ended.set()
    assert [one.strands_present for one in found] == [("capability", "knowledge")] * 4


@pytest.mark.clause("pramana", "8")
def test_an_answerer_that_changes_what_it_said_changes_no_answer(node: Delivery) -> None:
    """What is marked is a copy: hash, record and output agree, whatever its own becomes meanwhile."""
    said = {"depth": 12}

    def check(_question: Question, _rules: tuple[RuleRef, ...]) -> str:
        said["depth"] = 3
        return "seen"

    body = _with_port(node.ready(lambda _question: said), check).ask().body
    assert (body.output, body.annotation.output_hash) == ({"depth": 12}, canonical_digest({"depth": 12}))


@pytest.mark.clause("pramana", "6.1")
@pytest.mark.clause("pramana", "6.2")
@pytest.mark.clause("pramana", "6.3")
def test_strands_are_recorded_with_what_they_looked_at(node: Delivery) -> None:
    node = node.ready()
    node.prove()
    results = {one.strand: one for one in _record(node, node.ask().answer_id).strands.results}
    assert results[StrandId("capability")].evidence[0].startswith(f"query registry: {SLUG}@1 in entry ")
    assert results[StrandId("knowledge")].evidence[1:] == (f"{RULE}@1",)
    assert results[StrandId("proof")].evidence[0].startswith("proof sha256:")


def test_a_changed_rule_loses_its_knowledge_until_somebody_stands_by_it(node: Delivery) -> None:
    node = node.ready()
    node.rule(text="At least 12 %.")
    assert node.ask().body.authenticity_level is Level.SINGLE_SOURCE
    node.certify()
    done = node.ask()
    assert (done.body.authenticity_level, done.body.annotation.rules[0].version) == (Level.PARTIAL, 2)


def test_a_proof_that_is_too_old_proves_nothing(node: Delivery) -> None:
    node = node.ready()
    node.prove(minutes=2)
    late = 60 * 24 * 91
    assert node.ask().body.authenticity_level is Level.AUTHENTIC
    sessionless = node.desk.session("user:amira", minutes=late)
    assert node.ask(by=sessionless, minute=late).body.authenticity_level is Level.PARTIAL


@pytest.mark.clause("pramana", "9")
def test_query_and_delivery_are_turns_of_the_loop(node: Delivery) -> None:
    node = node.ready()
    shown = trace_answer(node.tools, TENANT, node.ask().answer_id)
    assert shown.trace is not None
    assert [one.stage for one in shown.trace.loops] == [Stage.QUERY, Stage.DELIVERY]
    assert shown.problems == ()
    assert f"rule {RULE}@1" in shown.trace.loops[0].record
    with refused("flow.not_found"):
        trace_answer(node.tools, TENANT, "ans_none")


def test_a_rule_can_be_asked_for_word_for_word(node: Delivery) -> None:
    node.rule()
    node.query("rule.text", answerer="rule", rules=[])
    done = node.ask({"rule_id": RULE}, "rule.text")
    assert done.body.output == {"rule_id": RULE, "version": 1, "content": TEXT}


@pytest.mark.parametrize(
    ("source", "question", "code"),
    [
        ("rule", {"rule_id": "NO-SUCH"}, "flow.not_found"),
        ("rule", {"rule_id": "no id"}, "delivery.question"),
        ("rule", {"rule": 1}, "delivery.question"),
        ("rule", "text", "delivery.question"),
        ("verdict", {}, "delivery.question"),
        ("verdict", {"telemetry_id": "NO-SUCH"}, "flow.not_found"),
        ("truth", {}, "delivery.question"),
        ("truth", {"truthkey": "NO-SUCH"}, "flow.not_found"),
        ("map", {}, "delivery.question"),
        ("map", {"claim_type": "NO-SUCH"}, "flow.not_found"),
    ],
)
def test_a_question_that_cannot_be_answered_is_its_askers_and_on_record(
    node: Delivery, source: str, question: object, code: str
) -> None:
    """It is no failure of the node: whoever asks amiss cannot have its switch thrown."""
    with refused(code):
        node.ask(question, source)
    assert node.desk.entries(EntryKind.QUERY_FAILED)[-1]["code"] == code


def test_an_answerer_refuses_a_question_in_its_own_words(node: Delivery) -> None:
    def picky(question: Question) -> str:
        raise InvalidQuestionError(f"expected a ship, got {question.question}")

    with pytest.raises(InvalidQuestionError, match="expected a ship"):
        node.ready(picky).ask({"boat": "Ada"})


@pytest.mark.parametrize("slug", ["", "x" * 501, "a\x00b"])
def test_a_kind_of_question_has_a_name_that_can_be_recorded(node: Delivery, slug: str) -> None:
    with refused("delivery.question"):
        node.ask(slug=slug)
    assert node.desk.entries(EntryKind.QUERY_FAILED) == []
