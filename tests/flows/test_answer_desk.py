"""What follows an answer on the desk: a vote recompiles its key, and a compilation that fails takes no vote back."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assay.flows.review.answer_desk import DeskAnswer, answer_desk
from assay.flows.review.open_review import open_review
from assay.kernel.ids import PrincipalId
from assay.kernel.ledger import EntryKind
from assay.review.draft import Reply
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket, TicketDraft
from assay.truth.status import TruthStatus
from tests.acting import caller_of
from tests.flows._node import TENANT
from tests.flows._truth import TruthDesk, critical_flood, in_force, opened_truth


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TruthDesk]:
    """A critical flood that waits for people since 12:40."""
    with opened_truth(tmp_path, contract=critical_flood()) as one:
        one.people()
        for name in ("user:ann", "user:ben", "user:cem"):
            one.observe(name, claim_type="earth.flood.v2")
        one.score(local_vision=0.95)
        one.compile("12:40")
        yield one


def _answer(desk: TruthDesk, ticket: Ticket, name: str, choice: str, at: str) -> DeskAnswer:
    reply = Reply(choice=choice, seen=ticket.shown_hash, reason="seen", body="{}")
    return answer_desk(desk.tools, caller_of(desk.tools, desk.signed_in(name, at), at=desk.now(at)), ticket.id, reply)


@pytest.mark.clause("kaori", "13")
def test_an_answer_to_a_validation_ticket_is_counted_at_once(desk: TruthDesk) -> None:
    """Whichever way it came: the plain desk compiles the key as a vote by its key does."""
    ticket = desk.validation("12:45")
    first = _answer(desk, ticket, "user:eve", "ratify", "12:50").recount
    assert first is not None
    assert first.compiled is not None
    assert (first.truthkey, first.compiled.version) == (desk.truthkey, 2)
    final = in_force(desk.vote("user:gus", at="12:55"))
    assert (final.state.status, final.version) == (TruthStatus.VERIFIED_TRUE, 3)
    assert len(final.state.compile_inputs.vote_hashes) == 2


def test_a_vote_whose_key_cannot_be_compiled_is_recorded_and_said_to_be(desk: TruthDesk) -> None:
    """A node that cannot sign truth can still take a vote; whoever compiles next counts it."""
    ticket, whole = desk.validation("12:45"), desk.tools
    desk.tools = replace(whole, truth_signer=None)
    done = desk.vote("user:eve", at="12:50")
    assert (done.state, done.code) == (None, "key.no_truth_key")
    assert done.problem is not None
    other = _answer(desk, ticket, "user:gus", "ratify", "12:51")
    assert other.recount is not None
    assert (other.recount.compiled, other.recount.code) == (None, "key.no_truth_key")
    votes = desk.entries(EntryKind.VOTE_CAST)
    assert [one["record"]["voter_id"] for one in votes] == ["user:eve", "user:gus"]
    desk.tools = whole
    assert desk.compile("12:52").state.status is TruthStatus.VERIFIED_TRUE


def test_an_answer_of_another_kind_compiles_nothing(desk: TruthDesk) -> None:
    draft = TicketDraft(
        kind=TicketKind.APPROVAL,
        title="delete 40 records",
        shown="40 records",
        eligible_roles=("reviewer",),
        opened_by=PrincipalId("user:op"),
        about=desk.truthkey,
    )
    ticket, _ = open_review(desk.tools, TENANT, draft, at=desk.now("12:45"))
    assert _answer(desk, ticket, "user:eve", "approve", "12:50").recount is None
    assert desk.compile("12:55").version == 1
