"""One rule registry for all rooms: graphs and contracts project into it, and only people stand by a version."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.delivery.level import Level
from assay.flows.delivery.answer_record import get_record
from assay.flows.delivery.project_rules import GRAPH_DOMAIN
from assay.identity.principal import PrincipalChange
from assay.kernel.ids import PrincipalId
from tests.acting import amend_principal
from tests.contract._kit import refused
from tests.delivering import (
    ask_certification,
    deliver_answer,
    grant_reporter,
    list_rules,
    measure_proof,
    register_query,
    register_rule,
    show_rule,
)
from tests.flows._delivery import CODE, RULE, TEXT, Delivery, opened_delivery
from tests.flows._people import ADMIN, TENANT, Desk, LostError
from tests.flows._questions import questions_of
from tests.flows._truth import opened_truth
from tests.flows._verdicts import opened_verdicts
from tests.flows._verdicts import rule as graph_rule


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Delivery]:
    with opened_delivery(tmp_path) as delivery:
        yield delivery


@pytest.mark.clause("pramana", "14.3")
def test_the_same_text_adds_nothing_and_another_is_the_next_version(node: Delivery) -> None:
    node.rule()
    node.rule()
    node.rule(text="At least 12 %.")
    shown = show_rule(node.tools, TENANT, RULE)
    assert [one.version for one in shown.versions] == [1, 2]
    assert (shown.content, shown.is_certified) == ("At least 12 %.", False)


def test_a_longer_list_of_rules_asks_the_database_no_more_questions(
    node: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each version and certification is held against its entry, and the entries are read at once."""

    def questions() -> int:
        list_rules(node.tools, TENANT)
        return questions_of(monkeypatch, lambda: list_rules(node.tools, TENANT))

    node.rule("MAR-1")
    node.certify("MAR-1")
    one = questions()
    for number in range(2, 6):
        node.rule(f"MAR-{number}")
    node.certify("MAR-2")
    assert questions() == one
    certified = {line.rule_id for line in list_rules(node.tools, TENANT) if line.is_certified}
    assert {"MAR-1", "MAR-2"} <= certified


@pytest.mark.clause("pramana", "14.3")
def test_only_an_operator_records_rules_and_kinds_of_question(node: Delivery) -> None:
    at = node.desk.start
    for by, code in (
        (node.rita, "delivery.rule_author"),
        (node.bell, "delivery.rule_author"),
        ("x", "identity.not_signed_in"),
    ):
        with refused(code):
            register_rule(node.tools, RULE, TEXT, domains=[], credential=by, at=at)
    with refused("identity.role"):
        register_query(
            node.tools, "a", description="a", domain="a", expected_level=Level.PARTIAL, answerer="a",
            credential=node.rita, at=at,
        )  # fmt: skip
    with refused("delivery.unknown_rule"):
        node.query()
    with refused("flow.not_found"):
        grant_reporter(node.tools, PrincipalId("service:none"), ["A"], credential=node.olga, at=at)


@pytest.mark.clause("pramana", "14.3")
def test_a_person_other_than_the_author_certifies_what_they_saw(node: Delivery) -> None:
    node.rule()
    first = ask_certification(node.tools, TENANT, RULE, at=node.desk.start)
    assert ask_certification(node.tools, TENANT, RULE, at=node.desk.start).id == first.id
    for by, code in (
        (node.amira, "review.not_eligible"),
        (node.olga, "review.own_request"),
        (node.bell, "identity.session_required"),
    ):
        with refused(code):
            node.certify(by=by)
    node.certify()
    assert show_rule(node.tools, TENANT, RULE).certifications[0].certified_by == "user:rita"


def test_a_version_that_is_in_force_no_more_is_not_certified(node: Delivery) -> None:
    """The ticket showed the first version; meanwhile there is a second."""
    node.rule()
    ticket = ask_certification(node.tools, TENANT, RULE, at=node.desk.start)
    node.rule(text="At least 12 %.")
    with refused("delivery.certification"):
        node.accept(ticket, choice="certify", by=node.rita, minute=1)
    assert not show_rule(node.tools, TENANT, RULE).is_certified


@pytest.mark.clause("pramana", "6.3")
def test_the_proof_counts_certified_rules_of_the_registry_in_code(node: Delivery) -> None:
    node.rule()
    assert not measure_proof(node.tools, TENANT, CODE, by=ADMIN, at=node.desk.at(minutes=1)).passing
    node.certify()
    assert measure_proof(node.tools, TENANT, CODE, by=ADMIN, at=node.desk.at(minutes=2)).coverage_pct == 100
    assert not measure_proof(node.tools, TENANT, {}, by=ADMIN, at=node.desk.at(minutes=3)).passing


def _asker(desk: Desk, credential: str, name: str) -> str:
    """Whoever holds that key may ask questions from now on."""
    change = PrincipalChange(trust_mask=2, action_tier=1)
    amend_principal(desk.tools, TENANT, PrincipalId(name), change, by=ADMIN, at=desk.start)
    return credential


def test_a_graph_that_comes_into_use_brings_its_rules(tmp_path: Path) -> None:
    """Accepted by people they are certified; unchanged they keep their version, gone they say nothing any more."""
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(graph_rule("SO2"), graph_rule("odd id!", metric="nox"))
        first = {one.rule_id: one for one in list_rules(desk.tools, TENANT)}
        assert {one.source for one in first.values()} == {"graph"}
        assert first["SO2"].is_certified
        assert len([name for name in first if name.startswith("graph.")]) == 1
        desk.judge_by(graph_rule("SO2"), graph_rule("CO", metric="co"), compiled_at="2026-02-01T00:00:00Z")
        second = {one.rule_id: one for one in list_rules(desk.tools, TENANT)}
        assert (second["SO2"].version, second["CO"].version) == (1, 1)
        [gone] = [one for name, one in second.items() if name.startswith("graph.")]
        assert (gone.version, gone.domains, gone.is_certified) == (2, (), False)


def test_a_recorded_verdict_is_an_answer_by_its_rules(tmp_path: Path) -> None:
    """Its knowledge is the signed graph; where the verifier agrees, the assertion is a correct step."""
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(graph_rule("SO2"))
        desk.decide({"so2": 40})
        register_query(
            desk.tools, "stack.verdict", description="is it clean", domain=GRAPH_DOMAIN, answerer="verdict",
            expected_level=Level.PARTIAL, credential=desk.operator, at=desk.start,
        )  # fmt: skip
        by = _asker(desk, desk.sensor, "service:sensor")
        done = deliver_answer(
            desk.tools, "stack.verdict", {"telemetry_id": "t-1"}, credential=by, at=desk.at(minutes=7)
        )
        assert done.body.output["verdicts"][0]["verdict"] == "FLAG"
        assert done.body.authenticity_level is Level.PARTIAL
        assert [ref.rule_id for ref in done.body.annotation.rules] == ["SO2"]
        record = desk.read(lambda unit: get_record(unit, TENANT, done.answer_id))
        assert [(one.kind, one.verdict) for one in record.steps] == [("assertion", "correct"), ("rule", "unknown")]


def test_a_truth_state_is_an_answer_by_its_contract(tmp_path: Path) -> None:
    """One report alone is weak evidence: the answer is made, marked and kept, and not given out."""
    with opened_truth(tmp_path) as desk:
        desk.people()
        desk.observe("user:ben")
        desk.compile()
        register_query(
            desk.tools, "flood.state", description="is it flooded", domain="earth", answerer="truth",
            expected_level=Level.SINGLE_SOURCE, credential=desk.operator, at=desk.now("12:00"),
        )  # fmt: skip
        by = _asker(desk, desk.relay, "service:gateway")
        done = deliver_answer(
            desk.tools, "flood.state", {"truthkey": desk.truthkey}, credential=by, at=desk.now("12:45")
        )
        assert [ref.rule_id for ref in done.body.annotation.rules] == ["earth.flood.v1"]
        assert done.body.annotation.computed_level is Level.SINGLE_SOURCE
        record = desk.read(lambda unit: get_record(unit, TENANT, done.answer_id))
        assert record.output["state"]["claim_type"] == "earth.flood.v1"


def test_a_released_contract_is_a_rule_of_its_domain(tmp_path: Path) -> None:
    with opened_truth(tmp_path) as desk:
        rules = list_rules(desk.tools, TENANT)
        assert [(one.rule_id, one.source, one.is_certified) for one in rules] == [("earth.flood.v1", "contract", False)]
        assert rules[0].domains == ("earth",)


def test_a_graph_and_its_rules_come_in_one_commit(tmp_path: Path) -> None:
    with opened_delivery(tmp_path) as node:
        broken = node.desk.failing()
        with pytest.raises(LostError):
            register_rule(broken.tools, RULE, TEXT, domains=[], credential=node.olga, at=node.desk.start)
        assert list_rules(node.tools, TENANT) == ()
