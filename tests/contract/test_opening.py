"""Opening and closing: one writer at a time, no database of somebody else's, nothing after the end."""

import threading

import pytest

from assay.adapters.group_commit import GroupCommit
from assay.adapters.sql.migrate import load_migrations
from assay.ports.database import Database
from tests.contract._kit import Kit, refused
from tests.contract._records import ACME, note
from tests.contract.test_append import entries_of, verify_chain

_LATEST = len(load_migrations("assay.adapters.sqlite"))


def _writer_of(database: Database) -> GroupCommit:
    writer: GroupCommit = database._writer()  # type: ignore[attr-defined]  # a fault is injected where it happens
    return writer


def test_a_second_writer_in_another_process_is_fenced(kit: Kit, database: Database) -> None:
    """It may read, and may write once the first has closed."""
    database.append(note())
    assert kit.open_elsewhere() == "store.writer_held"
    assert kit.open_elsewhere(writable=False) == "1"
    assert database.append(note()).sequence_number == 2
    database.close()
    assert kit.open_elsewhere() == "1"


def test_a_second_writer_in_the_same_process_is_fenced(kit: Kit, database: Database) -> None:
    with refused("store.writer_held"):
        kit.open()
    assert database.append(note()).sequence_number == 1


def test_a_writer_whose_chain_was_taken_over_is_fenced_and_stops(kit: Kit, database: Database) -> None:
    """Should two processes write after all, the older one is told, and the chain does not fork."""
    database.append(note(1))
    kit.force("UPDATE chain SET epoch = epoch + 1, holder = 'somebody else'")
    with refused("ledger.fenced"):
        database.append(note(2))
    with refused("store.writer_stopped"):
        database.append(note(3))
    with refused("store.writer_stopped"):
        database.write(lambda unit: unit.ledger.tenants())
    assert len(entries_of(database)) == 1
    database.close()
    again = kit.open()
    assert again.append(note(4)).sequence_number == 2
    verify_chain(entries_of(again))
    again.close()


def test_a_writer_is_fenced_by_the_entries_of_its_successor(kit: Kit, database: Database) -> None:
    """It is told so, rather than that the place it wanted is taken."""
    database.append(note(1))
    kit.force(
        "INSERT INTO ledger (tenant_id, sequence_number, previous_hash, entry_hash, leaf_hash, timestamp, kind,"
        " schema_version, text) SELECT tenant_id, 2, entry_hash, 'sha256:theirs', leaf_hash, timestamp, kind,"
        " schema_version, text FROM ledger",
        "UPDATE chain SET epoch = epoch + 1, sequence_number = 2, entry_hash = 'sha256:theirs'",
    )
    with refused("ledger.fenced"):
        database.append(note(2))
    assert [entry.entry_hash for entry in entries_of(database)][1:] == ["sha256:theirs"]


def test_a_remembered_head_that_is_not_the_last_entry_is_damage(kit: Kit) -> None:
    first = kit.open()
    first.append(note(1))
    first.close()
    kit.force("UPDATE chain SET sequence_number = 2")
    second = kit.open()
    with refused("ledger.damaged_head"):
        second.append(note(2))
    assert len(entries_of(second)) == 1
    second.close()


def test_a_database_opened_for_reading_writes_nothing(kit: Kit, database: Database) -> None:
    database.append(note())
    reader = kit.open(writable=False)
    with refused("store.read_only"):
        reader.append(note())
    with refused("store.read_only"):
        reader.write(lambda unit: unit.ledger.tenants())
    assert len(entries_of(reader)) == 1
    database.append(note())
    assert len(entries_of(reader)) == 2
    assert not reader.facts().writable
    reader.close()


def test_a_closed_database_refuses_everything_and_closes_twice(database: Database) -> None:
    database.append(note())
    database.close()
    database.close()
    with refused("store.closed"):
        database.append(note())
    with refused("store.closed"):
        database.write(lambda unit: unit.ledger.tenants())
    with refused("store.closed"):
        database.read(lambda unit: unit.ledger.tenants())
    with refused("store.closed"):
        database.facts()


def test_closing_finishes_what_was_accepted(kit: Kit) -> None:
    first = kit.open()
    waiting = [first.submit(note(number)) for number in range(100)]
    first.close()
    assert [one.result(0).sequence_number for one in waiting] == list(range(1, 101))
    second = kit.open(writable=False)
    assert len(entries_of(second)) == 100
    second.close()


def test_a_full_queue_refuses_after_the_patience_given(database: Database) -> None:
    """Callers are told no rather than kept for ever; who was accepted is served."""
    writer = _writer_of(database)
    writer._capacity, writer._patience = 3, 0.05
    entered, gate = threading.Event(), threading.Event()

    def block(_unit: object) -> None:
        entered.set()
        gate.wait(20)

    blocker = writer.submit(block)
    assert entered.wait(20)
    accepted = [database.submit(note(number)) for number in range(3)]
    with refused("store.busy"):
        database.submit(note(9))
    assert database.facts().queue_length == 3
    gate.set()
    blocker.result(20)
    assert [one.result(20).sequence_number for one in accepted] == [1, 2, 3]
    assert database.append(note(4)).sequence_number == 4


def test_a_database_of_a_newer_version_is_not_touched(kit: Kit) -> None:
    kit.force("INSERT INTO schema_migration (version, name, checksum, applied_at) VALUES (999, '0999_later', 'x', 'y')")
    for writable in (True, False):
        with refused("store.newer_database"):
            kit.open(writable=writable)


def test_a_database_whose_migrations_were_edited_is_not_touched(kit: Kit) -> None:
    kit.force("UPDATE schema_migration SET checksum = 'other' WHERE version = 1")
    for writable in (True, False):
        with refused("store.migration_edited"):
            kit.open(writable=writable)


def test_facts_say_what_was_opened(kit: Kit, database: Database) -> None:
    database.append(note())
    facts = database.facts()
    assert (facts.engine, facts.schema_version, facts.writable) == (kit.engine, _LATEST, True)
    assert (facts.queue_length, facts.writes) == (0, 1)
    assert "password" not in facts.location


@pytest.mark.parametrize("count", [1, 5, 300])
def test_batches_of_any_size_take_the_same_way(database: Database, count: int) -> None:
    waiting = [database.submit(note(number, events=1)) for number in range(count)]
    assert [one.result(20).sequence_number for one in waiting] == list(range(1, count + 1))
    verify_chain(entries_of(database))
    events = database.read(lambda unit: unit.outbox.events(ACME, after=0, limit=1000))
    assert len(events) == count
