"""What the desk remembers beside tickets and answers: history that stays, and what comes and goes."""

from msgspec import Raw
from msgspec.structs import replace

from assay.kernel.canonical import canonicalize
from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.ledger import Event
from assay.ports.database import Database, Unit
from assay.ports.desk_store import StoredAct, StoredEscalation
from assay.review.escalate import Stage
from assay.review.settle import settle
from tests.contract._desk import TICKET, draft, held, lease, record_act, record_escalation, view
from tests.contract._kit import AT, refused
from tests.contract._records import ACME, ALICE, BOB, GLOBEX, answer_of, later, note, ticket

OTHER = ticket(2).id


def test_acts_come_back_in_the_order_of_their_entries(database: Database) -> None:
    first, other, third = database.write(
        lambda unit: (record_act(unit), record_act(unit, number=2), record_act(unit, BOB))
    )
    assert database.read(lambda unit: unit.desk.acts(ACME, TICKET)) == (first, third)
    assert database.read(lambda unit: unit.desk.acts(ACME, OTHER)) == (other,)
    assert database.read(lambda unit: unit.desk.acts(GLOBEX, TICKET)) == ()


def test_each_stage_is_told_once(database: Database) -> None:
    near = database.write(record_escalation)
    with refused("store.conflict"):
        database.write(record_escalation)
    passed = database.write(lambda unit: record_escalation(unit, Stage.PASSED))
    found = database.read(lambda unit: unit.desk.escalations(ACME, TICKET))
    assert found == (near, passed)
    assert passed.sequence_number == near.sequence_number + 1
    assert database.read(lambda unit: unit.desk.escalations(GLOBEX, TICKET)) == ()


def test_a_person_has_one_lease_of_a_ticket_and_it_can_be_moved_and_dropped(database: Database) -> None:
    def add(unit: Unit) -> None:
        unit.desk.put_lease(ACME, lease(until=later(1)))
        unit.desk.put_lease(ACME, lease(BOB, later(2)))
        unit.desk.put_lease(ACME, lease(until=later(3)))
        unit.desk.put_lease(ACME, lease(until=later(4), ticket_id=OTHER))
        unit.desk.put_lease(GLOBEX, lease(until=later(5)))

    database.write(add)
    assert database.read(lambda unit: unit.desk.leases(ACME, TICKET)) == (lease(until=later(3)), lease(BOB, later(2)))
    assert len(database.read(lambda unit: unit.desk.leases_of(ACME, [ALICE]))) == 2
    database.write(lambda unit: unit.desk.drop_lease(ACME, TICKET, ALICE))
    assert database.read(lambda unit: unit.desk.leases(ACME, TICKET)) == (lease(BOB, later(2)),)
    assert len(database.read(lambda unit: unit.desk.leases(GLOBEX, TICKET))) == 1


def test_what_is_about_many_tickets_is_read_at_once(database: Database) -> None:
    """As ticket by ticket, however many are asked about; one that is named twice, or not known, adds nothing."""
    asked = [TICKET, OTHER, TICKET, *(TicketId(f"tkt_{number:032x}") for number in range(700))]

    def add(unit: Unit) -> tuple[StoredAct, StoredAct, StoredAct, StoredEscalation]:
        recorded = record_act(unit), record_act(unit, number=2), record_act(unit, BOB), record_escalation(unit)
        for by, ticket_id in ((BOB, TICKET), (ALICE, TICKET), (ALICE, OTHER)):
            unit.desk.put_lease(ACME, lease(by, later(1), ticket_id=ticket_id))
        return recorded

    def look(unit: Unit) -> None:
        assert unit.desk.acts_on(ACME, asked) == (first, second, third)
        assert unit.desk.escalations_on(ACME, asked) == (near,)
        assert unit.desk.leases_on(ACME, [TICKET]) == unit.desk.leases(ACME, TICKET)
        assert len(unit.desk.leases_on(ACME, asked)) == 3
        assert unit.desk.acts_on(ACME, []) == unit.desk.acts_on(GLOBEX, asked) == ()

    first, second, third, near = database.write(add)
    database.read(look)


def test_held_answers_are_listed_when_their_time_has_come(database: Database) -> None:
    """The earliest first; one of each person and ticket at a time, and another only after it is gone."""

    def add(unit: Unit) -> None:
        unit.desk.hold(ACME, held(until=later(2)))
        unit.desk.hold(ACME, held(BOB, later(1)))
        unit.desk.hold(ACME, held(until=later(3), ticket_id=OTHER))
        unit.desk.hold(GLOBEX, held(until=AT))

    database.write(add)
    with refused("store.conflict"):
        database.write(lambda unit: unit.desk.hold(ACME, held()))
    assert database.read(lambda unit: unit.desk.held_until(ACME, AT)) == ()
    due = database.read(lambda unit: unit.desk.held_until(ACME, later(2)))
    assert due == (held(BOB, later(1)), held(until=later(2)))
    assert len(database.read(lambda unit: unit.desk.held_of(ACME, [ALICE]))) == 2
    database.write(lambda unit: unit.desk.drop_held(ACME, TICKET, ALICE))
    assert database.read(lambda unit: unit.desk.find_held(ACME, TICKET, ALICE)) is None
    database.write(lambda unit: unit.desk.hold(ACME, held()))
    assert database.read(lambda unit: unit.desk.find_held(ACME, TICKET, ALICE)) == held()


def test_a_draft_is_kept_for_one_person_until_it_is_dropped(database: Database) -> None:
    database.write(lambda unit: unit.desk.save_draft(ACME, draft()))
    database.write(lambda unit: unit.desk.save_draft(ACME, draft(text='{"reason":"é 🌊"}')))
    assert database.read(lambda unit: unit.desk.find_draft(ACME, TICKET, ALICE)) == draft(text='{"reason":"é 🌊"}')
    assert database.read(lambda unit: unit.desk.find_draft(ACME, TICKET, BOB)) is None
    assert database.read(lambda unit: unit.desk.find_draft(GLOBEX, TICKET, ALICE)) is None
    database.write(lambda unit: unit.desk.drop_draft(ACME, TICKET, ALICE))
    assert database.read(lambda unit: unit.desk.find_draft(ACME, TICKET, ALICE)) is None


def test_a_decided_ticket_is_cleared_of_leases_and_drafts_and_of_nothing_else(database: Database) -> None:
    def add(unit: Unit) -> None:
        unit.desk.put_lease(ACME, lease())
        unit.desk.save_draft(ACME, draft(BOB))
        unit.desk.put_lease(ACME, lease(ticket_id=OTHER))
        unit.desk.hold(ACME, held())
        record_act(unit)
        unit.desk.clear_ticket(ACME, TICKET)

    database.write(add)
    assert database.read(lambda unit: unit.desk.leases(ACME, TICKET)) == ()
    assert database.read(lambda unit: unit.desk.find_draft(ACME, TICKET, BOB)) is None
    assert database.read(lambda unit: unit.desk.leases(ACME, OTHER)) != ()
    assert database.read(lambda unit: unit.desk.find_held(ACME, TICKET, ALICE)) is not None
    assert database.read(lambda unit: unit.desk.acts(ACME, TICKET)) != ()


def test_views_are_ones_own_and_those_that_others_share(database: Database) -> None:
    def add(unit: Unit) -> None:
        unit.desk.save_view(ACME, view("b"))
        unit.desk.save_view(ACME, view("a", BOB, shared=1))
        unit.desk.save_view(ACME, view("c", BOB))
        unit.desk.save_view(ACME, view("b", text='{"kind":"approval"}'))
        unit.desk.save_view(GLOBEX, view("d", BOB, shared=1))

    database.write(add)
    found = database.read(lambda unit: unit.desk.views(ACME, ALICE))
    assert found == (view("a", BOB, shared=1), view("b", text='{"kind":"approval"}'))
    assert database.read(lambda unit: unit.desk.find_view(ACME, BOB, "c")) == view("c", BOB)
    database.write(lambda unit: unit.desk.drop_view(ACME, ALICE, "b"))
    assert database.read(lambda unit: unit.desk.find_view(ACME, ALICE, "b")) is None


def test_what_a_person_answered_comes_with_question_and_outcome(database: Database) -> None:
    asked = [ticket(1), ticket(2), ticket(3)]
    settled = settle(asked[0], [answer_of(asked[0])], at=later(2))

    def add(unit: Unit) -> None:
        for one in asked:
            unit.review.add_ticket(one)
        unit.review.add_answer(answer_of(asked[0]))
        unit.review.add_answer(answer_of(asked[1]))
        unit.review.add_answer(answer_of(asked[2], BOB))
        unit.review.add_settlement(ACME, settled)

    database.write(add)
    given = database.read(lambda unit: tuple(unit.review.answers_by(ACME, [ALICE])))
    assert {one.ticket.id: one.settlement for one in given} == {asked[0].id: settled, asked[1].id: None}
    assert all(one.answer == answer_of(one.ticket) for one in given)
    assert database.read(lambda unit: unit.review.reviewers(ACME, limit=9)) == (ALICE, BOB)
    assert database.read(lambda unit: unit.review.reviewers(ACME, after=ALICE, limit=9)) == (BOB,)
    assert database.read(lambda unit: unit.review.reviewers(ACME, limit=1)) == (ALICE,)
    assert database.read(lambda unit: tuple(unit.review.answers_by(GLOBEX, [ALICE]))) == ()


def test_what_many_people_did_is_read_at_once(database: Database) -> None:
    """As one by one, however many are asked about; one that is named twice, or did nothing, adds nothing."""
    people = [BOB, ALICE, BOB, *(PrincipalId(f"user:{number}") for number in range(700))]
    asked = [ticket(1), ticket(2)]

    def add(unit: Unit) -> None:
        for one in asked:
            unit.review.add_ticket(one)
        for one, by in ((asked[0], BOB), (asked[0], ALICE), (asked[1], BOB)):
            unit.review.add_answer(answer_of(one, by))
        for by, ticket_id in ((BOB, TICKET), (ALICE, TICKET), (ALICE, OTHER)):
            unit.desk.put_lease(ACME, lease(by, later(1), ticket_id=ticket_id))
        unit.desk.hold(ACME, held(BOB, later(5)))

    def look(unit: Unit) -> None:
        each = [*unit.review.answers_by(ACME, [ALICE]), *unit.review.answers_by(ACME, [BOB])]
        assert [one.answer.by for one in each] == [ALICE, BOB, BOB]
        assert list(unit.review.answers_by(ACME, people)) == each
        assert sorted(one.by for one in unit.desk.leases_of(ACME, people)) == [ALICE, ALICE, BOB]
        assert unit.desk.held_of(ACME, people) == (held(BOB, later(5)),)
        assert list(unit.review.answers_by(ACME, [])) == list(unit.review.answers_by(GLOBEX, people)) == []
        assert unit.desk.leases_of(ACME, []) == unit.desk.leases_of(GLOBEX, people) == ()

    database.write(add)
    database.read(look)


def test_the_entries_about_a_ticket_are_found_by_it(database: Database) -> None:
    """In order, of this tenant alone; what other entries are about is not in the way."""
    about = Event(type="ticket.opened", subject=TICKET, body=Raw(canonicalize({})))

    def add(unit: Unit) -> list[int]:
        drafts = [note(1, events=2), note(2), note(3), note(4, GLOBEX), note(5)]
        chosen = {1, 3, 4}
        receipts = []
        for place, one in enumerate(drafts):
            events = (*one.events, about, about) if place in chosen else one.events
            receipts.append(unit.record(replace(one, events=events)))
        return [receipts[1].sequence_number, receipts[4].sequence_number]

    expected = database.write(add)
    assert database.read(lambda unit: unit.outbox.entries_about(ACME, TICKET)) == tuple(expected)
    assert database.read(lambda unit: unit.outbox.entries_about(ACME, OTHER)) == ()
