"""The desk from Python: what waits, who works on it, what was said, and the entries that tell it."""

from assay.flows.review.answer_bulk import Pick
from assay.identity.errors import IdentityError
from assay.node.facade import Node
from assay.review.errors import ReviewError
from assay.review.kind import TicketKind
from assay.review.queue import QueueFilter
from tests.flows._verdicts import graph_document, rule
from tests.node._home import Home
from tests.raising import raises


def test_a_ticket_is_worked_on_from_python_and_its_timeline_is_in_the_ledger(home: Home, node: Node) -> None:
    """Each method is one journey; the steps come back as entries with their hashes."""
    olga, rita, sam = (home.keys[name] for name in ("olga", "rita", "sam"))
    asked = node.acting(olga).review_graph(graph_document(rule("DESK"), name="desk")).ticket
    node.acting(sam).claim_ticket(asked.id, seconds=300)
    with raises(ReviewError.leased):
        node.acting(rita).claim_ticket(asked.id)
    node.acting(rita).assign_ticket(asked.id, role="reviewer")
    node.acting(sam).prioritise_ticket(asked.id, "urgent")
    node.acting(sam).comment_ticket(asked.id, "I know this one")
    node.acting(sam).keep_draft(asked.id, choice="accept")
    first = next(node.acting(sam).queue())
    assert (first.ticket.id, first.placement.role, len(first.leases)) == (asked.id, "reviewer", 1)
    seen = node.acting(sam).desk_ticket(asked.id)
    assert ([one.text for one in seen.comments], seen.draft is not None) == (["I know this one"], True)
    node.acting(sam).release_ticket(asked.id, holder="user:sam")
    plan = node.acting(rita).plan_answers("accept", filter=QueueFilter(kind=TicketKind.KNOWLEDGE_REVIEW))
    assert {line.code for line in plan.lines} == {"review.not_bulk"}
    told = node.acting(rita).answer_tickets("accept", picks=[Pick(ticket_id=asked.id, seen=asked.shown_hash)])
    assert [line.code for line in told.lines] == ["review.not_bulk"]
    node.acting(rita).answer_ticket(asked.id, "accept", seen=asked.shown_hash)
    steps = list(node.timeline(asked.id))
    kinds = [one.kind.removeprefix("ticket.") for one in steps]
    assert kinds == ["opened", "claimed", "assigned", "prioritised", "commented", "released", "answered", "settled"]
    entry = node.entry(steps[-1].sequence_number)
    assert entry.entry_hash == steps[-1].entry_hash
    assert node.acting(rita).keep_view("mine", filter=QueueFilter(about="graph:")) in node.acting(rita).views()
    assert "user:rita" in [one.by for one in node.progress()]


def test_an_operator_asks_and_people_answer_what_each_may_see(home: Home, node: Node) -> None:
    """Where two must agree, who is still to answer sees nobody's answer, from Python too."""
    olga, rita, sam = (home.keys[name] for name in ("olga", "rita", "sam"))
    with raises(IdentityError.role):
        node.acting(rita).open_ticket("sail", "tonight", eligible_roles=["reviewer"])
    asked = node.acting(olga).open_ticket("sail", {"tide": "low"}, eligible_roles=["reviewer"], quorum=2)
    assert asked.shown == '{"tide":"low"}'
    node.acting(rita).answer_ticket(asked.id, "approve", seen=asked.shown_hash)
    assert node.acting(sam).ticket(asked.id).answers == ()
    assert len(node.acting(rita).ticket(asked.id).answers) == 1
    (line,) = [one for one in node.acting(sam).tickets() if one.ticket.id == asked.id]
    assert line.settlement.counted == ()
    node.acting(sam).keep_draft(asked.id, choice="approve")
    node.acting(sam).drop_draft(asked.id)
    assert node.acting(sam).desk_ticket(asked.id).draft is None
    node.acting(sam).keep_view("mine", filter=QueueFilter())
    node.acting(sam).drop_view("mine")
    assert list(node.acting(sam).views()) == []
    assert node.settle_tickets().stuck == ()
