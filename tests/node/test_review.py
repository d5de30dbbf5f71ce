"""The desk from Python: what waits, who works on it, what was said, and the entries that tell it."""

from datetime import timedelta

import pytest

from assay.flows.review.keep_draft import DraftedReply
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
