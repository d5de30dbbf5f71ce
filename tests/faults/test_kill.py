"""SIGKILL during appends under load loses no acknowledged entry, on either database."""

import random
import time
from pathlib import Path

from assay.adapters.clock import SystemClock
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.tools import Tools
from assay.kernel.checkpoint import parse_checkpoint
from assay.kernel.ledger import EntryKind, draft_entry
from tests.faults._children import Appender, Journal, chance
from tests.faults._nodes import TENANT, Place, entry_hashes, open_when_free
from tests.postgres_cluster import PostgresCluster
from tests.scale import scale

# Whichever call noticed first that the server is gone: a commit, a statement, a unit of work, a new connection.
_LOST_SERVER = {
    "store.commit_failed",
    "store.connection_lost",
    "store.transaction_lost",
    "store.unavailable",
    "store.writer_stopped",
}


def _expect_everything(node: Path, journals: list[Journal]) -> None:
    """What was acknowledged in any round is there with its hash, the ledger holds, and the chain goes on."""
    acknowledged = [one for journal in journals for one in journal.acknowledged()]
    # `open_when_free` includes start-up's comparison with the last signed checkpoint.
    with open_when_free(node) as tools:
        there = entry_hashes(tools)
        lost = [one for one in acknowledged if there.get(one.sequence_number) != one.entry_hash]
        assert lost == []
        report = audit_ledger(tools, TENANT, full=True)
        assert (report.holds, report.message) == (True, None)
        assert _remembered_size(tools) >= max(size for journal in journals for size in (0, *journal.checkpoints()))
        draft = draft_entry(TENANT, EntryKind.NOTE, {"after": "the kill"}, at=SystemClock().now())
        assert tools.database.append(draft).sequence_number == report.size + 1


def _remembered_size(tools: Tools) -> int:
    note = tools.checkpoints.load(TENANT)
    return parse_checkpoint(note).checkpoint.size if note else 0


def _load_until_killed(node: Path, journal: Path, moments: random.Random, *options: str) -> Journal:
    with Appender(node, journal, *options) as appender:
        appender.wait_for(moments.randint(1, 400))
        time.sleep(moments.uniform(0, 0.03))
        appender.kill()
        return appender.journal


def test_a_killed_sqlite_writer_loses_nothing_it_acknowledged(sqlite_place: Place, tmp_path: Path) -> None:
    """One ledger, killed again and again at moments of chance; in every second round checkpoints are being signed."""
    node, moments, journals = sqlite_place.found(), chance(1), list[Journal]()
    for number in range(scale(10, 50)):
        options = ("--checkpoints", "1000000") if number % 2 else ()
        journals.append(_load_until_killed(node, tmp_path / f"journal-{number}", moments, *options))
        _expect_everything(node, journals)


def test_a_killed_postgres_client_loses_nothing_it_acknowledged(postgres_place: Place, tmp_path: Path) -> None:
    """The server notices that its client is gone, frees the writer's place, and keeps every acknowledged entry."""
    node, moments, journals = postgres_place.found(), chance(2), list[Journal]()
    for number in range(scale(3, 10)):
        options = ("--checkpoints", "1000000") if number % 2 else ()
        journals.append(_load_until_killed(node, tmp_path / f"journal-{number}", moments, *options))
        _expect_everything(node, journals)


def test_a_killed_postgres_server_loses_nothing_that_was_acknowledged(
    postgres_place: Place, doomed_cluster: PostgresCluster, tmp_path: Path
) -> None:
    """Every process of the server dies at once; clients are told no, and recovery brings back what was acknowledged."""
    node, moments, journals = postgres_place.found(), chance(3), list[Journal]()
    for number in range(scale(2, 5)):
        options = ("--checkpoints", "1000000") if number % 2 else ()
        with Appender(node, tmp_path / f"journal-{number}", *options) as appender:
            appender.wait_for(moments.randint(1, 400))
            doomed_cluster.kill_all()
            assert appender.wait() == 0
        doomed_cluster.start()
        assert set(appender.journal.refusals()) <= _LOST_SERVER
        assert "store.writer_stopped" in appender.journal.refusals()
        journals.append(appender.journal)
        _expect_everything(node, journals)
