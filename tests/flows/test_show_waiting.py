"""What waits for one person, and which ticket comes next."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from assay.flows.review.act_review import act_review, assign_wish, claim_wish, priority_wish
from assay.flows.review.answer_desk import answer_desk
from assay.flows.review.desk_settings import DeskSettings
from assay.flows.review.show_queue import NextTicket, ShowQueue, next_ticket, page_queue, queue, turn_of
from assay.flows.show_overview import show_overview
from assay.identity.principal import Principal
from assay.kernel.ids import PrincipalId, TicketId
from assay.review.act import Priority
from assay.review.draft import Reply
from assay.review.kind import TicketKind
from assay.review.queue import QueueFilter
from assay.review.ticket import Ticket
from tests.acting import caller_of, looking
from tests.flows._people import TENANT, Desk, opened_desk

BO = PrincipalId("user:bo")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path) as one:
        for name in ("user:amira", "user:bo"):
            one.add(name)
        one.add("user:olga", roles=("operator",))
        yield one


def _who(desk: Desk, name: str) -> Principal:
    found = desk.read(lambda unit: unit.identity.find_principal(TENANT, PrincipalId(name)))
    assert found is not None
    return found


def _waiting(desk: Desk, name: str) -> set[TicketId]:
    caller = looking(_who(desk, name), at=desk.at(minutes=5))
    page = page_queue(desk.tools, caller, QueueFilter(), only=turn_of(desk.tools, caller), counted=True)
    asked = queue(desk.tools, caller, ShowQueue(mine=True))
    assert asked.items == page.tickets
    assert page.total == len(page.tickets)
    return {one.ticket.id for one in page.tickets}


def test_what_somebody_answered_or_asked_for_does_not_wait_for_them(desk: Desk) -> None:
    """Others are still asked; one's own request is for others alone."""
    both, own = desk.ticket(quorum=2), desk.ticket(requested_by=PrincipalId("user:amira"))
    desk.answer(both, desk.session())
    assert _waiting(desk, "user:amira") == set()
    assert _waiting(desk, "user:bo") == {both.id, own.id}
    assert _waiting(desk, "user:olga") == set()


def test_an_answer_that_can_still_be_undone_was_given(desk: Desk) -> None:
    ticket = desk.ticket()
    grace = DeskSettings(grace={TicketKind.APPROVAL: timedelta(minutes=30)})
    patient = replace(desk, tools=replace(desk.tools, desk=grace))
    reply = Reply(choice="approve", seen=ticket.shown_hash)
    answer_desk(patient.tools, caller_of(patient.tools, desk.session(), at=desk.at(minutes=1)), ticket.id, reply)
    assert (_waiting(desk, "user:amira"), _waiting(desk, "user:bo")) == (set(), {ticket.id})


def test_what_others_were_given_or_work_on_waits_for_them(desk: Desk) -> None:
    """A ticket that two must answer has two places."""
    given, taken, shared = desk.ticket(), desk.ticket(), desk.ticket(quorum=2)
    amira, at = desk.session(), desk.at(minutes=1)
    act_review(desk.tools, caller_of(desk.tools, amira, at=at), given.id, assign_wish(person=BO, role=None))
    for one in (taken, shared):
        act_review(desk.tools, caller_of(desk.tools, amira, at=at), one.id, claim_wish(desk.tools))
    assert _waiting(desk, "user:amira") == {taken.id, shared.id}
    assert _waiting(desk, "user:bo") == {given.id, shared.id}


def test_the_next_ticket_follows_in_the_order_of_the_queue_and_the_last_leads_to_the_first(desk: Desk) -> None:
    """Nobody is led in a circle to the one that they look at, nor out of the filter that they work through."""
    first, second, third = (desk.ticket(due_at=desk.at(hours=n), about=f"x:{n}") for n in (1, 2, 3))
    bo = _who(desk, "user:bo")

    def after(ticket: Ticket | None, about: str | None = None) -> TicketId | None:
        given = None if ticket is None else ticket.id
        wanted = NextTicket(after=given, about=about)
        return next_ticket(desk.tools, looking(bo, at=desk.at(minutes=5)), wanted).ticket_id

    assert [after(one) for one in (None, first, second, third)] == [first.id, second.id, third.id, first.id]
    act_review(
        desk.tools,
        caller_of(desk.tools, desk.session(), at=desk.at(minutes=1)),
        third.id,
        priority_wish(Priority.URGENT),
    )
    assert [after(one) for one in (None, third, second)] == [third.id, first.id, third.id]
    assert after(third, "x:3") is None
    desk.answer(first, desk.session("user:bo"))
    assert after(first) == second.id


def test_the_overview_counts_every_ticket_and_those_that_wait_for_the_viewer(desk: Desk) -> None:
    """However many there are: a number that stops at a round figure would be believed."""
    for _ in range(205):
        desk.ticket()
    desk.ticket(eligible_roles=("operator",), kind=TicketKind.RESTORE, due_at=None)
    olga = show_overview(desk.tools, looking(_who(desk, "user:olga"), at=desk.at(minutes=5)))
    assert (len(olga.waiting), len(olga.own), len(olga.fired)) == (206, 1, 1)
    late = show_overview(desk.tools, looking(None, at=desk.at(hours=2)))
    assert (late.overdue, late.own) == (205, ())
