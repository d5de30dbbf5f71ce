"""No acknowledgement is written before the flush that covers it has returned.

SIGKILL cannot lose what the kernel already holds in memory, so a kill cannot show whether anything was flushed; the
order of system calls can.
"""

from itertools import pairwise
from pathlib import Path

from tests.faults._children import Appender
from tests.faults._nodes import Place
from tests.faults._strace import Call, parse_trace
from tests.scale import scale

_FRAME_HEADER_BYTES = 24
_STRACE = ("strace", "-f", "-qq", "-y", "-xx", "-s", "8192", "-e", "trace=fdatasync,fsync,write,pwrite64")


def _trace(node: Path, folder: Path, *options: str) -> tuple[list[Call], list[str]]:
    trace, journal = folder / "trace", folder / "journal"
    load = ("--threads", "8", "--limit", str(scale(20, 200)))
    with Appender(node, journal, *load, *options, prefix=(*_STRACE, "-o", str(trace))) as appender:
        assert appender.wait() == 0
    tokens = [one.token for one in appender.journal.acknowledged()]
    assert len(tokens) == 8 * scale(20, 200)
    return parse_trace(trace), tokens


def _commits(wal_writes: list[Call]) -> list[Call]:
    """The writes that end a transaction: the page after a frame header that names the database's new size."""
    return [
        page
        for header, page in pairwise(wal_writes)
        if len(header.content) == _FRAME_HEADER_BYTES and header.content[4:8] != bytes(4)
    ]


def _too_early(calls: list[Call], tokens: list[str]) -> list[str]:
    """Tokens whose acknowledgement began before a flush of their commit, begun after its last write, had returned."""
    wal = [call for call in calls if call.path.endswith("-wal")]
    writes = [call for call in wal if call.name in ("pwrite64", "write")]
    flushes = [call for call in wal if call.name in ("fdatasync", "fsync") and call.result == 0]
    commits = _commits(writes)
    early = []
    for token in tokens:
        (acknowledgement,) = (
            c for c in calls if c.path.endswith("/journal") and c.content.endswith(f" {token}\n".encode())
        )
        written = next(call for call in writes if token.encode() in call.content)
        commit = next(call for call in commits if call.ended >= written.ended)
        covered = any(f.begun > commit.ended and f.ended < acknowledgement.begun for f in flushes)
        if not covered:
            early.append(token)
    return early


def test_every_acknowledgement_follows_the_flush_that_covers_it(sqlite_place: Place, tmp_path: Path) -> None:
    """Write of the page, write of the commit frame, flush begun, flush returned, acknowledgement: in this order."""
    calls, tokens = _trace(sqlite_place.found(), tmp_path)
    assert _too_early(calls, tokens) == []


def test_the_check_sees_acknowledgements_that_nothing_covers(sqlite_place: Place, tmp_path: Path) -> None:
    """With flushing switched off the same check finds every single one: it can fail."""
    calls, tokens = _trace(sqlite_place.found(), tmp_path, "--unsafe-synchronous-off")
    assert _too_early(calls, tokens) == tokens


def test_the_check_sees_a_flush_that_returns_too_late(sqlite_place: Place, tmp_path: Path) -> None:
    """A trace in which each flush is said to return after the acknowledgements it should precede is found out."""
    calls, tokens = _trace(sqlite_place.found(), tmp_path)
    last = calls[-1].ended
    late = [call._replace(ended=last + 1) if call.name == "fdatasync" else call for call in calls]
    assert _too_early(late, tokens) == tokens
