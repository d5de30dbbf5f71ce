"""Fewer questions for people: the same claims are asked about once, and a reviewer may answer with an edit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.claims.bundle import Decision
from assay.identity.risk import RiskTier
from assay.kernel.instant import render_instant
from assay.kernel.ledger import EntryKind
from tests.contract._kit import refused
from tests.flows._claims import AGENT, ClaimsDesk, copied_claims, opened_claims


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("claims")
    with opened_claims(folder):
        return folder


@pytest.fixture
def desk(template: Path, tmp_path: Path) -> Iterator[ClaimsDesk]:
    with opened_claims(copied_claims(template, tmp_path)) as opened:
        yield opened


def _later(desk: ClaimsDesk) -> str:
    return render_instant(desk.at(seconds=20))


def test_the_same_claims_under_the_same_id_join_the_open_ticket(desk: ClaimsDesk) -> None:
    """Another timestamp is no other question: the answer is that of the bundle that waits, and nothing is recorded."""
    first, (ticket,) = desk.waiting()
    entries = len(desk.entries(EntryKind.CLAIMS_RECEIVED))
    again = desk.gate(desk.document(desk.claim(RiskTier.DELETE), timestamp=_later(desk)))
    assert (again.bundle_hash, again.is_new) == (first.bundle_hash, False)
    assert [one.ticket_id for one in again.tickets] == [ticket.id]
    assert len(desk.entries(EntryKind.CLAIMS_RECEIVED)) == entries
    done = desk.decide(ticket, "user:otto").gated
    assert done is not None
    assert (done.decision, done.bundle_hash) == (Decision.PUBLISH, first.bundle_hash)
    # Once it is decided, the same once more is another act, and asked about again.
    anew = desk.gate(desk.document(desk.claim(RiskTier.DELETE), timestamp=_later(desk)), at=desk.at(minutes=9))
    assert anew.decision is Decision.ESCALATE
    assert anew.bundle_hash != first.bundle_hash


@pytest.mark.parametrize("other", ["claims", "id", "arguments", "thread", "approvals"])
def test_other_claims_arguments_or_people_do_not_join(desk: ClaimsDesk, other: str) -> None:
    first, _ = desk.waiting()
    changes: dict[str, object] = {"timestamp": _later(desk)}
    claim = desk.claim(RiskTier.DELETE, statement="Another." if other == "claims" else "The river is 30 m deep.")
    if other == "id":
        changes["id"] = "3f0c7d52-8f0e-4a38-9a53-0d8f3ad5c999"
    if other == "approvals":
        changes["required_approvals"] = ["user:oda"]
    arguments, thread = ("rm",) if other == "arguments" else (), "t" if other == "thread" else None
    again = desk.gate(desk.document(claim, **changes), tool_arguments=arguments, thread=thread)
    assert again.bundle_hash != first.bundle_hash
    assert again.tickets


def test_an_edit_becomes_a_bundle_that_is_gated_again_and_shown_as_a_diff(desk: ClaimsDesk) -> None:
    gated, (ticket,) = desk.waiting()
    edited = desk.claim(RiskTier.DELETE, statement="Delete the plan of week 40 only.")
    done = desk.decide(ticket, "user:otto", "reject", body={"claims": [edited]})
    regated = done.regated
    assert regated.edits == gated.bundle_hash
    assert [(one.field, one.claim_id) for one in regated.changes] == [("statement", "c-1")]
    assert regated.gated is not None
    assert regated.gated.decision is Decision.ESCALATE
    assert desk.shown(gated.bundle_hash).gated.decision is Decision.REFUSE
    assert desk.shown(gated.bundle_hash).successor == regated.bundle_hash
    view = desk.shown(regated.bundle_hash)
    assert (view.edited_by, view.changes, view.resumes) == ("user:otto", regated.changes, gated.bundle_hash)
    assert view.submitted_by == AGENT
    (asked,) = regated.gated.tickets
    second = desk.find(asked.ticket_id)
    assert '+ "Delete the plan of week 40 only."' in second.shown
    assert "edited by" in second.shown
    # Nobody approves their own words.
    with refused("claims.approver_refused"):
        desk.decide(second, "user:otto", at=desk.at(minutes=4))
    final = desk.decide(second, "user:oda", at=desk.at(minutes=5)).gated
    assert final is not None
    assert final.decision is Decision.PUBLISH


def test_an_edit_that_needs_nobody_is_published_by_the_gates(desk: ClaimsDesk) -> None:
    unsure = {"method": "semantic_entropy", "value": 0.9, "gate_recommendation": "EXECUTE"}
    gated = desk.gate(desk.document(desk.claim(uncertainty=unsure)))
    ticket = desk.find(gated.tickets[0].ticket_id)
    done = desk.decide(ticket, "user:rita", "reject", body={"claims": [desk.claim()]})
    assert done.gated is not None
    assert done.gated.decision is Decision.PUBLISH
    assert {one.field for one in done.regated.changes} == {"uncertainty"}


def test_an_edit_may_change_the_arguments_of_the_call(desk: ClaimsDesk) -> None:
    gated = desk.gate(desk.document(desk.claim(RiskTier.DELETE)), tool_arguments=('{"weeks": 52}',))
    ticket = desk.find(gated.tickets[0].ticket_id)
    body = {"claims": [desk.claim(RiskTier.DELETE)], "tool_arguments": ['{"weeks": 1}']}
    done = desk.decide(ticket, "user:otto", "reject", body=body)
    assert [one.field for one in done.regated.changes] == ["tool_arguments"]
    entry = desk.entries(EntryKind.CLAIMS_RECEIVED)[-1]
    assert entry["bundle_hash"] == done.regated.bundle_hash
    assert entry["context"]["tool_arguments"] == ['{"weeks": 1}']


@pytest.mark.parametrize(
    ("choice", "body"),
    [
        ("approve", {"claims": []}),
        ("reject", {"claims": []}),
        ("reject", {"claims": [{"id": "x"}]}),
        ("reject", {"note": "other"}),
        ("reject", {"claims": "same"}),
    ],
)
def test_an_edit_that_is_none_is_refused_with_the_answer(
    desk: ClaimsDesk, choice: str, body: dict[str, object]
) -> None:
    _, (ticket,) = desk.waiting()
    given = {"claims": [desk.claim(RiskTier.DELETE)]} if body == {"claims": "same"} else body
    with refused("claims.edit" if choice == "reject" else "review.body"):
        desk.decide(ticket, "user:otto", choice, body=given)
    assert desk.entries(EntryKind.TICKET_ANSWERED) == []
