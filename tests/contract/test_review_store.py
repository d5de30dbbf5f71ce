"""The review desk's memory: tickets, answers, settlements, each added once."""

from functools import partial

import pytest
from msgspec.structs import replace

from assay.ports.database import Database, Unit
from assay.ports.review_store import QueuePart
from assay.review.act import Priority
from assay.review.kind import TicketKind
from assay.review.queue import place_in_queue
from assay.review.settle import settle
from tests.contract._kit import refused
from tests.contract._records import ACME, ALICE, BOB, GLOBEX, answer_of, later, ticket


def test_a_ticket_comes_back_as_it_was_asked_and_only_once(database: Database) -> None:
    asked = ticket()
    database.write(lambda unit: unit.review.add_ticket(asked))
    with refused("store.conflict"):
        database.write(lambda unit: unit.review.add_ticket(asked))
    assert database.read(lambda unit: unit.review.find_ticket(ACME, asked.id)) == asked
    assert database.read(lambda unit: unit.review.find_ticket(GLOBEX, asked.id)) is None
    # Judged once: every look at the desk reads all that wait there.
    [again] = database.read(lambda unit: unit.review.tickets(ACME))
    assert again is database.read(lambda unit: unit.review.find_ticket(ACME, asked.id))


def test_tickets_are_listed_in_the_order_they_were_opened(database: Database) -> None:
    asked = [ticket(3), ticket(1), ticket(2)]

    def add(unit: Unit) -> None:
        for one in asked:
            unit.review.add_ticket(one)
        unit.review.add_ticket(ticket(9, GLOBEX))

    database.write(add)
    settled = settle(asked[1], [answer_of(asked[1])], at=later(2))
    database.write(lambda unit: unit.review.add_settlement(ACME, settled))
    assert database.read(lambda unit: unit.review.tickets(ACME)) == tuple(asked)
    assert database.read(lambda unit: unit.review.tickets(ACME, unsettled_only=True)) == (asked[0], asked[2])
    assert database.read(lambda unit: unit.review.tickets(GLOBEX)) == (ticket(9, GLOBEX),)


def test_the_list_goes_on_after_a_position(database: Database) -> None:
    """Of those that wait or of all, of one kind, about one thing; each with where the list goes on after it."""
    asked = [replace(ticket(number), about=f"thing-{number % 2}") for number in (3, 1, 2)]
    other = replace(ticket(4), kind=TicketKind.VALIDATION)

    def add(unit: Unit) -> None:
        for one in (*asked, other):
            unit.review.add_ticket(one)
        unit.review.add_ticket(ticket(9, GLOBEX))
        unit.review.add_settlement(ACME, settle(asked[1], [answer_of(asked[1])], at=later(2)))

    def look(unit: Unit) -> None:
        after = partial(unit.review.tickets_after, ACME)
        assert after(0, limit=2) == ((1, asked[0]), (2, asked[1]))
        assert after(2, limit=9) == ((3, asked[2]), (4, other))
        assert after(0, unsettled_only=True, limit=2) == ((1, asked[0]), (3, asked[2]))
        assert after(0, kind=TicketKind.VALIDATION, limit=9) == ((4, other),)
        assert after(0, about="thing-1", limit=9) == ((1, asked[0]), (2, asked[1]))
        assert after(1, about="thing-1", unsettled_only=True, limit=9) == ()

    database.write(add)
    database.read(look)


def test_the_queue_is_read_from_a_place_on_in_the_order_of_its_places(database: Database) -> None:
    """Open or settled or both, of a kind, about what begins so, due by an instant; a new priority moves a ticket."""
    never, late, soon = ticket(1), replace(ticket(2), due_at=later(90)), replace(ticket(3), due_at=later(60))
    other = replace(ticket(4), kind=TicketKind.VALIDATION, about='é"x')

    def add(unit: Unit) -> None:
        for one in (never, late, soon, other, ticket(9, GLOBEX)):
            unit.review.add_ticket(one)

    def ids(part: QueuePart, after: str | None = None, limit: int = 9) -> list[str]:
        found = database.read(lambda unit: unit.review.queue(ACME, part, after=after, limit=limit))
        assert [one.place for one in found] == sorted(one.place for one in found)
        return [one.ticket.id for one in found]

    database.write(add)
    order = [soon.id, late.id, never.id, other.id]
    assert ids(QueuePart()) == ids(QueuePart(settled=None)) == order
    place = database.read(lambda unit: unit.review.find_place(ACME, late.id))
    assert place == place_in_queue(late, Priority.NORMAL)
    assert ids(QueuePart(), place) == order[2:]
    assert ids(QueuePart(), limit=2) == order[:2]
    assert ids(QueuePart(kind=TicketKind.VALIDATION)) == ids(QueuePart(about='é"')) == [other.id]
    assert ids(QueuePart(due_by=later(60))) == [soon.id]
    assert database.read(lambda unit: unit.review.due_tickets(ACME, later(90))) == (soon.id, late.id)
    assert database.read(lambda unit: unit.review.due_tickets(ACME, later(59))) == ()
    database.write(lambda unit: unit.review.prioritise(other, Priority.URGENT))
    database.write(lambda unit: unit.review.prioritise(soon, Priority.LOW))
    assert ids(QueuePart()) == [other.id, late.id, never.id, soon.id]
    database.write(lambda unit: unit.review.add_settlement(ACME, settle(late, [answer_of(late)], at=later(2))))
    assert ids(QueuePart()) == [other.id, never.id, soon.id]
    assert ids(QueuePart(settled=True)) == [late.id]
    assert ids(QueuePart(settled=None)) == [other.id, late.id, never.id, soon.id]
    assert database.read(lambda unit: unit.review.due_tickets(ACME, later(90))) == (soon.id,)
    for one in (soon, never, late):
        database.write(lambda unit, one=one: unit.review.add_answer(answer_of(one)))  # type: ignore[misc]  # at once
    assert database.read(lambda unit: unit.review.answered_tickets(ACME)) == (never.id, soon.id)
    assert database.read(lambda unit: unit.review.find_place(GLOBEX, late.id)) is None


@pytest.mark.parametrize("about", ["key:a", 'a "quoted" \\ name', "é 🌊", "x" * 500])
def test_the_open_tickets_about_a_thing_are_found_by_it(database: Database, about: str) -> None:
    """Of that kind and tenant, in their order; what is settled is not open, and a document may hold anything."""
    asked = [replace(ticket(number), about=about) for number in (3, 1, 2)]
    others = [
        ticket(4),
        replace(ticket(5), about="other"),
        replace(ticket(6), about=about, kind=TicketKind.VALIDATION),
        replace(ticket(7, GLOBEX), about=about),
        replace(ticket(8), about="null"),
    ]

    def add(unit: Unit) -> None:
        for one in (*asked, *others):
            unit.review.add_ticket(one)
        unit.review.add_settlement(ACME, settle(asked[1], [answer_of(asked[1])], at=later(2)))

    database.write(add)
    found = database.read(lambda unit: unit.review.open_tickets_about(ACME, TicketKind.APPROVAL, about))
    assert found == (asked[0], asked[2])
    newest = database.read(lambda unit: unit.review.open_tickets_on(ACME, TicketKind.APPROVAL, [about, "no", "other"]))
    assert newest == {about: asked[2], "other": others[1]}
    nothing = database.read(lambda unit: unit.review.open_tickets_about(GLOBEX, TicketKind.VALIDATION, about))
    assert nothing == ()


def test_each_person_answers_once_and_answers_keep_their_order(database: Database) -> None:
    asked = ticket()
    answers = (answer_of(asked, BOB), answer_of(asked, ALICE))
    database.write(lambda unit: unit.review.add_ticket(asked))
    for one in answers:
        database.write(lambda unit, one=one: unit.review.add_answer(one))  # type: ignore[misc]  # bound at once
    with refused("store.conflict"):
        database.write(lambda unit: unit.review.add_answer(answer_of(asked, BOB)))
    assert database.read(lambda unit: unit.review.answers(ACME, asked.id)) == answers
    assert database.read(lambda unit: unit.review.answers(GLOBEX, asked.id)) == ()


def test_many_tickets_their_answers_and_settlements_are_read_at_once(database: Database) -> None:
    first, second, third = ticket(1), ticket(2), ticket(3)
    settled = settle(second, [answer_of(second)], at=later(2))

    def add(unit: Unit) -> None:
        for one in (first, second, third):
            unit.review.add_ticket(one)
        for given in (answer_of(first, BOB), answer_of(second), answer_of(first, ALICE)):
            unit.review.add_answer(given)
        unit.review.add_settlement(ACME, settled)

    def look(unit: Unit) -> None:
        found = unit.review.answers_on(ACME, [first.id, third.id, first.id])
        assert found == unit.review.answers(ACME, first.id)
        assert len(unit.review.answers_on(ACME, [first.id, second.id])) == 3
        assert unit.review.settlements_on(ACME, [first.id, second.id]) == (settled,)
        assert unit.review.answers_on(GLOBEX, [first.id]) == ()
        assert unit.review.settlements_on(ACME, []) == ()
        assert set(unit.review.find_tickets(ACME, [third.id, first.id, third.id, ticket(4).id])) == {first, third}
        assert unit.review.find_tickets(GLOBEX, [first.id]) == unit.review.find_tickets(ACME, []) == ()

    database.write(add)
    database.read(look)


def test_a_ticket_is_settled_once(database: Database) -> None:
    asked = ticket()
    settled = settle(asked, [answer_of(asked)], at=later(2))
    assert database.read(lambda unit: unit.review.find_settlement(ACME, asked.id)) is None
    database.write(lambda unit: unit.review.add_settlement(ACME, settled))
    with refused("store.conflict"):
        database.write(lambda unit: unit.review.add_settlement(ACME, settled))
    assert database.read(lambda unit: unit.review.find_settlement(ACME, asked.id)) == settled
