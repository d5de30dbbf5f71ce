"""A knowledge graph comes into use reviewed, signed and no older than the one before; every version stays."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.flows.errors.verdicts import InvalidGraphError
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.kernel.digest import EMPTY_DIGEST, digest_of
from assay.kernel.key import TrustAnchors
from assay.kernel.ledger import EntryKind
from assay.verdicts.envelope import Verdict
from assay.verdicts.graph.graph import NoticeCode
from assay.verdicts.graph.open import SovereigntyMode, sign_graph
from assay.verdicts.graph.upgrade_document import upgrade_document
from tests.contract._kit import refused
from tests.flows._node import TENANT, damage
from tests.flows._verdicts import (
    GRAPH_KEY,
    HonestModel,
    KeyInHand,
    VerdictDesk,
    graph_document,
    opened_verdicts,
    rule,
)
from tests.verdict_calls import graph_history, graph_impact, load_graph, release_graph, review_graph

_STRANGER = KeyInHand(Ed25519PrivateKey.from_private_bytes(b"S" * 32))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[VerdictDesk]:
    with opened_verdicts(tmp_path) as opened:
        yield opened


def _signed(document: bytes, key: KeyInHand = GRAPH_KEY) -> bytes:
    return sign_graph(document, key.public_key, key.sign)


@pytest.mark.clause("ski", "2.1.2")
@pytest.mark.clause("ski", "3.5")
def test_a_graph_is_reviewed_signed_and_loaded(desk: VerdictDesk) -> None:
    document = graph_document(rule("limit"))
    asked = desk.review(document)
    (review,) = desk.read(lambda unit: unit.graphs.reviews(TENANT, asked.content_hash))
    assert (review.by, review.choice, review.note) == ("user:rita", "accept", "read")
    entry = desk.read(lambda unit: unit.ledger.find_entry(TENANT, review.sequence_number))
    assert entry is not None
    assert entry.kind == EntryKind.TICKET_ANSWERED
    released = release_graph(desk.tools, asked.content_hash, GRAPH_KEY, credential=desk.operator, at=desk.at(minutes=2))
    loaded = desk.load(released.document)
    assert loaded.activation.kg_version_hash == asked.content_hash
    (body,) = desk.entries(EntryKind.GRAPH_ACTIVATED)
    assert (body["reviewed_by"], body["signed_by"], body["mode"]) == (["user:rita"], GRAPH_KEY.key_id, "strict")


@pytest.mark.clause("ski", "2.1.2")
def test_an_unreviewed_or_rejected_graph_is_neither_signed_nor_loaded(desk: VerdictDesk) -> None:
    document = graph_document(rule("limit"))
    asked = review_graph(desk.tools, document, credential=desk.operator, at=desk.start)
    with refused("graph.unreviewed"):
        release_graph(desk.tools, asked.content_hash, GRAPH_KEY, credential=desk.operator, at=desk.at(minutes=2))
    with refused("graph.unreviewed"):
        desk.load(_signed(document))
    other = graph_document(rule("limit", value=34))
    rejected = desk.review(other, "reject")
    with refused("graph.unreviewed"):
        release_graph(desk.tools, rejected.content_hash, GRAPH_KEY, credential=desk.operator, at=desk.at(minutes=2))
    with refused("flow.not_found"):
        release_graph(desk.tools, digest_of(b"x"), GRAPH_KEY, credential=desk.operator, at=desk.at(minutes=2))
    desk.settings(require_review=False)
    assert desk.load(_signed(document)).activation.reviewers == 0


def test_whoever_hands_a_graph_in_does_not_review_it(desk: VerdictDesk) -> None:
    key = desk.join("user:both", "operator", "reviewer")
    asked = review_graph(desk.tools, graph_document(rule("limit")), credential=key, at=desk.start)
    with refused("review.own_request"):
        desk.answer(asked.ticket, desk.session("user:both"), "accept")


def test_a_reviewer_sees_what_changed(desk: VerdictDesk) -> None:
    desk.judge_by(rule("limit"))
    later = graph_document(rule("limit", value=30), rule("new"), compiled_at="2026-02-01T00:00:00Z")
    shown = review_graph(desk.tools, later, credential=desk.operator, at=desk.start).ticket.shown
    assert "so2 must not exceed 35 became so2 must not exceed 30 (stricter)." in shown
    assert 'Rule "The new rule" (new) was added; it applies to' in shown
    assert shown.splitlines()[-1].startswith("content hash: sha256:")


@pytest.mark.clause("ski", "3.5")
@pytest.mark.clause("ski", "2.1.2")
def test_strict_mode_loads_only_what_an_anchor_signed(desk: VerdictDesk) -> None:
    document = graph_document(rule("limit"))
    desk.review(document)
    with refused("graph.unsigned"):
        desk.load(document)
    with refused("graph.unknown_key"):
        desk.load(_signed(document, _STRANGER))
    altered = _signed(document).replace(b"35", b"36", 1)
    with refused("graph.altered"):
        desk.load(altered)
    desk.use(anchors=TrustAnchors())
    with refused("graph.unknown_key"):
        desk.load(_signed(document))
    assert desk.read(lambda unit: unit.graphs.find_active(TENANT)) is None


@pytest.mark.clause("ski", "3.5")
def test_advisory_mode_loads_an_unsigned_graph_says_so_and_records_the_empty_hash(desk: VerdictDesk) -> None:
    document = graph_document(rule("limit"))
    desk.settings(mode=SovereigntyMode.ADVISORY)
    loaded = desk.load(document)
    assert loaded.activation.kg_version_hash == EMPTY_DIGEST
    assert NoticeCode.UNSIGNED in {notice.code for notice in loaded.notices}
    desk.thinks(HonestModel(document))
    (one,) = desk.decide({"so2": 40}).verdicts
    assert one.envelope is not None
    assert one.envelope.model_provenance.kg_version_hash == EMPTY_DIGEST
    assert f"graph.unsigned: content {loaded.activation.content_hash}" in one.envelope.notes
    with refused("graph.altered"):
        desk.load(_signed(document).replace(b"35", b"36", 1))


def test_a_graph_loaded_in_advisory_mode_is_not_used_in_strict_mode(desk: VerdictDesk) -> None:
    document = graph_document(rule("limit"))
    desk.settings(mode=SovereigntyMode.ADVISORY)
    desk.load(document)
    desk.settings(mode=SovereigntyMode.STRICT)
    desk.use(graphs=type(desk.tools.graphs)())
    desk.thinks(HonestModel(document))
    with refused("graph.unsigned"):
        desk.decide({"so2": 40})


def test_a_downgrade_is_refused_unless_a_person_chooses_it(desk: VerdictDesk) -> None:
    old = desk.release(graph_document(rule("limit"), compiled_at="2026-01-01T00:00:00Z")).document
    new = desk.release(graph_document(rule("limit", value=30), compiled_at="2026-02-01T00:00:00Z")).document
    desk.load(new)
    with refused("graph.downgraded"):
        desk.load(old)
    with refused("graph.downgraded"):
        desk.load(old, downgrade_reason="  ")
    machine = desk.join("service:deployer", "operator", kind=_service())
    with refused("graph.downgraded"):
        load_graph(desk.tools, old, credential=machine, at=desk.at(minutes=3), downgrade_reason="rollback")
    back = desk.load(old, downgrade_reason="the new limits came too early")
    assert back.activation.downgrade_reason == "the new limits came too early"
    assert desk.entries(EntryKind.GRAPH_ACTIVATED)[-1]["downgrade_reason"] == "the new limits came too early"


@pytest.mark.clause("ski", "3.5")
@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("DELETE FROM graph_activation WHERE sequence_number = (SELECT max(sequence_number) FROM graph_activation)",
         "ledger.row_missing"),
        ("DELETE FROM graph_activation", "ledger.row_missing"),
        ("UPDATE graph_activation SET document_hash = (SELECT document_hash FROM graph_activation LIMIT 1)",
         "ledger.row_differs"),
    ],
)  # fmt: skip
def test_no_row_brings_an_older_graph_back(tmp_path: Path, change: str, code: str) -> None:
    """Its signature is still valid, and only a person's own choice goes back: the ledger knows which one is in use."""
    with opened_verdicts(tmp_path) as desk:
        desk.judge_by(rule("limit"), compiled_at="2026-01-01T00:00:00Z")
        desk.judge_by(rule("limit", value=30), compiled_at="2026-02-01T00:00:00Z")
        assert desk.decide({"so2": 33}).overall.verdict is Verdict.FLAG
        sensor, model = desk.sensor, desk.model
    damage(tmp_path / "node", change)
    with opened_verdicts(tmp_path, is_new=False) as desk:
        assert model is not None
        desk.thinks(model)
        with refused("store.damaged_record"):
            desk.decide({"so2": 33}, name="t-2", credential=sensor)
        found = audit_ledger(desk.tools, TENANT, full=True)
    assert (found.holds, found.code) == (False, code)


@pytest.mark.clause("ski", "2.1.2")
@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("DELETE FROM graph_version WHERE sequence_number = (SELECT max(sequence_number) FROM graph_version)",
         "ledger.row_missing"),
        ("UPDATE graph_version SET document = replace(document, '90', '91')", "ledger.row_differs"),
        ("UPDATE graph_version SET made_by = 'user:nobody'", "ledger.row_differs"),
    ],
)  # fmt: skip
def test_an_audit_reports_every_change_of_a_graph(tmp_path: Path, change: str, code: str) -> None:
    """Of who handed it in, and of its bytes, which are hashed again."""
    with opened_verdicts(tmp_path) as desk:
        desk.review(graph_document(rule("limit")))
        desk.review(graph_document(rule("limit", value=90)), "reject")
        assert audit_ledger(desk.tools, TENANT, full=True).holds
    damage(tmp_path / "node", change)
    with opened_verdicts(tmp_path, is_new=False) as desk:
        found = audit_ledger(desk.tools, TENANT, full=True)
    assert (found.holds, found.code) == (False, code)


@pytest.mark.clause("ski", "2.1.2")
def test_a_review_is_what_its_entry_says(tmp_path: Path) -> None:
    """A no that was changed in a table would let a graph be loaded that people refused; one in the ledger is damage."""
    with opened_verdicts(tmp_path) as desk:
        refused_graph = desk.review(graph_document(rule("limit")), "reject").content_hash
        before = desk.read(lambda unit: unit.graphs.reviews(TENANT, refused_graph))
        assert [one.choice for one in before] == ["reject"]
    said = 'replace(CAST({} AS TEXT), \'"choice":"reject"\', \'"choice":"accept"\')'
    damage(tmp_path / "node", f"UPDATE answer SET record = {said.format('record')}")
    with opened_verdicts(tmp_path, is_new=False) as desk:
        assert desk.read(lambda unit: unit.graphs.reviews(TENANT, refused_graph)) == before
    damage(
        tmp_path / "node",
        f"UPDATE ledger SET text = CAST({said.format('text')} AS BLOB) WHERE kind = 'ticket.answered'",
    )
    with opened_verdicts(tmp_path, is_new=False) as desk, refused("store.damaged_record"):
        desk.read(lambda unit: unit.graphs.reviews(TENANT, refused_graph))


def _service() -> Any:  # noqa: ANN401 - a kind of principal
    from assay.identity.principal import PrincipalKind

    return PrincipalKind.SERVICE


def test_only_an_operator_loads_and_a_defective_graph_is_refused(desk: VerdictDesk) -> None:
    document = graph_document(rule("limit"))
    with refused("identity.role"):
        load_graph(desk.tools, document, credential=desk.sensor, at=desk.start)
    broken = json.loads(document)
    broken["edges"].append({"type": "applies_to", "from": "limit", "to": "nowhere"})
    with pytest.raises(InvalidGraphError) as caught:
        review_graph(desk.tools, json.dumps(broken).encode(), credential=desk.operator, at=desk.start)
    assert caught.value.issues
    with refused("graph.invalid"):
        desk.load(_signed(json.dumps(broken).encode()))


@pytest.mark.clause("ski", "8.1")
def test_every_past_version_is_fetched_by_its_hash(desk: VerdictDesk) -> None:
    documents = [graph_document(rule("limit", value=n), compiled_at=f"2026-0{n}-01T00:00:00Z") for n in (1, 2, 3)]
    signed = [desk.release(one).document for one in documents]
    for one in signed:
        desk.load(one)
    for one in (*documents, *signed):
        found = desk.read(lambda unit, one=one: unit.graphs.find_version(TENANT, digest_of(one)))  # type: ignore[misc]  # bound at once
        assert found is not None
        assert found.document.encode() == one
    assert [one.document_hash for one in desk.read(lambda unit: unit.graphs.activations(TENANT))] == [
        digest_of(one) for one in signed
    ]


def test_loading_the_graph_in_use_again_changes_nothing(desk: VerdictDesk) -> None:
    signed = desk.release(graph_document(rule("limit"))).document
    first, head = desk.load(signed), desk.head()
    assert (desk.load(signed).activation, desk.head()) == (first.activation, head)


def test_a_new_graph_judges_from_its_activation_on(desk: VerdictDesk) -> None:
    desk.judge_by(rule("limit"))
    assert desk.decide({"so2": 33}).overall.verdict is Verdict.CLEAR
    desk.judge_by(rule("limit", value=30), compiled_at="2026-02-01T00:00:00Z")
    assert desk.decide({"so2": 33}, name="t-2").overall.verdict is Verdict.FLAG
    assert desk.decide({"so2": 33}).overall.verdict is Verdict.CLEAR


def test_the_impact_of_a_graph_is_told_before_it_is_loaded(desk: VerdictDesk) -> None:
    """Rules that change, come and go; nothing is recorded."""
    desk.judge_by(rule("limit"), rule("gone", value=100))
    for n in range(4):
        desk.decide({"so2": 20 + 5 * n}, name=f"t-{n}")
    head = desk.head()
    candidate = graph_document(rule("limit", value=28), rule("new", value=1))
    impact = graph_impact(desk.tools, candidate, credential=desk.operator, at=desk.at(minutes=7))
    assert (impact.records, impact.moves) == (
        4,
        {"CLEAR -> FLAG": 2, "CLEAR -> none": 4, "none -> FLAG": 4},
    )
    assert [one.telemetry_id for one in impact.changes if one.rule_id == "limit"] == ["t-2", "t-3"]
    assert [(one.rule_id, one.changed) for one in impact.rules] == [("gone", 4), ("new", 4), ("limit", 2)]
    assert impact.rules[2].moves == {"CLEAR -> FLAG": 2}
    examples = {one.rule_id: [each.telemetry_id for each in one.examples] for one in impact.rules}
    assert examples == {"gone": ["t-0", "t-1", "t-2"], "new": ["t-0", "t-1", "t-2"], "limit": ["t-2", "t-3"]}
    assert [(one.subject, one.changed) for one in impact.subjects] == [("stack", 10)]
    assert desk.head() == head
    few = graph_impact(desk.tools, candidate, credential=desk.operator, at=desk.at(minutes=7), limit=1)
    assert (few.changed, few.changes, len(few.rules), len(few.subjects)) == (10, impact.changes[:1], 1, 1)
    with refused("identity.role"):
        graph_impact(desk.tools, candidate, credential=desk.sensor, at=desk.at(minutes=7))


def test_the_impact_is_the_same_however_few_records_are_read_at_a_time(
    desk: VerdictDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.judge_by(rule("limit"), rule("other", subject="kiln"))
    for n, (subject, so2) in enumerate([("stack", 30), ("kiln", 50), ("nowhere", 1), ("kiln", None), ("stack", 40)]):
        desk.decide({"so2": so2}, name=f"t-{n}", subject=subject)
    candidate = graph_document(rule("limit", value=35, subject="kiln"), rule("found", subject="nowhere"))
    at_once = graph_impact(desk.tools, candidate, credential=desk.operator, at=desk.at(minutes=7))
    assert at_once.records == 5
    assert at_once.moves == {
        "CLEAR -> none": 1,
        "DISCRETIONARY -> none": 1,
        "FLAG -> none": 2,
        "NULL_UNMAPPED -> none": 1,
        "none -> CLEAR": 1,
        "none -> DISCRETIONARY": 1,
        "none -> FLAG": 1,
        "none -> NULL_UNMAPPED": 2,
    }
    monkeypatch.setattr("assay.flows.verdicts.graph_impact._FEWEST", 1)
    monkeypatch.setattr("assay.flows.verdicts.graph_impact._MOST", 1)
    assert graph_impact(desk.tools, candidate, credential=desk.operator, at=desk.at(minutes=7)) == at_once


def test_the_windows_of_a_candidate_look_back_at_the_past(desk: VerdictDesk) -> None:
    """By the records' own time, whatever the order in which they came."""
    desk.judge_by(rule("limit"))
    for name, so2, second in (("c", 10, 50), ("a", 40, 0), ("b", 10, 30)):
        desk.decide({"so2": so2}, name=name, at=desk.at(minutes=5, seconds=second))
    candidate = graph_document(rule("average", kind="must_average_within", value=[0, 24], window_seconds=60))
    impact = graph_impact(desk.tools, candidate, credential=desk.operator, at=desk.at(minutes=7))
    found = {one.telemetry_id: one.after for one in impact.changes if one.rule_id == "average"}
    assert found == {"a": Verdict.FLAG, "b": Verdict.FLAG, "c": Verdict.CLEAR}


@pytest.mark.clause("ski", "2.1.2")
def test_the_history_names_who_reviewed_and_what_changed(desk: VerdictDesk) -> None:
    """Everything in the ledger's order: handed in, accepted, signed, put into use, in words."""
    desk.judge_by(rule("limit"))
    desk.judge_by(rule("limit", value=30), compiled_at="2026-02-01T00:00:00Z")
    rejected = graph_document(rule("limit", value=99), compiled_at="2026-03-01T00:00:00Z")
    desk.review(rejected, "reject")
    found = graph_history(desk.tools, TENANT)
    kinds = [one.kind.value for one in found]
    assert [kind for kind in kinds if kind != "added"] == ["accepted", "activated", "accepted", "activated", "rejected"]
    assert [one.sequence_number for one in found] == sorted(one.sequence_number for one in found)
    first, second = [one for one in found if one.kind.value == "activated"]
    assert (first.reviewers, first.changes, first.name) == (("user:rita",), (), "test")
    assert second.by == "user:olga"
    assert any("so2 must not exceed 35 became so2 must not exceed 30 (stricter)." in one for one in second.changes)
    assert [(one.by, one.note) for one in found if one.kind.value == "rejected"] == [("user:rita", "read")]


@pytest.mark.clause("ski", "11.2")
def test_a_graph_of_another_implementation_comes_into_use_by_an_upgrade_and_a_review(desk: VerdictDesk) -> None:
    """Refused as it came; after one upgrade people read it, an anchor signs it, and strict mode judges by it."""
    came = json.loads(graph_document(rule("limit")))
    came["edges"] = [edge for edge in came["edges"] if edge["type"] != "cited_by"]
    for node in (node for array in came["nodes"].values() for node in array):
        node["version"] = "3.1.4"
    with refused("graph.invalid"):
        desk.review(json.dumps(came).encode())
    upgraded = upgrade_document(json.dumps(came).encode())
    assert upgraded.is_valid
    document = json.dumps(upgraded.document).encode()
    with refused("graph.draft"):
        desk.load(sign_graph(document, GRAPH_KEY.public_key, GRAPH_KEY.sign))
    desk.load(desk.release(document).document)
    desk.thinks(HonestModel(document))
    assert desk.decide({"so2": 40}).overall.verdict is Verdict.FLAG
