"""The desk from Python: what waits, who works on it, what was said, and the entries that tell it."""

from datetime import timedelta

import pytest

from assay.flows.review.keep_draft import DraftedReply
from assay.identity.errors import RoleMissingError
from assay.node.facade import Node
from assay.review.errors import LeasedError
from assay.review.kind import TicketKind
from assay.review.queue import QueueFilter
from tests.flows._verdicts import graph_document, rule
from tests.node._home import Home


def test_a_ticket_is_worked_on_from_python_and_its_timeline_is_in_the_ledger(home: Home, node: Node) -> None:
    """Each method is one journey; the steps come back as entries with their hashes."""
    olga, rita, sam = (home.keys[name] for name in ("olga", "rita", "sam"))
    asked = node.review_graph(graph_document(rule("DESK"), name="desk"), credential=olga).ticket
    node.claim_ticket(asked.id, span=timedelta(minutes=5), credential=sam)
    with pytest.raises(LeasedError):
        node.claim_ticket(asked.id, credential=rita)
    node.assign_ticket(asked.id, role="reviewer", credential=rita)
    node.prioritise_ticket(asked.id, "urgent", credential=sam)
    node.comment_ticket(asked.id, "I know this one", credential=sam)
    node.keep_draft(asked.id, DraftedReply(choice="accept"), credential=sam)
    first = node.queue(credential=sam).tickets[0]
    assert (first.ticket.id, first.placement.role, len(first.leases)) == (asked.id, "reviewer", 1)
    seen = node.desk_ticket(asked.id, credential=sam)
    assert ([one.text for one in seen.comments], seen.draft is not None) == (["I know this one"], True)
    node.release_ticket(asked.id, holder="user:sam", credential=sam)
    plan = node.plan_answers(QueueFilter(kind=TicketKind.KNOWLEDGE_REVIEW), "accept", credential=rita)
    assert {line.code for line in plan.lines} == {"review.not_bulk"}
    told = node.answer_tickets({asked.id: asked.shown_hash}, "accept", credential=rita)
    assert [line.code for line in told.lines] == ["review.not_bulk"]
    node.answer_ticket(asked.id, "accept", seen=asked.shown_hash, credential=rita)
    steps = node.timeline(asked.id)
    kinds = [one.kind.removeprefix("ticket.") for one in steps]
    assert kinds == ["opened", "claimed", "assigned", "prioritised", "commented", "released", "answered", "settled"]
    entry = node.entries(first=steps[-1].sequence_number, limit=1)[0]
    assert entry.entry_hash == steps[-1].entry_hash
    assert node.keep_view("mine", QueueFilter(about="graph:"), credential=rita) in node.views(credential=rita)
    assert "user:rita" in [one.by for one in node.progress()]


def test_an_operator_asks_and_people_answer_what_each_may_see(home: Home, node: Node) -> None:
    """Where two must agree, who is still to answer sees nobody's answer, from Python too."""
    olga, rita, sam = (home.keys[name] for name in ("olga", "rita", "sam"))
    with pytest.raises(RoleMissingError):
        node.open_ticket("sail", "tonight", eligible_roles=["reviewer"], credential=rita)
    asked = node.open_ticket("sail", {"tide": "low"}, eligible_roles=["reviewer"], quorum=2, credential=olga)
    assert asked.shown == '{"tide":"low"}'
    node.answer_ticket(asked.id, "approve", seen=asked.shown_hash, credential=rita)
    assert node.ticket(asked.id, credential=sam).answers == ()
    assert len(node.ticket(asked.id, credential=rita).answers) == 1
    (line,) = [one for one in node.tickets(credential=sam) if one.ticket.id == asked.id]
    assert line.settlement.counted == ()
    node.keep_draft(asked.id, DraftedReply(choice="approve"), credential=sam)
    node.drop_draft(asked.id, credential=sam)
    assert node.desk_ticket(asked.id, credential=sam).draft is None
    node.keep_view("mine", QueueFilter(), credential=sam)
    node.drop_view("mine", credential=sam)
    assert node.views(credential=sam) == ()
    assert node.settle_tickets().stuck == ()
