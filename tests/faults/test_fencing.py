"""One writer at a time: the second is told so, a writer that lost its place is stopped, and the chain never forks."""

from pathlib import Path

import pytest

from assay.adapters.sql.errors import WriterHeldError
from assay.kernel.ledger import EntryKind, draft_entry
from assay.wiring import open_node
from tests.faults._children import Appender, Clerk, wait_until
from tests.faults._nodes import TENANT, Place, PostgresPlace, audit, entry_hashes, open_when_free
from tests.postgres_cluster import PostgresCluster

_OTHER_WRITERS = "pid <> pg_backend_pid() AND application_name = 'assay writer' AND datname = current_database()"


def _expect_one_chain(node: Path, acknowledged: list[list[str]]) -> None:
    """Every acknowledgement of every process names another place, and all of them are there."""
    report = audit(node)
    assert (report.holds, report.message) == (True, None)
    with open_node(node, writable=False) as (tools, _):
        there = entry_hashes(tools)
    told = [(int(number), entry_hash) for word, number, entry_hash in acknowledged if word == "ack"]
    assert len(dict(told)) == len(told)
    assert dict(told).items() <= there.items()


def test_a_second_process_is_told_that_another_is_writing(place: Place) -> None:
    """Whichever way round: the first process goes on undisturbed, and readers are welcome."""
    node = place.found()
    with Clerk.at_work(node) as first, Clerk.at_work(node) as second:
        assert {tuple(first.hear()), tuple(second.hear())} == {("ready",), ("no", "store.writer_held")}
    with open_when_free(node):
        pass
    with Clerk.at_work(node) as holder:
        assert holder.hear() == ["ready"]
        told = [holder.append()]
        with pytest.raises(WriterHeldError), open_node(node):
            pass
        with open_node(node, writable=False) as (tools, _):
            assert len(entry_hashes(tools)) == 4
        told.append(holder.append())
    assert [word for word, *_ in told] == ["ack", "ack"]
    _expect_one_chain(node, told)


def test_a_writer_whose_lock_file_was_deleted_is_stopped_by_its_epoch(sqlite_place: Place) -> None:
    """The lock is the polite fence; the epoch in the database is the one that cannot be deleted with a file."""
    node = sqlite_place.found()
    with Clerk.at_work(node) as old:
        assert old.hear() == ["ready"]
        told = [old.append()]
        (node / "assay.db.writer").unlink()
        with Clerk.at_work(node) as new:
            assert new.hear() == ["ready"]
            told.append(new.append())
            assert old.append() == ["no", "ledger.fenced"]
            assert old.append() == ["no", "store.writer_stopped"]
            told.append(new.append())
    assert [word for word, *_ in told] == ["ack"] * 3
    _expect_one_chain(node, told)


def test_two_loads_without_a_lock_never_fork_the_chain(sqlite_place: Place, tmp_path: Path) -> None:
    """Sixteen threads in two processes, the lock file deleted under the first: one of the two is stopped."""
    node = sqlite_place.found()
    with Appender(node, tmp_path / "old") as old:
        old.wait_for(100)
        (node / "assay.db.writer").unlink()
        with Appender(node, tmp_path / "new") as new:
            new.wait_for(100)
            wait_until(lambda: len(old.journal.refusals()) >= 4 * 8, "the old writer was stopped")
            assert old.wait() == 0
            new.wait_for(new.journal.count() + 100)
            new.kill()
    assert set(old.journal.refusals()) == {"ledger.fenced", "store.writer_stopped"}
    acknowledged = old.journal.acknowledged() + new.journal.acknowledged()
    _expect_one_chain(node, [["ack", str(one.sequence_number), one.entry_hash] for one in acknowledged])


def test_a_writer_whose_server_session_was_ended_is_stopped(
    postgres_place: Place, doomed_cluster: PostgresCluster
) -> None:
    """The session held the lock: another process may write now, and the old one is told no from then on."""
    node = postgres_place.found()
    with Clerk.at_work(node) as old:
        assert old.hear() == ["ready"]
        told = [old.append()]
        database = PostgresPlace.database(node)
        doomed_cluster.execute(
            database, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {_OTHER_WRITERS}"
        )
        with open_when_free(node) as tools:
            draft = draft_entry(TENANT, EntryKind.NOTE, {"by": "the new writer"}, at=tools.clock.now())
            receipt = tools.database.append(draft)
            told.append(["ack", str(receipt.sequence_number), receipt.entry_hash])
            assert old.append()[1] in ("store.commit_failed", "store.connection_lost")
            assert old.append() == ["no", "store.writer_stopped"]
    assert [number for _, number, _ in told] == ["4", "5"]
    _expect_one_chain(node, told)


def test_a_writer_whose_epoch_has_passed_is_stopped(place: Place) -> None:
    """Even with the lock in its hands and the connection alive: the chain belongs to the newest epoch."""
    node = place.found()
    with Clerk.at_work(node) as old:
        assert old.hear() == ["ready"]
        told = [old.append()]
        place.tamper(node, "UPDATE chain SET epoch = epoch + 1")
        assert old.append() == ["no", "ledger.fenced"]
        assert old.append() == ["no", "store.writer_stopped"]
    _expect_one_chain(node, told)
