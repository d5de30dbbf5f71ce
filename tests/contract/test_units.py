"""Units of work: all of it or none of it, whoever else shares the commit."""

import threading
from typing import Never

import pytest

from assay.ports.database import Database, Unit
from tests.contract._kit import Kit, refused
from tests.contract._people import add_person
from tests.contract._records import ACME, ALICE, GLOBEX, note, person, ticket, transcript
from tests.contract.test_append import entries_of, verify_chain


class _OwnMistakeError(Exception):
    """What a unit of work may raise by itself."""


def _fail_after_writing(unit: Unit) -> Never:
    unit.record(note(99, events=3))
    unit.record(note(99, GLOBEX))
    add_person(unit, person())
    unit.review.add_ticket(ticket())
    unit.transcripts.add(ACME, transcript())
    unit.outbox.confirm(ACME, "reader", 7)
    raise _OwnMistakeError


def _traces(unit: Unit) -> tuple[object, ...]:
    return (
        unit.ledger.tenants(),
        unit.ledger.head(ACME).sequence_number,
        unit.identity.principals(ACME),
        unit.review.tickets(ACME),
        list(unit.transcripts.all(ACME)),
        unit.outbox.cursor(ACME, "reader"),
        unit.outbox.events(ACME, after=0, limit=9),
    )


def test_a_unit_writes_to_every_store_and_answers(database: Database) -> None:
    def work(unit: Unit) -> str:
        add_person(unit, person())
        receipt = unit.record(note(1, events=1))
        assert unit.ledger.head(ACME) == (ACME, 2, receipt.entry_hash)
        assert unit.identity.find_principal(ACME, ALICE) == person()
        return receipt.entry_hash

    entry_hash = database.write(work)
    assert entries_of(database)[-1].entry_hash == entry_hash
    assert database.read(lambda unit: unit.identity.find_principal(ACME, ALICE)) == person()


def test_an_entry_is_found_by_its_number_from_the_unit_that_appends_it_on(database: Database) -> None:
    """Rows that share a commit name entries of that commit: whoever follows the name finds what will be stored."""
    database.append(note(1))

    def work(unit: Unit) -> tuple[object, ...]:
        for number in (2, 3):
            unit.record(note(number))
        found = unit.ledger.find_entry(ACME, 3)
        return found, unit.ledger.texts(ACME, (1, 2, 3, 4)), unit.ledger.find_entry(ACME, 4)

    found, texts, none = database.write(work)
    assert none is None
    assert found == database.read(lambda unit: unit.ledger.find_entry(ACME, 3))
    assert texts == database.read(lambda unit: unit.ledger.texts(ACME, (1, 2, 3, 4)))
    with pytest.raises(_OwnMistakeError):
        database.write(_fail_after_writing)
    assert database.write(lambda unit: unit.ledger.find_entry(ACME, 4)) is None


def test_a_unit_that_raises_leaves_nothing_and_its_error_reaches_the_caller(database: Database) -> None:
    with pytest.raises(_OwnMistakeError):
        database.write(_fail_after_writing)
    assert database.read(_traces) == ((), 0, (), (), [], 0, ())
    assert database.append(note()).sequence_number == 1


def test_a_unit_that_the_database_refuses_leaves_nothing(database: Database) -> None:
    """Here a text that has no UTF-8; the writer goes on."""

    def work(unit: Unit) -> None:
        unit.record(note(1))
        unit.review.add_ticket(ticket())
        unit.outbox.confirm(ACME, "lone \ud800", 1)

    with refused("store.unstorable_text"):
        database.write(work)
    assert database.read(lambda unit: unit.review.tickets(ACME)) == ()
    assert database.append(note()).sequence_number == 1


def test_what_shares_a_commit_with_a_failing_unit_is_kept(kit: Kit, database: Database) -> None:
    """Appends before, between and after failing units of the same batch, on chains old and new, all succeed."""
    database.append(note(0, GLOBEX))
    gate = threading.Event()
    blocker = database._writer().submit(lambda _unit: gate.wait(20))  # type: ignore[attr-defined]  # one batch behind it
    kept = [database.submit(note(1, events=1))]
    failing = [database._writer().submit(_fail_after_writing)]  # type: ignore[attr-defined]  # without waiting
    kept.append(database.submit(note(2, GLOBEX)))
    failing.append(database._writer().submit(_fail_after_writing))  # type: ignore[attr-defined]  # without waiting
    kept.append(database.submit(note(3, events=1)))
    gate.set()
    blocker.result(20)
    assert [one.result(20).sequence_number for one in kept] == [1, 2, 2]
    for one in failing:
        with pytest.raises(_OwnMistakeError):
            one.result(20)
    # Two batches at most after the first append: the blocker's own, and the one that everything above shared.
    assert database.facts().commits <= 3
    database.close()
    again = kit.open()
    for tenant_id in (ACME, GLOBEX):
        verify_chain(entries_of(again, tenant_id))
    assert [event.position for event in again.read(lambda unit: unit.outbox.events(ACME, after=0, limit=9))] == [1, 2]
    assert again.append(note(4)).sequence_number == 3
    again.close()


def test_a_write_from_inside_a_write_is_refused_and_not_waited_for(database: Database) -> None:
    """It would wait for its own end; the unit it came from leaves nothing."""

    def work(unit: Unit) -> None:
        add_person(unit, person())
        database.append(note(1))

    with refused("store.nested_write"):
        database.write(work)
    assert database.read(lambda unit: unit.identity.principals(ACME)) == ()
    assert database.append(note(2)).sequence_number == 1


def test_units_of_many_threads_are_serial(database: Database) -> None:
    """Read, decide, write: nobody comes in between, so versions never clash."""

    def bump(unit: Unit) -> int:
        position = unit.outbox.cursor(ACME, "counter") + 1
        unit.outbox.confirm(ACME, "counter", position)
        return position

    seen: list[int] = []
    threads = [
        threading.Thread(target=lambda: seen.extend([database.write(bump) for _ in range(10)])) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(1, 81))


def test_a_read_cannot_write(database: Database) -> None:
    """Neither to the ledger nor to any other store."""
    with refused("store.read_only"):
        database.read(lambda unit: unit.record(note()))
    with refused("store.read_only"):
        database.read(lambda unit: unit.review.add_ticket(ticket()))
    with refused("store.read_only"):
        database.read(lambda unit: unit.outbox.confirm(ACME, "x", 1))
    assert database.append(note()).sequence_number == 1


def test_an_error_inside_a_read_leaves_the_next_read_alone(database: Database) -> None:
    def work(_unit: Unit) -> Never:
        raise _OwnMistakeError

    for _ in range(3):
        with pytest.raises(_OwnMistakeError):
            database.read(work)
    assert database.read(lambda unit: unit.ledger.tenants()) == ()


def test_a_transaction_that_ended_by_itself_takes_nothing_of_its_batch_into_the_database(kit: Kit) -> None:
    """As when a disk is full: what follows must not be committed piece by piece, outside any transaction."""
    database = kit.open()
    database.append(note(1))
    gate = threading.Event()
    writer = database._writer()  # type: ignore[attr-defined]  # a fault is injected where it happens
    entered = threading.Event()

    def block(_unit: object) -> None:
        entered.set()
        gate.wait(20)

    def lose(unit: Unit) -> None:
        unit.record(note(98))
        unit.identity._session.connection.execute("ROLLBACK")  # type: ignore[attr-defined]  # the fault
        raise _OwnMistakeError

    writer.submit(block)
    assert entered.wait(20)
    waiting = [
        database.submit(note(2)),
        writer.submit(lose),
        writer.submit(lambda unit: add_person(unit, person())),
        database.submit(note(3)),
    ]
    gate.set()
    codes = []
    for one in waiting:
        with pytest.raises(Exception) as caught:  # noqa: PT011 - the codes are compared below
            one.result(20)
        codes.append(getattr(caught.value, "code", "own"))
    assert codes[0] == codes[3] == "store.transaction_lost"
    assert set(codes[1:3]) <= {"own", "store.transaction_lost"}
    with refused("store.writer_stopped"):
        database.append(note(4))
    database.close()
    again = kit.open()
    assert len(entries_of(again)) == 1
    assert again.read(lambda unit: unit.identity.principals(ACME)) == ()
    assert again.append(note(5)).sequence_number == 2
    again.close()
