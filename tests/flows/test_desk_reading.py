"""What the desk shows to whom, what is told when time runs out, and how many answers are given at once."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from assay.flows.request import Page
from assay.flows.review.act_review import act_review, claim_wish, comment_wish, priority_wish
from assay.flows.review.answer_bulk import MOST_AT_ONCE, Pick, PlanAnswers, answer_bulk, plan_answers
from assay.flows.review.desk_settings import DeskSettings
from assay.flows.review.keep_draft import KeepDraft, keep_draft
from assay.flows.review.settle_reviews import settle_reviews
from assay.flows.review.show_progress import ListProgress, progress
from assay.flows.review.show_queue import QueuePage, page_queue
from assay.flows.review.show_ticket import ListTickets, tickets
from assay.flows.review.show_timeline import SAID
from assay.identity.principal import Principal, PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.ledger import EntryKind
from assay.review.act import Priority
from assay.review.kind import TicketKind
from assay.review.progress import Progress
from assay.review.queue import QueueFilter, QueueState
from tests.acting import (
    amend_principal,
    caller_of,
    issue_api_key,
    list_progress,
    list_tickets,
    looking,
    timeline_of,
    view_desk,
    view_ticket,
)
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
    act_review(
        desk.tools,
        caller_of(desk.tools, desk.session(), at=desk.at(minutes=1)),
        ticket.id,
        comment_wish(desk.tools, "no"),
    )
    at = desk.at(minutes=2)

    def sees(who: Principal) -> bool:
        seen = view_desk(desk.tools, looking(who, at=at), ticket.id)
        looks = [
            bool(seen.review.answers),
            bool(seen.comments),
            bool(seen.review.settlement.counted),
            bool(view_ticket(desk.tools, looking(who, at=at), ticket.id).answers),
            any(standing.counted for _, standing in list_tickets(desk.tools, looking(who, at=at))),
            any(one.settlement.counted for one in page_queue(desk.tools, looking(who, at=at), QueueFilter()).tickets),
            any(one.by == AMIRA for one in timeline_of(desk.tools, looking(who), ticket.id)),
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
    steps = timeline_of(desk.tools, looking(_who(desk, "user:bo")), ticket.id)
    held, lapsed = (one for one in steps if one.kind in SAID)
    assert (held.kind, held.by) == (EntryKind.TICKET_ANSWER_HELD, BO)
    assert (lapsed.kind, lapsed.by) == (EntryKind.TICKET_ANSWER_LAPSED, None)
    assert held.body["answer_hash"] == lapsed.body["answer_hash"]


def test_whoever_has_answered_keeps_no_draft(desk: Desk) -> None:
    """One that is saved late, from another window, does not come back after the answer."""
    ticket, amira = desk.ticket(quorum=2), desk.session()
    desk.answer(ticket, amira)
    with refused("review.already_answered"):
        keep_draft(desk.tools, caller_of(desk.tools, amira, at=desk.at(minutes=2)), KeepDraft(ticket_id=ticket.id))


def test_a_draft_is_for_its_writer_alone_and_ends_with_the_answer(desk: Desk) -> None:
    ticket, amira, at = desk.ticket(quorum=2), desk.session(), desk.at(minutes=1)
    head = desk.head()
    keep_draft(
        desk.tools, caller_of(desk.tools, amira, at=at), KeepDraft(ticket_id=ticket.id, choice="reject", reason="hm")
    )
    keep_draft(desk.tools, caller_of(desk.tools, amira, at=at), KeepDraft(ticket_id=ticket.id, choice="approve"))
    assert desk.head() == head
    shown = view_desk(desk.tools, looking(_who(desk, "user:amira"), at=at), ticket.id).draft
    assert shown is not None
    assert shown.reply.choice == "approve"
    for other in (_who(desk, "user:bo"), _who(desk, "user:olga"), None):
        assert view_desk(desk.tools, looking(other, at=at), ticket.id).draft is None
    desk.answer(ticket, amira)
    assert view_desk(desk.tools, looking(_who(desk, "user:amira"), at=at), ticket.id).draft is None
    with refused("review.not_eligible"):
        keep_draft(desk.tools, caller_of(desk.tools, desk.session("user:olga"), at=at), KeepDraft(ticket_id=ticket.id))
    with refused("review.body"):
        keep_draft(
            desk.tools,
            caller_of(desk.tools, desk.session("user:bo"), at=at),
            KeepDraft(ticket_id=ticket.id, reason="x" * 20_000),
        )


def test_a_longer_list_of_tickets_asks_the_database_no_more_questions(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, olga = desk.at(minutes=1), _who(desk, "user:olga")

    def questions() -> tuple[int, ...]:
        return (
            questions_of(monkeypatch, lambda: page_queue(desk.tools, looking(None, at=at), QueueFilter())),
            questions_of(monkeypatch, lambda: list_tickets(desk.tools, looking(olga, at=at), settled=True)),
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
                    lambda state=state: page_queue(  # type: ignore[misc]  # bound at once
                        desk.tools, looking(olga, at=at), QueueFilter(state=state), limit=2
                    ),
                )
                for state in states
            ),
            *(
                rows_of(
                    monkeypatch,
                    lambda both=both: tickets(  # type: ignore[misc]  # bound at once
                        desk.tools, looking(olga, at=at), ListTickets(settled=both, limit=2)
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
    asked = [desk.ticket(eligible_roles=("ops_team", "other")[n % 2 :][:1], about=f"n:{n}") for n in range(7)]
    caller = looking(_who(desk, "user:bo"), at=desk.at(minutes=1))
    first = tickets(desk.tools, caller, ListTickets(limit=3))
    rest = tickets(desk.tools, caller, ListTickets(limit=3, cursor=first.next))
    assert [one.ticket.id for one in (*first.items, *rest.items)] == [one.id for one in asked[::2]]
    assert (len(first.items), rest.next) == (3, None)


def test_the_most_urgent_comes_first_and_pages_go_on_where_they_ended(desk: Desk) -> None:
    """By priority, then by end, then by age; a page after a ticket that has left the list still finds its place."""
    late, soon = desk.ticket(due_at=desk.at(hours=3)), desk.ticket(due_at=desk.at(hours=2))
    never = desk.ticket(kind=TicketKind.RESTORE, due_at=None)
    first = desk.ticket(kind=TicketKind.RESTORE, due_at=None)
    at = desk.at(minutes=1)
    act_review(desk.tools, caller_of(desk.tools, desk.session(), at=at), first.id, priority_wish(Priority.HIGH))
    act_review(desk.tools, caller_of(desk.tools, desk.session(), at=at), never.id, claim_wish(desk.tools))

    def ids(wanted: QueueFilter, **more: object) -> list[str]:
        page = page_queue(desk.tools, looking(None, at=at), wanted, **more)  # type: ignore[arg-type]  # named
        return [one.ticket.id for one in page.tickets]

    order = [first.id, soon.id, late.id, never.id]
    assert ids(QueueFilter()) == order
    assert ids(QueueFilter(), limit=2) == order[:2]
    assert ids(QueueFilter(), after=order[1], limit=2) == order[2:]
    for after in (None, order[1]):
        page = page_queue(desk.tools, looking(None, at=at), QueueFilter(), after=after, limit=1, counted=True)
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
    late = page_queue(desk.tools, looking(None, at=desk.at(hours=2)), QueueFilter(state=QueueState.ESCALATED))
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
    plan = plan_answers(
        desk.tools, caller_of(desk.tools, amira, at=at), PlanAnswers(filter=QueueFilter(about="b:"), choice="approve")
    )
    told = {line.ticket_id: line.code for line in plan.lines}
    assert told == {good[0].id: None, good[1].id: None, own.id: "review.own_request", single.id: "review.not_bulk"}
    assert all(line.shown for line in plan.lines)
    assert desk.head() == head
    picks = [Pick(ticket_id=one.id, seen=one.shown_hash) for one in (*good, own, single)]
    picks[1] = Pick(ticket_id=good[1].id, seen=desk.ticket(shown="other").shown_hash)
    done = answer_bulk(desk.tools, caller_of(desk.tools, amira, at=at), picks, "approve")
    codes = [None, "review.stale_ticket", "review.own_request", "review.not_bulk"]
    assert [line.code for line in done.lines] == codes
    assert (done.accepted, done.refused) == (1, 3)
    assert done.lines[0].takes_effect_at == desk.at(seconds=70)
    settle_reviews(desk.tools, TENANT, at=desk.at(seconds=71))
    settlement = desk.read(lambda unit: unit.review.find_settlement(TENANT, good[0].id))
    assert settlement is not None
    assert settlement.choice == "approve"
    with refused("review.body"):
        answer_bulk(desk.tools, caller_of(desk.tools, amira, at=at), picks * MOST_AT_ONCE, "approve")
    desk.add("ai:planner", kind=PrincipalKind.AGENT)
    key, _ = issue_api_key(desk.tools, TENANT, PrincipalId("ai:planner"), by=ADMIN, at=desk.start)
    with refused("review.machine"):
        answer_bulk(desk.tools, caller_of(desk.tools, key, at=at), picks, "approve")


def test_progress_counts_what_is_settled_and_each_sees_their_own(desk: Desk) -> None:
    amira, bo = desk.session(), desk.session("user:bo")
    desk.answer(desk.ticket(), amira, at=desk.at(minutes=1))
    disputed = desk.ticket(quorum=2)
    desk.answer(disputed, amira, at=desk.at(minutes=3))
    desk.answer(disputed, bo, "reject", reason="no", at=desk.at(minutes=4))
    waiting = desk.ticket(quorum=2)
    desk.answer(waiting, amira, at=desk.at(minutes=5))
    act_review(desk.tools, caller_of(desk.tools, bo, at=desk.at(minutes=5)), waiting.id, claim_wish(desk.tools))
    everybody = list_progress(desk.tools, looking(_who(desk, "user:olga"), at=desk.at(minutes=6)))
    figures = {
        one.by: (one.answered, one.median_seconds, one.settled, one.agreed, one.open_leases) for one in everybody
    }
    assert figures == {AMIRA: (3, 180.0, 2, 1, 0), BO: (1, 240.0, 1, 1, 1)}
    (own,) = list_progress(desk.tools, looking(_who(desk, "user:bo"), at=desk.at(hours=1)))
    assert (own.by, own.open_leases) == (BO, 0)


def test_progress_of_more_people_asks_the_database_no_more_questions(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor do more tickets of which the viewer may not be told yet who has answered."""
    desk.add("user:cleo", roles=("ops_team", "admin"))
    cleo, at = _who(desk, "user:cleo"), desk.at(minutes=3)

    def questions() -> int:
        return questions_of(monkeypatch, lambda: list_progress(desk.tools, looking(cleo, at=at)))

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
        found = list_progress(desk.tools, looking(viewer, at=desk.at(minutes=3)))
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
        return page_queue(
            desk.tools,
            looking(bo, at=at),
            QueueFilter(),
            only=lambda row: row.ticket.id not in odd,
            after=after,
            limit=2,
        )

    first = page(None)
    rest = page(first.next_after)
    assert {one.ticket.id for one in (*first.tickets, *rest.tickets)} == {one.id for one in mine} - odd
    assert (len(first.tickets), len(rest.tickets), rest.next_after) == (2, 1, None)
    with refused("flow.not_found"):
        page(foreign.id)


def test_reviewers_are_listed_page_by_page_and_a_page_reads_no_others(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither more reviewers nor more answers of others cost a page anything."""
    names = [f"user:r{number}" for number in range(6)]
    for name in names:
        desk.add(name)
    for name in names[:3]:
        desk.answer(desk.ticket(), desk.session(name))
    caller = looking(_who(desk, "user:olga"), at=desk.at(minutes=2))

    def page(cursor: str | None = None) -> Page[Progress]:
        return progress(desk.tools, caller, ListProgress(limit=1, cursor=cursor))

    few = rows_of(monkeypatch, page)
    for name in names[2:]:
        desk.answer(desk.ticket(), desk.session(name))
    assert rows_of(monkeypatch, page) == few
    listed: list[str] = []
    following: str | None = None
    while True:
        part = page(following)
        listed += [one.by for one in part.items]
        following = part.next
        if following is None:
            break
    assert listed == names
