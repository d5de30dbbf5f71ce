"""Deciding a ticket: once, by its quorum or its time-out, with its kind's follow-up in the same commit."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.flows.errors import FlowError
from assay.flows.errors.ledger import LedgerFlowError
from assay.flows.review.settle_review import FollowUps
from assay.flows.review.settle_reviews import settle_reviews
from assay.flows.review.show_queue import page_queue
from assay.identity.principal import PrincipalChange
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind, draft_entry
from assay.ports.database import Unit
from assay.review.answer import Answer
from assay.review.errors import ReviewError
from assay.review.kind import OnExpiry, TicketKind
from assay.review.queue import QueueFilter
from assay.review.settle import Settlement, SettlementState, Tally
from assay.review.ticket import Ticket
from tests.acting import amend_principal, disable_principal, list_tickets, looking, view_desk, view_ticket
from tests.flows._node import damage
from tests.flows._people import ADMIN, TENANT, Desk, LostError, at_once, opened_desk
from tests.flows._questions import rows_of
from tests.raising import is_of, raises


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path) as one:
        for name in ("user:amira", "user:bo", "user:cleo", "user:dan"):
            one.add(name)
        yield one


def test_a_due_approval_is_denied_by_the_sweep(desk: Desk) -> None:
    """Once, with an entry, and a sweep before the time or after it changes nothing."""
    ticket = desk.ticket(quorum=2)
    desk.answer(ticket, desk.session())
    assert settle_reviews(desk.tools, TENANT, at=desk.at(minutes=59)).settled == ()
    (settlement,) = settle_reviews(desk.tools, TENANT, at=desk.at(hours=1)).settled
    assert (settlement.state, settlement.choice, settlement.denied) == (SettlementState.EXPIRED, None, True)
    (body,) = desk.entries(EntryKind.TICKET_SETTLED)
    assert (body["ticket_id"], body["state"], body["denied"]) == (ticket.id, "expired", True)
    before = desk.head()
    assert settle_reviews(desk.tools, TENANT, at=desk.at(hours=2)).settled == ()
    assert desk.head() == before


def _shut_out(desk: Desk, how: str, name: PrincipalId, *, at: Instant) -> None:
    if how == "disabled":
        disable_principal(desk.tools, TENANT, name, by=ADMIN, at=at)
    else:
        amend_principal(desk.tools, TENANT, name, PrincipalChange(roles=("auditor",)), by=ADMIN, at=at)


@pytest.mark.parametrize("how", ["disabled", "lost the role"])
def test_whoever_may_not_answer_any_more_counts_towards_no_quorum(desk: Desk, how: str) -> None:
    """Every look says so, a third person is asked, and their answer decides."""
    ticket, bo = desk.ticket(quorum=2, due_at=None), PrincipalId("user:bo")
    desk.answer(ticket, desk.session("user:bo"))
    _shut_out(desk, how, bo, at=desk.at(minutes=2))
    second = desk.answer(ticket, desk.session(), at=desk.at(minutes=3)).settlement
    assert (second.state, second.counted, second.ignored) == (
        SettlementState.OPEN,
        (Tally(choice="approve", by=(PrincipalId("user:amira"),)),),
        1,
    )
    at = desk.at(minutes=4)
    assert [standing.is_open for _, standing in list_tickets(desk.tools, looking(None, at=at))] == [True]
    assert view_ticket(desk.tools, looking(None, at=at), ticket.id).settlement.is_open
    queue = page_queue(desk.tools, looking(None, at=at), QueueFilter())
    assert [one.settlement.is_open for one in queue.tickets] == [True]
    assert view_desk(desk.tools, looking(None, at=at), ticket.id).review.settlement.is_open
    assert settle_reviews(desk.tools, TENANT, at=at).settled == ()
    third = desk.answer(ticket, desk.session("user:cleo"), at=desk.at(minutes=5)).settlement
    assert (third.state, third.counted[0].by) == (SettlementState.SETTLED, ("user:amira", "user:cleo"))


def test_a_rejection_stands_whoever_gave_it(desk: Desk) -> None:
    """It decided when it was given; shutting its giver out takes nothing back."""
    ticket = desk.ticket(quorum=2)
    desk.answer(ticket, desk.session("user:bo"), "reject", reason="no")
    _shut_out(desk, "disabled", PrincipalId("user:bo"), at=desk.at(minutes=2))
    with raises(ReviewError.settled):
        desk.answer(ticket, desk.session(), at=desk.at(minutes=3))


@pytest.mark.parametrize(
    ("kind", "choice", "due"),
    [(TicketKind.APPROVAL, "approve", None), (TicketKind.RESTORE, "restore", 4), (TicketKind.RESTORE, "restore", None)],
)
def test_who_may_answer_again_completes_a_quorum_with_the_next_sweep(
    desk: Desk, kind: TicketKind, choice: str, due: int | None
) -> None:
    """Whether the ticket is never due, or is due and stays open."""
    due_at = None if due is None else desk.at(minutes=due)
    ticket, bo = desk.ticket(kind=kind, quorum=2, due_at=due_at), PrincipalId("user:bo")
    desk.answer(ticket, desk.session("user:bo"), choice)
    _shut_out(desk, "disabled", bo, at=desk.at(minutes=2))
    desk.answer(ticket, desk.session(), choice, at=desk.at(minutes=3))
    again = PrincipalChange(disabled_at=None)
    amend_principal(desk.tools, TENANT, bo, again, by=ADMIN, at=desk.at(minutes=4))
    (settlement,) = settle_reviews(desk.tools, TENANT, at=desk.at(minutes=5)).settled
    assert (settlement.choice, settlement.counted[0].by) == (choice, ("user:amira", "user:bo"))


def test_a_role_that_was_given_back_counts_for_later_tickets_alone(desk: Desk) -> None:
    """A role never counts for a ticket that was opened before it was granted."""
    ticket, bo = desk.ticket(quorum=2, due_at=None), PrincipalId("user:bo")
    desk.answer(ticket, desk.session("user:bo"))
    _shut_out(desk, "lost the role", bo, at=desk.at(minutes=2))
    desk.answer(ticket, desk.session(), at=desk.at(minutes=3))
    amend_principal(desk.tools, TENANT, bo, PrincipalChange(roles=("ops_team",)), by=ADMIN, at=desk.at(minutes=4))
    assert settle_reviews(desk.tools, TENANT, at=desk.at(minutes=5)).settled == ()


def test_the_sweep_does_as_the_ticket_says(desk: Desk) -> None:
    """A default choice is taken; what stays open stays open, overdue; what has no date waits."""
    defaulting = desk.ticket(kind=TicketKind.VALIDATION, on_expiry=OnExpiry.DEFAULT_CHOICE, default_choice="abstain")
    staying = desk.ticket(kind=TicketKind.RESTORE)
    undated = desk.ticket(due_at=None)
    (settlement,) = settle_reviews(desk.tools, TENANT, at=desk.at(hours=2)).settled
    assert (settlement.ticket_id, settlement.choice, settlement.denied) == (defaulting.id, "abstain", False)
    left = {ticket.id: standing for ticket, standing in list_tickets(desk.tools, looking(None, at=desk.at(hours=2)))}
    assert {name: standing.overdue for name, standing in left.items()} == {staying.id: True, undated.id: False}
    everything = list_tickets(desk.tools, looking(None, at=desk.at(hours=2)), settled=True)
    assert [ticket.id for ticket, _ in everything] == [defaulting.id, staying.id, undated.id]


def test_an_answer_that_comes_too_late_is_refused_swept_or_not(desk: Desk) -> None:
    """The time-out decides by itself; the sweep only writes it down."""
    ticket, token = desk.ticket(due_at=desk.at(minutes=5)), desk.session()
    with raises(ReviewError.expired):
        desk.answer(ticket, token, at=desk.at(minutes=5))
    settle_reviews(desk.tools, TENANT, at=desk.at(minutes=6))
    # A clock that went back does not reopen it.
    with raises(ReviewError.expired):
        desk.answer(ticket, token, at=desk.at(minutes=4))


def test_one_damaged_ticket_does_not_hold_up_the_others(desk: Desk) -> None:
    """It is named, it stays open, and nothing proceeds on it."""
    damaged, sound = desk.ticket(quorum=2), desk.ticket()
    done = desk.answer(damaged, desk.session())
    forged = replace(done.answer, by=PrincipalId("user:bo"))
    desk.tools.database.write(lambda unit: unit.review.add_answer(forged))
    sweep = settle_reviews(desk.tools, TENANT, at=desk.at(hours=1))
    assert [one.ticket_id for one in sweep.settled] == [sound.id]
    assert [(one.ticket_id, one.code) for one in sweep.stuck] == [(damaged.id, "signature.invalid")]
    assert not view_ticket(desk.tools, looking(None, at=desk.at(hours=1)), damaged.id).recorded


def test_a_ticket_that_cannot_be_read_does_not_hold_up_the_others(desk: Desk, tmp_path: Path) -> None:
    """Its time may be up too, so it is named in every sweep."""
    damaged, sound = desk.ticket(), desk.ticket()
    damage(tmp_path / "node", "UPDATE ticket SET record = '{' WHERE position = 1")
    sweep = settle_reviews(desk.tools, TENANT, at=desk.at(hours=1))
    assert [one.ticket_id for one in sweep.settled] == [sound.id]
    assert [(one.ticket_id, one.code) for one in sweep.stuck] == [(damaged.id, "store.damaged_record")]


def test_an_answer_that_cannot_be_read_does_not_hold_up_the_others(desk: Desk, tmp_path: Path) -> None:
    """Also one to a ticket that is not due: several may have agreed about it."""
    damaged, sound = desk.ticket(quorum=2, due_at=None), desk.ticket()
    desk.answer(damaged, desk.session())
    damage(tmp_path / "node", "UPDATE answer SET record = '{'")
    sweep = settle_reviews(desk.tools, TENANT, at=desk.at(hours=1))
    assert [one.ticket_id for one in sweep.settled] == [sound.id]
    assert [(one.ticket_id, one.code) for one in sweep.stuck] == [(damaged.id, "store.damaged_record")]


def test_a_sweep_looks_at_no_ticket_that_is_not_due(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it begin a commit for one that is due and stays open: a round costs nothing while nothing happens."""
    desk.ticket(kind=TicketKind.RESTORE, due_at=desk.at(minutes=5))

    def sweep() -> int:
        return rows_of(monkeypatch, lambda: settle_reviews(desk.tools, TENANT, at=desk.at(minutes=6)))

    # The first one escalates, the second one caches the projection of that entry.
    sweep()
    sweep()
    few, before = sweep(), desk.head()
    for _ in range(5):
        desk.ticket(due_at=desk.at(hours=9))
        desk.ticket(due_at=None)
        desk.answer(desk.ticket(), desk.session())
    assert sweep() == few
    written: list[object] = []
    monkeypatch.setattr(type(desk.tools.database), "write", lambda _self, work: written.append(work))
    settle_reviews(desk.tools, TENANT, at=desk.at(minutes=7))
    assert written == []
    assert desk.head() > before


def test_a_failing_sweep_settles_nothing(desk: Desk) -> None:
    ticket = desk.ticket()
    before = desk.head()
    with pytest.raises(LostError):
        settle_reviews(desk.failing().tools, TENANT, at=desk.at(hours=1))
    assert desk.head() == before
    assert not view_ticket(desk.tools, looking(None, at=desk.at(hours=1)), ticket.id).recorded


def test_the_follow_up_of_a_kind_runs_in_the_same_commit(desk: Desk) -> None:
    """It gets the settlement and every answer, only when decided, and only for its own kind."""
    seen: list[tuple[str, str | None, int]] = []

    def publish(unit: Unit, ticket: Ticket, settlement: Settlement, answers: tuple[Answer, ...], at: Instant) -> None:
        seen.append((ticket.id, settlement.choice, len(answers)))
        unit.record(draft_entry(ticket.tenant_id, EntryKind.NOTE, {"published": ticket.about}, at=at))

    follow_ups = FollowUps(on_settlement={TicketKind.APPROVAL: publish})
    ticket, other = desk.ticket(quorum=2, about="bundle:7"), desk.ticket(kind=TicketKind.RESTORE)
    desk.answer(other, desk.session("user:dan"), "restore", follow_ups=follow_ups)
    desk.answer(ticket, desk.session(), follow_ups=follow_ups)
    assert seen == []
    desk.answer(ticket, desk.session("user:bo"), follow_ups=follow_ups)
    assert seen == [(ticket.id, "approve", 2)]
    assert desk.entries(EntryKind.NOTE) == [{"published": "bundle:7"}]
    due = desk.ticket()
    settle_reviews(desk.tools, TENANT, at=desk.at(hours=1), follow_ups=follow_ups)
    assert seen[1:] == [(due.id, None, 0)]


def test_a_follow_up_that_fails_decides_nothing(desk: Desk) -> None:
    """The answer is not recorded either, so it can be given again when the room is well."""

    def refuse(*_: object) -> None:
        raise FlowError("the room is not ready")

    ticket, token = desk.ticket(), desk.session()
    before = desk.head()
    with pytest.raises(FlowError):
        desk.answer(ticket, token, follow_ups=FollowUps(on_settlement={TicketKind.APPROVAL: refuse}))
    assert desk.head() == before
    sweep = settle_reviews(
        desk.tools, TENANT, at=desk.at(hours=1), follow_ups=FollowUps(on_settlement={TicketKind.APPROVAL: refuse})
    )
    assert [one.code for one in sweep.stuck] == ["flow.refused"]
    assert desk.answer(ticket, token).settlement.choice == "approve"


def test_a_fault_of_ours_ends_the_sweep(desk: Desk) -> None:
    """A node that cannot write one settlement will not write the next; whoever asked hears it."""

    def fail(*_: object) -> None:
        raise LedgerFlowError.rolled_back("the database lost entries")

    desk.ticket()
    with raises(LedgerFlowError.rolled_back):
        settle_reviews(
            desk.tools, TENANT, at=desk.at(hours=1), follow_ups=FollowUps(on_settlement={TicketKind.APPROVAL: fail})
        )


def test_the_sweep_passes_over_what_was_settled_since_it_looked(desk: Desk) -> None:
    """The earlier settlement stays the only one."""
    ticket, token = desk.ticket(), desk.session()
    interrupted = desk.interrupted_by(lambda: desk.answer(ticket, token))
    assert settle_reviews(interrupted.tools, TENANT, at=desk.at(hours=1)).settled == ()
    assert view_ticket(desk.tools, looking(None, at=desk.at(hours=2)), ticket.id).settlement.choice == "approve"


def test_two_people_at_once_reach_a_quorum_of_two_once(desk: Desk) -> None:
    """Both are heard, one of them decides, and the decision is recorded once."""
    for _ in range(5):
        ticket = desk.ticket(quorum=2)
        tokens = [desk.session(name) for name in ("user:amira", "user:bo")]
        # The second one's clock is behind: whoever commits last still sees both.
        times = [desk.at(minutes=2), desk.at(minutes=1)]
        jobs = [partial(desk.answer, ticket, token, at=at) for token, at in zip(tokens, times, strict=True)]
        results = at_once([*jobs])
        assert not any(isinstance(one, Error) for one in results), results
        view = view_ticket(desk.tools, looking(None, at=desk.at(minutes=3)), ticket.id)
        assert (view.recorded, view.settlement.choice, len(view.answers)) == (True, "approve", 2)
    assert len(desk.entries(EntryKind.TICKET_SETTLED)) == 5


def test_one_person_at_once_on_many_machines_answers_once(desk: Desk) -> None:
    """A quorum counts people, and a double click is one person."""
    ticket = desk.ticket(quorum=2)
    tokens = [desk.session() for _ in range(4)]
    results = at_once([partial(desk.answer, ticket, token) for token in tokens])
    refused = [one for one in results if is_of(one, ReviewError.already_answered)]
    assert len(refused) == 3
    assert len(desk.entries(EntryKind.TICKET_ANSWERED)) == 1
    assert not view_ticket(desk.tools, looking(None, at=desk.at(minutes=2)), ticket.id).recorded


def test_yes_and_no_at_once_give_one_decision(desk: Desk) -> None:
    """Whoever commits first decides; the other is told, and nothing of the other remains."""
    for _ in range(5):
        ticket = desk.ticket()
        yes, no = desk.session(), desk.session("user:bo")
        before = len(desk.entries(EntryKind.TICKET_ANSWERED))
        results = at_once(
            [
                partial(desk.answer, ticket, yes),
                partial(desk.answer, ticket, no, "reject", reason="no"),
            ]
        )
        assert sum(is_of(one, ReviewError.settled) for one in results) == 1
        assert len(desk.entries(EntryKind.TICKET_ANSWERED)) == before + 1


def test_an_answer_and_the_sweep_at_once_give_one_decision(desk: Desk) -> None:
    """Either the answer came in time and decided, or the time-out did and the answer is refused."""
    for _ in range(5):
        ticket, token = desk.ticket(due_at=desk.at(minutes=5)), desk.session()
        answered, _ = at_once(
            [
                partial(desk.answer, ticket, token, at=desk.at(minutes=4)),
                lambda: settle_reviews(desk.tools, TENANT, at=desk.at(minutes=6)),
            ]
        )
        view = view_ticket(desk.tools, looking(None, at=desk.at(minutes=7)), ticket.id)
        assert view.recorded
        refused = is_of(answered, ReviewError.expired)
        assert view.settlement.state is (SettlementState.EXPIRED if refused else SettlementState.SETTLED)
        assert len(view.answers) == (0 if refused else 1)
