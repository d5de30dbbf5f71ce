"""What answers and time amount to: quorum, veto, time-out; the same for every order."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.kernel.digest import ZERO_DIGEST
from assay.review.answer import UnsignedAnswer
from assay.review.errors import ReviewError
from assay.review.kind import KIND_RULES, OnExpiry, TicketKind
from assay.review.settle import SettlementState, Tally, conclude, settle, withdraw
from assay.review.ticket import Ticket
from tests.identity.people import NOON, later
from tests.raising import raises
from tests.review.desk import make_answer, make_ticket

TWO = make_ticket(quorum=2)
VOTE = make_ticket(kind=TicketKind.VALIDATION, quorum=2)


def test_nothing_said_is_nothing_allowed() -> None:
    """An unanswered ticket is open: not denied, and no choice is made."""
    standing = settle(TWO, [], at=NOON)
    assert (standing.state, standing.choice, standing.denied) == (SettlementState.OPEN, None, False)
    assert standing.is_open
    assert standing.reason == "waiting: 0 of 2 agree"


def test_a_quorum_is_different_people_with_the_same_choice() -> None:
    """The instant of the last needed answer is the settlement's."""
    first, second = make_answer(TWO, "user:a", "approve", NOON), make_answer(TWO, "user:b", "approve", later(minutes=3))
    assert settle(TWO, [first], at=later(minutes=5)).is_open
    done = settle(TWO, [first, second], at=later(minutes=5))
    assert (done.state, done.choice, done.denied) == (SettlementState.SETTLED, "approve", False)
    assert done.settled_at == later(minutes=3)
    assert done.counted == (Tally(choice="approve", by=("user:a", "user:b")),)  # type: ignore[arg-type]  # ids as text


def test_one_person_twice_is_one_person() -> None:
    """The second answer of a person is ignored, whatever it says."""
    answers = [make_answer(TWO, "user:a", choice, later(minutes=n)) for n, choice in enumerate(["approve", "approve"])]
    standing = settle(TWO, answers, at=later(minutes=9))
    assert (standing.is_open, standing.ignored) == (True, 1)
    turned = [make_answer(TWO, "user:a", "approve"), make_answer(TWO, "user:a", "reject", later(minutes=1))]
    assert settle(TWO, turned, at=later(minutes=9)).is_open


@pytest.mark.parametrize("kind", [kind for kind, rule in KIND_RULES.items() if rule.veto])
def test_one_rejection_decides_where_the_kind_has_a_veto(kind: TicketKind) -> None:
    """Among any number of approvals that have not yet reached the quorum."""
    ticket = make_ticket(kind=kind, quorum=3)
    accept, reject = ticket.choices[0], ticket.rejecting[0]
    answers = [make_answer(ticket, "user:a", accept), make_answer(ticket, "user:b", accept, later(minutes=1))]
    answers.append(make_answer(ticket, "user:c", reject, later(minutes=2)))
    standing = settle(ticket, answers, at=later(minutes=9))
    assert (standing.state, standing.choice, standing.denied) == (SettlementState.SETTLED, reject, True)
    assert "one is enough" in standing.reason


def test_without_a_veto_every_choice_needs_its_quorum() -> None:
    """Answers are counted per choice."""
    cause = make_ticket(kind=TicketKind.ROOT_CAUSE, quorum=2)
    answers = [make_answer(cause, "user:a", "rule_failure"), make_answer(cause, "user:b", "routing_failure")]
    assert settle(cause, answers, at=NOON).is_open
    answers.append(make_answer(cause, "user:c", "rule_failure", later(minutes=1)))
    standing = settle(cause, answers, at=later(minutes=1))
    assert (standing.choice, standing.denied, standing.reason) == ("rule_failure", False, "2 chose `rule_failure`")


def test_no_number_of_votes_settles_what_the_room_decides() -> None:
    """People of different standing weigh differently, and only the room knows how; silence is for the room too."""
    answers = [make_answer(VOTE, f"user:{name}", "ratify") for name in "abcdef"]
    standing = settle(VOTE, answers, at=NOON)
    assert (standing.is_open, standing.reason) == (True, "waiting for the room: 6 answered")
    overdue = settle(VOTE, answers, at=later(hours=2))
    assert (overdue.is_open, overdue.overdue) == (True, True)
    assert overdue.reason == "due, and waiting for the room: 6 answered"


@pytest.mark.parametrize(("choice", "denied"), [("ratify", False), ("reject", True), (None, True)])
def test_the_room_concludes_its_ticket(choice: str | None, denied: bool) -> None:  # noqa: FBT001  a parameter
    """By a choice or by none, which denies; who answered stays visible, and what comes later is ignored."""
    answers = [make_answer(VOTE, "user:a", "ratify"), make_answer(VOTE, "user:b", "ratify", later(minutes=9))]
    done = conclude(VOTE, answers, choice=choice, reason="VERIFIED_TRUE", at=later(minutes=5))
    assert (done.state, done.choice, done.denied) == (SettlementState.SETTLED, choice, denied)
    assert (done.reason, done.settled_at, done.ignored) == ("VERIFIED_TRUE", later(minutes=5), 1)
    assert done.counted == (Tally(choice="ratify", by=("user:a",)),)  # type: ignore[arg-type]  # ids as text


def test_a_withdrawn_ticket_allows_nothing() -> None:
    """What it showed is not so any more, whatever was answered."""
    answers = [make_answer(VOTE, "user:a", "ratify")]
    done = withdraw(VOTE, answers, reason="the claim changed", at=later(minutes=5))
    assert (done.state, done.choice, done.denied) == (SettlementState.WITHDRAWN, None, True)
    assert (done.is_open, len(done.counted)) == (False, 1)


def test_no_room_decides_in_peoples_place() -> None:
    """An approval can be neither concluded nor withdrawn, and no ticket ends in a choice it does not offer."""
    with raises(ReviewError.not_by_room):
        conclude(TWO, [], choice="approve", reason="because", at=NOON)
    with raises(ReviewError.not_by_room):
        withdraw(TWO, [], reason="because", at=NOON)
    with raises(ReviewError.unknown_choice):
        conclude(VOTE, [], choice="approve", reason="because", at=NOON)


def test_of_answers_at_the_same_instant_the_stricter_one_decides() -> None:
    """A tie is no way around a rejection."""
    one = make_ticket()
    answers = [make_answer(one, "user:a", "approve"), make_answer(one, "user:z", "reject")]
    for given_answers in (answers, answers[::-1]):
        assert settle(one, given_answers, at=NOON).choice == "reject"


def test_a_time_out_denies_an_approval() -> None:
    """From the due instant on; what came before it stays visible."""
    answers = [make_answer(TWO, "user:a", "approve")]
    assert settle(TWO, answers, at=later(minutes=59)).is_open
    standing = settle(TWO, answers, at=later(hours=1))
    assert (standing.state, standing.choice, standing.denied) == (SettlementState.EXPIRED, None, True)
    assert (standing.overdue, standing.settled_at) == (True, later(hours=1))
    assert standing.reason == "due, and 1 of 2 agree: denied"


def test_an_answer_at_or_after_the_time_out_is_too_late() -> None:
    """Even if it would have completed the quorum."""
    answers = [make_answer(TWO, "user:a", "approve"), make_answer(TWO, "user:b", "approve", later(hours=1))]
    standing = settle(TWO, answers, at=later(hours=2))
    assert (standing.state, standing.denied, standing.ignored) == (SettlementState.EXPIRED, True, 1)


@pytest.mark.parametrize("kind", [TicketKind.ROOT_CAUSE, TicketKind.ATTESTATION, TicketKind.RESTORE])
def test_what_stays_open_is_overdue_and_can_still_be_answered(kind: TicketKind) -> None:
    """No time-out closes a root cause, attests a verdict or restores a kill switch."""
    ticket = make_ticket(kind=kind)
    standing = settle(ticket, [], at=later(days=400))
    assert (standing.is_open, standing.overdue, standing.denied) == (True, True, False)
    assert standing.reason == "due and still open: 0 of 1 agree"
    answer = make_answer(ticket, "user:a", ticket.choices[0], later(days=401))
    assert settle(ticket, [answer], at=later(days=401)).choice == ticket.choices[0]


@pytest.mark.parametrize(("default", "denied"), [("reject", True), ("ratify", False)])
def test_a_default_choice_is_made_by_the_time_out(default: str, denied: bool) -> None:  # noqa: FBT001  a parameter
    """Only where the kind and the ticket say so."""
    ticket = make_ticket(kind=TicketKind.VALIDATION, on_expiry=OnExpiry.DEFAULT_CHOICE, default_choice=default)
    standing = settle(ticket, [], at=later(hours=1))
    assert (standing.state, standing.choice, standing.denied) == (SettlementState.EXPIRED, default, denied)


def test_a_ticket_without_a_due_time_waits() -> None:
    """It is neither due nor decided."""
    standing = settle(make_ticket(due_at=None), [], at=later(days=4000))
    assert (standing.is_open, standing.overdue) == (True, False)


@pytest.mark.parametrize(
    "changes",
    [
        {"ticket_id": "tkt_" + "b" * 26},
        {"tenant_id": "other"},
        {"seen_hash": ZERO_DIGEST},
        {"choice": "maybe"},
        {"by": "ai:planner"},
        {"by": "service:node"},
        {"answered_at": later(seconds=-1)},
        {"answered_at": later(minutes=30)},
    ],
)
def test_an_answer_that_is_not_bound_to_the_ticket_or_not_yet_given_counts_for_nothing(changes: dict[str, Any]) -> None:
    """Bound elsewhere, of something else, by the requester, or of another time."""
    answer = replace(make_answer(make_ticket(), "user:a", "approve"), **changes)
    standing = settle(make_ticket(), [answer], at=later(minutes=1))
    assert (standing.is_open, standing.ignored, standing.counted) == (True, 1, ())


TICKETS = [TWO, VOTE, make_ticket(), make_ticket(kind=TicketKind.ROOT_CAUSE, quorum=2), make_ticket(due_at=None)]


@st.composite
def answered(draw: st.DrawFn) -> tuple[Ticket, list[UnsignedAnswer]]:
    """A ticket and up to eight answers, with repeats of people and instants, some of them late."""
    ticket = draw(st.sampled_from(TICKETS))
    one = st.builds(
        lambda by, choice, minute: make_answer(ticket, f"user:{by}", choice, later(minutes=minute)),
        st.sampled_from("abcde"),
        st.sampled_from(ticket.choices),
        st.integers(0, 80),
    )
    return ticket, draw(st.lists(one, max_size=8))


@given(case=answered(), minute=st.integers(0, 100), data=st.data())
def test_the_order_in_which_answers_are_read_does_not_matter(
    case: tuple[Ticket, list[UnsignedAnswer]], minute: int, data: st.DataObject
) -> None:
    """Two stores that return the same answers in another order agree on everything."""
    ticket, answers = case
    shuffled = data.draw(st.permutations(answers))
    assert settle(ticket, answers, at=later(minutes=minute)) == settle(ticket, shuffled, at=later(minutes=minute))


@given(case=answered(), minute=st.integers(0, 100), more=st.integers(0, 100))
def test_what_is_decided_stays_decided(case: tuple[Ticket, list[UnsignedAnswer]], minute: int, more: int) -> None:
    """As time passes and later answers appear, a settlement keeps its choice, its instant and its count."""
    ticket, answers = case
    now, then = later(minutes=minute), later(minutes=minute + more)
    before = settle(ticket, [one for one in answers if one.answered_at <= now], at=now)
    after = settle(ticket, answers, at=then)
    if not before.is_open:
        assert replace(after, ignored=0) == replace(before, ignored=0)


@given(case=answered(), minute=st.integers(0, 100))
def test_a_settlement_is_earned(case: tuple[Ticket, list[UnsignedAnswer]], minute: int) -> None:
    """Against a plain count: an accepting choice has a quorum of different people, all in time and none rejecting."""
    ticket, answers = case
    standing = settle(ticket, answers, at=later(minutes=minute))
    if standing.state is SettlementState.SETTLED and not standing.denied:
        people = {
            one.by for one in answers if one.choice == standing.choice and one.answered_at <= later(minutes=minute)
        }
        assert len(people) >= ticket.quorum
        rejecting = [tally for tally in standing.counted if tally.choice in ticket.rejecting]
        assert not (ticket.rule.veto and rejecting)
    assert sum(len(tally.by) for tally in standing.counted) + standing.ignored == len(answers)
