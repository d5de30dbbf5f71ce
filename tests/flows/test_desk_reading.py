"""What the desk shows to whom, what is told when time runs out, and how many answers are given at once."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from assay.flows.identity.amend_principal import amend_principal
from assay.flows.identity.issue_api_key import issue_api_key
from assay.flows.review.act_review import act_review
from assay.flows.review.answer_bulk import MOST_AT_ONCE, Pick, answer_bulk, plan_bulk
from assay.flows.review.claim_review import claim_wish
from assay.flows.review.comment_review import comment_wish
from assay.flows.review.desk_settings import DeskSettings
from assay.flows.review.inspect_review import ListedReview, inspect_review, list_reviews, page_reviews
from assay.flows.review.keep_draft import DraftedReply, keep_draft
from assay.flows.review.place_review import priority_wish
from assay.flows.review.settle_reviews import settle_reviews
from assay.flows.review.show_progress import show_progress
from assay.flows.review.show_queue import QueuePage, show_queue
from assay.flows.review.show_ticket import show_ticket
from assay.flows.review.show_timeline import SAID, show_timeline
from assay.identity.principal import Principal, PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.ledger import EntryKind
from assay.review.act import Priority
from assay.review.kind import TicketKind
from assay.review.queue import QueueFilter, QueueState
from tests.contract._kit import refused
from tests.flows._people import ADMIN, TENANT, Desk, opened_desk
from tests.flows._questions import questions_of, rows_of

AMIRA, BO = PrincipalId("user:amira"), PrincipalId("user:bo")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path) as one:
        one.add("user:amira")
        one.add("user:bo")
        one.add("user:olga", roles=("operator",))
        yield one


def _who(desk: Desk, name: str) -> Principal:
    found = desk.read(lambda unit: unit.identity.find_principal(TENANT, PrincipalId(name)))
    assert found is not None
    return found


def test_a_reviewer_of_a_quorum_sees_no_others_words_until_their_own_answer_counts(desk: Desk) -> None:
    """Also not while it is held: whoever can still undo has not judged yet. Whoever cannot answer sees all."""
    patient = replace(
        desk, tools=replace(desk.tools, desk=DeskSettings(grace={TicketKind.APPROVAL: timedelta(minutes=1)}))
    )
    ticket, bo = desk.ticket(quorum=3), _who(desk, "user:bo")
    desk.answer(ticket, desk.session())
    act_review(desk.tools, ticket.id, comment_wish(desk.tools, "no"), credential=desk.session(), at=desk.at(minutes=1))
    at = desk.at(minutes=2)

    def sees(who: Principal) -> bool:
        seen = show_ticket(desk.tools, TENANT, ticket.id, viewer=who, at=at)
        looks = [
            bool(seen.review.answers),
            bool(seen.comments),
            bool(seen.review.settlement.counted),
            bool(inspect_review(desk.tools, TENANT, ticket.id, viewer=who, at=at).answers),
            any(standing.counted for _, standing in list_reviews(desk.tools, TENANT, viewer=who, at=at)),
            any(
                one.settlement.counted
                for one in show_queue(desk.tools, TENANT, QueueFilter(), viewer=who, at=at).tickets
            ),
            any(one.by == AMIRA for one in show_timeline(desk.tools, TENANT, ticket.id, viewer=who)),
        ]
        assert len(set(looks)) == 1, looks
        return looks[0]

    assert not sees(bo)
    assert sees(_who(desk, "user:olga"))
    assert sees(_who(desk, "user:amira"))
    held = patient.answer(ticket, desk.session("user:bo"), at=at)
    assert (held.settlement.counted, held.settlement.is_open) == ((), True)
    assert not sees(bo)
    settle_reviews(patient.tools, TENANT, at=desk.at(minutes=4))
    assert sees(bo)


def test_whoever_judges_alone_is_told_that_their_own_answer_lapsed_and_of_no_other(desk: Desk) -> None:
    patient = replace(
        desk, tools=replace(desk.tools, desk=DeskSettings(grace={TicketKind.APPROVAL: timedelta(minutes=1)}))
    )
    ticket = desk.ticket(quorum=2)
    patient.answer(ticket, desk.session("user:bo"))
    patient.answer(ticket, desk.session())
    for name in (BO, AMIRA):
        amend_principal(desk.tools, TENANT, name, PrincipalChange(roles=()), by=ADMIN, at=desk.at(seconds=61))
    settle_reviews(patient.tools, TENANT, at=desk.at(minutes=3))
    amend_principal(desk.tools, TENANT, BO, PrincipalChange(roles=("ops_team",)), by=ADMIN, at=desk.at(minutes=4))
    steps = show_timeline(desk.tools, TENANT, ticket.id, viewer=_who(desk, "user:bo"))
    held, lapsed = (one for one in steps if one.kind in SAID)
    assert (held.kind, held.by) == (EntryKind.TICKET_ANSWER_HELD, BO)
    assert (lapsed.kind, lapsed.by) == (EntryKind.TICKET_ANSWER_LAPSED, None)
    assert held.body["answer_hash"] == lapsed.body["answer_hash"]


def test_whoever_has_answered_keeps_no_draft(desk: Desk) -> None:
    """One that is saved late, from another window, does not come back after the answer."""
    ticket, amira = desk.ticket(quorum=2), desk.session()
    desk.answer(ticket, amira)
    with refused("review.already_answered"):
        keep_draft(desk.tools, ticket.id, DraftedReply(), credential=amira, at=desk.at(minutes=2))


def test_a_draft_is_for_its_writer_alone_and_ends_with_the_answer(desk: Desk) -> None:
    ticket, amira, at = desk.ticket(quorum=2), desk.session(), desk.at(minutes=1)
    head = desk.head()
    keep_draft(desk.tools, ticket.id, DraftedReply(choice="reject", reason="hm"), credential=amira, at=at)
    keep_draft(desk.tools, ticket.id, DraftedReply(choice="approve"), credential=amira, at=at)
    assert desk.head() == head
    shown = show_ticket(desk.tools, TENANT, ticket.id, viewer=_who(desk, "user:amira"), at=at).draft
    assert shown is not None
    assert shown.reply.choice == "approve"
    for other in (_who(desk, "user:bo"), _who(desk, "user:olga"), None):
        assert show_ticket(desk.tools, TENANT, ticket.id, viewer=other, at=at).draft is None
    desk.answer(ticket, amira)
    assert show_ticket(desk.tools, TENANT, ticket.id, viewer=_who(desk, "user:amira"), at=at).draft is None
    with refused("review.not_eligible"):
        keep_draft(desk.tools, ticket.id, DraftedReply(), credential=desk.session("user:olga"), at=at)
    with refused("review.body"):
        keep_draft(desk.tools, ticket.id, DraftedReply(reason="x" * 20_000), credential=desk.session("user:bo"), at=at)


def test_a_longer_list_of_tickets_asks_the_database_no_more_questions(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, olga = desk.at(minutes=1), _who(desk, "user:olga")

    def questions() -> tuple[int, ...]:
        return (
            questions_of(monkeypatch, lambda: show_queue(desk.tools, TENANT, QueueFilter(), viewer=None, at=at)),
            questions_of(monkeypatch, lambda: list_reviews(desk.tools, TENANT, settled_too=True, viewer=olga, at=at)),
        )

    desk.ticket()
    one = questions()
    for _ in range(5):
        desk.ticket()
    assert questions() == one


def test_a_page_of_tickets_reads_no_others(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many wait, and however many were ever settled: neither a page of the queue nor one of the list."""
    olga = _who(desk, "user:olga")

    def rows() -> list[int]:
        at = desk.at(minutes=2)
        states = (QueueState.OPEN, QueueState.SETTLED, QueueState.ANY, QueueState.OVERDUE)
        return [
            *(
                rows_of(
                    monkeypatch,
                    lambda state=state: show_queue(  # type: ignore[misc]  # bound at once
                        desk.tools, TENANT, QueueFilter(state=state), viewer=olga, limit=2, at=at
                    ),
                )
                for state in states
            ),
            *(
                rows_of(
                    monkeypatch,
                    lambda both=both: page_reviews(  # type: ignore[misc]  # bound at once
                        desk.tools, TENANT, settled_too=both, viewer=olga, limit=2, at=at
                    ),
                )
                for both in (False, True)
            ),
        ]

    def open_and_settle(count: int) -> None:
        for _ in range(count):
            desk.ticket()
            desk.answer(desk.ticket(), desk.session(), at=desk.at(minutes=1))

    open_and_settle(3)
    # Three tickets that are settled: each with its place, its answer and its settlement.
    most = max(rows())
    open_and_settle(5)
    assert max(rows()) == most


def test_a_list_of_tickets_goes_on_until_it_is_full(desk: Desk) -> None:
    """What may not be listed takes no place on a page; the next page begins where the last one ended."""
    asked = [desk.ticket(about=f"n:{number}") for number in range(7)]

    def page(after: int) -> list[ListedReview]:
        at = desk.at(minutes=1)
        odd = {one.id for one in asked[1::2]}
        return list(
            page_reviews(desk.tools, TENANT, only=lambda one: one.id not in odd, after=after, limit=3, at=at),
        )

    first = page(0)
    rest = page(first[-1].position)
    assert [one.ticket.id for one in (*first, *rest)] == [one.id for one in asked[::2]]
    assert len(first) == 3


def test_the_most_urgent_comes_first_and_pages_go_on_where_they_ended(desk: Desk) -> None:
    """By priority, then by end, then by age; a page after a ticket that has left the list still finds its place."""
    late, soon = desk.ticket(due_at=desk.at(hours=3)), desk.ticket(due_at=desk.at(hours=2))
    never = desk.ticket(kind=TicketKind.RESTORE, due_at=None)
    first = desk.ticket(kind=TicketKind.RESTORE, due_at=None)
    at = desk.at(minutes=1)
    act_review(desk.tools, first.id, priority_wish(Priority.HIGH), credential=desk.session(), at=at)
    act_review(desk.tools, never.id, claim_wish(desk.tools), credential=desk.session(), at=at)

    def ids(wanted: QueueFilter, **more: object) -> list[str]:
        page = show_queue(desk.tools, TENANT, wanted, viewer=None, at=at, **more)  # type: ignore[arg-type]  # named
        return [one.ticket.id for one in page.tickets]

    order = [first.id, soon.id, late.id, never.id]
    assert ids(QueueFilter()) == order
    assert ids(QueueFilter(), limit=2) == order[:2]
    assert ids(QueueFilter(), after=order[1], limit=2) == order[2:]
    for after in (None, order[1]):
        page = show_queue(desk.tools, TENANT, QueueFilter(), viewer=None, after=after, limit=1, counted=True, at=at)
        assert (page.total, len(page.tickets)) == (4, 1)
    desk.answer(soon, desk.session(), at=at)
    assert ids(QueueFilter(), after=soon.id) == order[2:]
    assert ids(QueueFilter(state=QueueState.SETTLED)) == [soon.id]
    assert ids(QueueFilter(state=QueueState.LEASED)) == ids(QueueFilter(holder=AMIRA)) == [never.id]
    assert ids(QueueFilter(state=QueueState.FREE)) == [first.id, late.id]
    assert ids(QueueFilter(due_before=desk.at(hours=4))) == [late.id]
    assert ids(QueueFilter(priority=Priority.HIGH)) == [first.id]
    assert ids(QueueFilter(kind=TicketKind.RESTORE, role="ops_team")) == [first.id, never.id]


def test_a_ticket_near_and_past_its_end_is_told_once_each_and_decides_nothing(desk: Desk) -> None:
    """To the roles and persons of the settings, as entry and event; nobody becomes eligible by it."""
    told = DeskSettings(escalate_before=timedelta(minutes=10), escalate_roles=("operator",), escalate_persons=(BO,))
    patient = replace(desk, tools=replace(desk.tools, desk=told))
    stays = desk.ticket(kind=TicketKind.RESTORE, due_at=desk.at(hours=1))
    denies = desk.ticket(due_at=desk.at(hours=1))

    def sweep(**when: float) -> list[tuple[str, str]]:
        done = settle_reviews(patient.tools, TENANT, at=desk.at(**when))
        return [(one.ticket_id, one.stage) for one in done.escalated]

    assert sweep(minutes=49) == []
    assert sorted(sweep(minutes=51)) == sorted([(stays.id, "near"), (denies.id, "near")])
    assert sweep(minutes=55) == []
    assert sweep(minutes=61) == [(stays.id, "passed")]
    assert sweep(hours=3) == []
    bodies = desk.entries(EntryKind.TICKET_ESCALATED)
    assert [body["persons"] for body in bodies] == [["user:bo"]] * 3
    events = desk.read(lambda unit: unit.outbox.events(TENANT, after=0, limit=1000))
    assert sum(event.type == "ticket.escalated" for event in events) == 3
    settlement = desk.read(lambda unit: unit.review.find_settlement(TENANT, denies.id))
    assert settlement is not None
    assert settlement.denied
    with refused("review.not_eligible"):
        desk.answer(stays, desk.session("user:olga", hours=2), "restore", at=desk.at(hours=2))
    late = show_queue(desk.tools, TENANT, QueueFilter(state=QueueState.ESCALATED), viewer=None, at=desk.at(hours=2))
    assert [one.stages for one in late.tickets] == [("near", "passed")]
    silent = replace(desk.tools, desk=DeskSettings(escalate_roles=()))
    desk.ticket(kind=TicketKind.RESTORE, due_at=desk.at(minutes=5))
    assert settle_reviews(silent, TENANT, at=desk.at(hours=4)).escalated == ()


def test_many_answers_are_each_bound_and_each_refusal_is_told(desk: Desk) -> None:
    """A dry run records nothing; what changed since, is of another kind or one's own is a line of its own."""
    amira, at = desk.session(), desk.at(minutes=1)
    good = [desk.ticket(about=f"b:{number}") for number in range(2)]
    own, single = (
        desk.ticket(about="b:own", requested_by=AMIRA),
        desk.ticket(about="b:tier", kind=TicketKind.TIER_CHANGE),
    )
    head = desk.head()
    plan = plan_bulk(desk.tools, QueueFilter(about="b:"), "approve", credential=amira, at=at)
    told = {line.ticket_id: line.code for line in plan.lines}
    assert told == {good[0].id: None, good[1].id: None, own.id: "review.own_request", single.id: "review.not_bulk"}
    assert all(line.shown for line in plan.lines)
    assert desk.head() == head
    picks = [Pick(ticket_id=one.id, seen=one.shown_hash) for one in (*good, own, single)]
    picks[1] = Pick(ticket_id=good[1].id, seen=desk.ticket(shown="other").shown_hash)
    done = answer_bulk(desk.tools, picks, "approve", credential=amira, at=at)
    codes = [None, "review.stale_ticket", "review.own_request", "review.not_bulk"]
    assert [line.code for line in done.lines] == codes
    assert (done.accepted, done.refused) == (1, 3)
    assert done.lines[0].takes_effect_at == desk.at(seconds=70)
    settle_reviews(desk.tools, TENANT, at=desk.at(seconds=71))
    settlement = desk.read(lambda unit: unit.review.find_settlement(TENANT, good[0].id))
    assert settlement is not None
    assert settlement.choice == "approve"
    with refused("review.body"):
        answer_bulk(desk.tools, picks * MOST_AT_ONCE, "approve", credential=amira, at=at)
    desk.add("ai:planner", kind=PrincipalKind.AGENT)
    key, _ = issue_api_key(desk.tools, TENANT, PrincipalId("ai:planner"), by=ADMIN, at=desk.start)
    with refused("review.machine"):
        answer_bulk(desk.tools, picks, "approve", credential=key, at=at)


def test_progress_counts_what_is_settled_and_each_sees_their_own(desk: Desk) -> None:
    amira, bo = desk.session(), desk.session("user:bo")
    desk.answer(desk.ticket(), amira, at=desk.at(minutes=1))
    disputed = desk.ticket(quorum=2)
    desk.answer(disputed, amira, at=desk.at(minutes=3))
    desk.answer(disputed, bo, "reject", reason="no", at=desk.at(minutes=4))
    waiting = desk.ticket(quorum=2)
    desk.answer(waiting, amira, at=desk.at(minutes=5))
    act_review(desk.tools, waiting.id, claim_wish(desk.tools), credential=bo, at=desk.at(minutes=5))
    everybody = show_progress(desk.tools, TENANT, viewer=_who(desk, "user:olga"), at=desk.at(minutes=6))
    figures = {
        one.by: (one.answered, one.median_seconds, one.settled, one.agreed, one.open_leases) for one in everybody
    }
    assert figures == {AMIRA: (3, 180.0, 2, 1, 0), BO: (1, 240.0, 1, 1, 1)}
    (own,) = show_progress(desk.tools, TENANT, viewer=_who(desk, "user:bo"), at=desk.at(hours=1))
    assert (own.by, own.open_leases) == (BO, 0)


def test_progress_of_more_people_asks_the_database_no_more_questions(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor do more tickets of which the viewer may not be told yet who has answered."""
    desk.add("user:cleo", roles=("ops_team", "admin"))
    cleo, at = _who(desk, "user:cleo"), desk.at(minutes=3)

    def questions() -> int:
        return questions_of(monkeypatch, lambda: show_progress(desk.tools, TENANT, viewer=cleo, at=at))

    desk.answer(desk.ticket(quorum=3), desk.session(), at=desk.at(minutes=1))
    one = questions()
    for who in ("user:amira", "user:bo", "user:cleo"):
        desk.answer(desk.ticket(quorum=3), desk.session(who), at=desk.at(minutes=2))
    assert questions() == one


def test_progress_tells_a_reviewer_who_looks_after_the_desk_nothing_of_what_they_are_to_judge(desk: Desk) -> None:
    """Others' answers to an open blind ticket are in no figure until it is theirs no more, and nobody is there for
    such an answer alone; whoever cannot answer it, and the operator of the folder, see all.
    """
    desk.add("user:cleo", roles=("ops_team", "admin"))
    patient = replace(
        desk, tools=replace(desk.tools, desk=DeskSettings(grace={TicketKind.APPROVAL: timedelta(minutes=9)}))
    )
    amira, bo, cleo = desk.session(), desk.session("user:bo"), desk.session("user:cleo")
    desk.answer(desk.ticket(), amira, at=desk.at(minutes=1))
    blind, waiting = desk.ticket(quorum=3), desk.ticket(quorum=3)
    for who in (amira, bo):
        desk.answer(blind, who, at=desk.at(minutes=2))
    for who in (amira, cleo):
        patient.answer(waiting, who, at=desk.at(minutes=2))

    def figures(name: str | None) -> dict[str, tuple[int, int]]:
        viewer = None if name is None else _who(desk, name)
        found = show_progress(desk.tools, TENANT, viewer=viewer, at=desk.at(minutes=3))
        return {one.by: (one.answered, one.held) for one in found}

    everything = {AMIRA: (2, 1), BO: (1, 0)}
    assert figures("user:cleo") == {AMIRA: (1, 0)}
    assert figures("user:olga") == figures(None) == everything
    desk.answer(desk.ticket(), cleo, at=desk.at(minutes=2))
    assert figures("user:cleo") == {AMIRA: (1, 0), "user:cleo": (1, 1)}
    desk.answer(blind, cleo, "reject", reason="no", at=desk.at(minutes=2))
    assert figures("user:cleo") == {AMIRA: (2, 0), BO: (1, 0), "user:cleo": (2, 1)}


def test_a_page_of_the_queue_begins_after_a_ticket_that_the_viewer_may_read(desk: Desk) -> None:
    """Where a ticket stands in the order is told to nobody whom it does not concern; and what is left out by `only`
    takes no place on a page.
    """
    foreign = desk.ticket(eligible_roles=("auditor",))
    mine = [desk.ticket(about=f"p:{number}") for number in range(5)]
    bo, at = _who(desk, "user:bo"), desk.at(minutes=1)
    odd = {one.id for one in mine[1::2]}

    def page(after: TicketId | None) -> QueuePage:
        return show_queue(
            desk.tools, TENANT, QueueFilter(), viewer=bo, only=lambda row: row.ticket.id not in odd, after=after,
            limit=2, at=at,
        )  # fmt: skip

    first = page(None)
    rest = page(first.next_after)
    assert {one.ticket.id for one in (*first.tickets, *rest.tickets)} == {one.id for one in mine} - odd
    assert (len(first.tickets), len(rest.tickets), rest.next_after) == (2, 1, None)
    with refused("flow.not_found"):
        page(foreign.id)
