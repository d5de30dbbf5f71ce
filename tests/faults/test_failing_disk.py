"""A disk that fails or is full stops the writer: nobody is told yes after it, and nothing acknowledged is lost."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.tools import Tools
from assay.kernel.errors import StoreError
from assay.kernel.ids import parse_tenant_id
from assay.kernel.ledger import EntryKind, draft_entry
from assay.surfaces.forja.own import OwnService, open_own
from assay.wiring import open_node
from tests.faults._children import Appender, Clerk, Journal, wait_until
from tests.faults._nodes import TENANT, Place, PostgresPlace, SqlitePlace, entry_hashes, open_when_free
from tests.faults._strace import parse_trace
from tests.postgres_cluster import PostgresCluster

_THREADS = 8


@contextmanager
def _failing(pid: int, calls: str, error: str, trace: Path) -> Iterator[None]:
    """From now on these calls of a running process fail; strace ends with the process."""
    command = ["strace", "-f", "-y", "-xx", "-s", "0", "-o", str(trace), "-p", str(pid)]
    command += ["-e", f"trace={calls}", "-e", f"inject={calls}:error={error}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
        try:
            yield
        finally:
            tracer.terminate()
            tracer.communicate(timeout=30)


def _expect_that_the_writer_stopped(journal: Journal) -> None:
    """Each thread was told no, asked again, and was told no each time; nothing was acknowledged in between."""
    answers: dict[str, list[str]] = {}
    for line in journal.lines():
        if line[0] in ("ack", "no"):
            answers.setdefault(line[1], []).append(line[2] if line[0] == "no" else "ack")
    assert len(answers) == _THREADS
    for told in answers.values():
        first, *later = told[told.index(next(word for word in told if word != "ack")) :]
        assert first in ("store.commit_failed", "store.writer_stopped")
        assert later == ["store.writer_stopped"] * 3
    assert "store.commit_failed" in journal.refusals()


def _expect_that_nothing_was_lost(node: Path, journal: Journal) -> None:
    with open_when_free(node) as tools:
        there = entry_hashes(tools)
        acknowledged = journal.acknowledged()
        assert [one for one in acknowledged if there.get(one.sequence_number) != one.entry_hash] == []
        assert audit_ledger(tools, TENANT, full=True).holds
    with open_when_free(node) as tools:
        assert entry_hashes(tools) == there


@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
@pytest.mark.parametrize("calls", ["fdatasync,fsync,pwrite64", "fdatasync,fsync", "pwrite64"])
def test_a_failing_call_stops_the_writer(sqlite_place: Place, tmp_path: Path, calls: str, error: str) -> None:
    """Attached to a running writer under load; at least one call must really have been made to fail."""
    node, trace = sqlite_place.found(), tmp_path / "trace"
    with Appender(node, tmp_path / "journal", "--threads", str(_THREADS)) as appender:
        appender.wait_for(50)
        with _failing(appender.pid, calls, error, trace):
            wait_until(lambda: len(appender.journal.refusals()) >= 4 * _THREADS, "every thread was told no")
            assert appender.wait() == 0
    assert any(call.injected for call in parse_trace(trace))
    _expect_that_the_writer_stopped(appender.journal)
    _expect_that_nothing_was_lost(node, appender.journal)


def test_a_file_that_may_not_grow_stops_the_writer(sqlite_place: Place, tmp_path: Path) -> None:
    """The operating system's own limit instead of an injected error: the log reaches it in the middle of the load."""
    node = sqlite_place.found()
    limit = ("--file-limit", str(1024 * 1024))
    with Appender(node, tmp_path / "journal", "--threads", str(_THREADS), *limit) as appender:
        assert appender.wait() == 0
    assert len(appender.journal.acknowledged()) > 50
    _expect_that_the_writer_stopped(appender.journal)
    _expect_that_nothing_was_lost(node, appender.journal)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "assay-small-disk", str(disk)], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("only root may mount a file system; the file-size limit shows the same rule")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_stops_the_writer_and_more_room_lets_the_ledger_go_on(small_disk: Path, tmp_path: Path) -> None:
    """A file system of six megabytes, really full; made larger, it still holds everything acknowledged."""
    node = SqlitePlace(small_disk).found()
    with Appender(node, tmp_path / "journal", "--threads", str(_THREADS)) as appender:
        assert appender.wait() == 0
    assert len(appender.journal.acknowledged()) > 50
    _expect_that_the_writer_stopped(appender.journal)
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    _expect_that_nothing_was_lost(node, appender.journal)


def _append_for_ever(tools: Tools) -> None:
    while True:
        tools.database.append(draft_entry(TENANT, EntryKind.NOTE, {"text": "x"}, at=tools.clock.now()))


def _failed(own: OwnService, times: int) -> None:
    for _ in range(times):
        own.observe(500, "/api/v1/answers", is_agent=False)


@pytest.mark.clause("forja", "kill-switch")
def test_a_switch_that_fires_on_a_full_disk_is_fired_after_a_restart(small_disk: Path) -> None:
    """The firing cannot be stored; the room for it was taken in advance. Once there is room, it is on record."""
    node = SqlitePlace(small_disk).found()
    with open_node(node) as (tools, config):
        tenant_id = parse_tenant_id(config.node.tenant)
        own = open_own(tools, tenant_id, port=1)
        with (small_disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
            while filler.write(b"x" * 4096):
                pass
        with pytest.raises(StoreError):
            _append_for_ever(tools)
        _failed(own, 60)
        assert own.service.switch.is_fired
        with pytest.raises(StoreError):
            own.service.tick()
    (small_disk / "filler").unlink()
    with open_node(node) as (tools, _):
        own = open_own(tools, tenant_id, port=1)
        assert own.service.switch.is_fired
        own.service.tick()
        kinds = tools.database.read(lambda unit: [one.kind for one in unit.ledger.entries(tenant_id)])
        assert kinds.count(EntryKind.SWITCH_FIRED) == 1
        assert tools.latch is not None
        assert tools.latch.load() is None


def test_what_is_found_after_a_failed_flush_is_written_anew_before_anything_builds_on_it(
    sqlite_place: Place, tmp_path: Path
) -> None:
    """A log whose flush failed may be in memory only: once the node is open again, nothing depends on it any more."""
    node = sqlite_place.found()
    with Appender(node, tmp_path / "journal", "--threads", str(_THREADS)) as appender:
        appender.wait_for(50)
        with _failing(appender.pid, "fdatasync,fsync", "EIO", tmp_path / "trace"):
            assert appender.wait() == 0
    log = node / "assay.db-wal"
    assert log.stat().st_size > 0
    with Clerk.at_work(node) as clerk:
        assert clerk.hear() == ["ready"]
    log.unlink()
    _expect_that_nothing_was_lost(node, appender.journal)


_WRITER = "SELECT pid FROM pg_stat_activity WHERE datname = %s AND application_name = 'assay writer'"


def test_a_failing_flush_of_the_server_stops_the_writer(
    postgres_place: Place, doomed_cluster: PostgresCluster, tmp_path: Path
) -> None:
    """The server gives up rather than flush twice; the client is told no, and after recovery nothing is missing."""
    node, trace = postgres_place.found(), tmp_path / "trace"
    with Appender(node, tmp_path / "journal", "--threads", str(_THREADS)) as appender:
        appender.wait_for(50)
        with psycopg.connect(doomed_cluster.dsn("postgres")) as connection:
            row = connection.execute(_WRITER, (PostgresPlace.database(node),)).fetchone()
        assert row is not None
        with _failing(row[0], "fdatasync,fsync", "EIO", trace):
            assert appender.wait() == 0
    assert any(call.injected for call in parse_trace(trace))
    _expect_that_the_writer_stopped(appender.journal)
    # It recovers by itself; killing it in the middle of that makes the moment certain, and must not matter.
    doomed_cluster.kill_all()
    doomed_cluster.start()
    _expect_that_nothing_was_lost(node, appender.journal)
