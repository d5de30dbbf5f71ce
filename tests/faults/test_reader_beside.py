"""Others may read a SQLite node's database while it writes: when they close it, its log stays where the writer has it.

A process that closes a file gives up all its locks on it, also those of SQLite. Whoever then closes the database as the
last, as it must seem, takes the log away under the writer, and what is acknowledged afterwards is on no disk.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from assay.adapters.sql.errors import WriterHeldError
from assay.flows.tools import Tools
from assay.kernel.ledger import EntryKind, draft_entry
from assay.wiring import open_node
from tests.contract._kit import refused
from tests.faults._nodes import TENANT, SqlitePlace, audit

# What an auditor's process does: it looks, and closes.
_LOOK = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); print(*c.execute('SELECT count(*) FROM ledger')); c.close()"
)


def _read(node: Path, tools: Tools) -> None:
    assert tools.database.read(lambda unit: unit.ledger.head(TENANT).sequence_number) > 0
    assert node.is_dir()


def _tell(_node: Path, tools: Tools) -> None:
    """As `/metrics` and `assay doctor` do."""
    assert tools.database.facts().settings == {"journal_mode": "wal", "synchronous": "FULL"}


def _scrub(_node: Path, tools: Tools) -> None:
    assert tools.database.scrub()
    tools.database.append(draft_entry(TENANT, EntryKind.NOTE, {"after": "it"}, at=tools.clock.now()))


def _audit(node: Path, _tools: Tools) -> None:
    assert audit(node).holds


def _open_another(node: Path, _tools: Tools) -> None:
    with suppress(WriterHeldError), open_node(node):
        pass


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Tools]]:
    folder = SqlitePlace(tmp_path_factory.mktemp("beside")).found()
    with open_node(folder) as (tools, _):
        yield folder, tools


@pytest.mark.parametrize("work", [_read, _tell, _scrub, _audit, _open_another])
def test_the_log_stays_whatever_the_writers_process_did_before_another_closed_the_database(
    node: tuple[Path, Tools], work: Callable[[Path, Tools], None]
) -> None:
    """It is the same file afterwards, and holds what is acknowledged then: a copy of both has it, as after a kill."""
    folder, tools = node
    log = folder / "assay.db-wal"
    tools.database.append(draft_entry(TENANT, EntryKind.NOTE, {"before": "it"}, at=tools.clock.now()))
    work(folder, tools)
    before = log.stat().st_ino
    _look(folder)
    assert log.exists()
    assert log.stat().st_ino == before
    receipt = tools.database.append(draft_entry(TENANT, EntryKind.NOTE, {"after": "all"}, at=tools.clock.now()))
    # In this process a connection beside the writer's would see it without the file; another one does not.
    assert _look(folder) == f"({receipt.sequence_number},)"


def test_nothing_is_acknowledged_once_the_log_was_taken_away(tmp_path: Path) -> None:
    """A program around us that opens and closes the file gives up SQLite's locks; the next reader then takes the log.

    What is committed after that is in a file without a name, which a kill ends, so nobody is told that it is kept.
    """
    folder = SqlitePlace(tmp_path).found()
    with open_node(folder) as (tools, _):
        kept = tools.database.append(draft_entry(TENANT, EntryKind.NOTE, {"before": "it"}, at=tools.clock.now()))
        (folder / "assay.db").open("rb").close()
        _look(folder)
        assert not (folder / "assay.db-wal").exists()
        with refused("store.file_taken"):
            tools.database.append(draft_entry(TENANT, EntryKind.NOTE, {"after": "it"}, at=tools.clock.now()))
        with refused("store.writer_stopped"):
            tools.database.append(draft_entry(TENANT, EntryKind.NOTE, {"after": "all"}, at=tools.clock.now()))
        assert _look(folder) == f"({kept.sequence_number},)"
    assert audit(folder).holds


def _look(folder: Path) -> str:
    told = subprocess.run(
        [sys.executable, "-c", _LOOK, str(folder / "assay.db")], check=True, capture_output=True, text=True, timeout=60
    )
    return told.stdout.strip()
