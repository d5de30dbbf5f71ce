"""What only SQLite does: files, locks, settings."""

import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from types import SimpleNamespace

import pytest
from msgspec import Raw

from assay.adapters.sql.errors import UnavailableError
from assay.adapters.sqlite import session
from assay.adapters.sqlite.database import SqliteDatabase
from assay.adapters.sqlite.session import SqliteSession, open_connection, translate_error
from assay.adapters.writer_lock import find_lock_holder
from assay.facts.table import PROJECTOR
from assay.kernel.commitment import Disclosure
from assay.kernel.errors import Blame
from tests.contract._kit import AT, SqliteKit, refused
from tests.contract._records import ACME, note
from tests.contract.test_append import entries_of

_SECRET = Disclosure(pointer="/name", salt="ab" * 16, value=Raw(b'"Amira Example-Person"'))


def test_a_missing_file_is_not_made_by_reading(tmp_path: Path) -> None:
    path = tmp_path / "nothing.db"
    with refused("store.cannot_open"):
        SqliteDatabase(path, PROJECTOR, at=None, writable=False)
    assert not path.exists()


def test_a_database_that_was_moved_away_is_not_replaced_and_its_log_is_kept(tmp_path: Path) -> None:
    """SQLite would make an empty one and throw the log away, which holds commits that are nowhere else."""
    path, log = tmp_path / "a.db", tmp_path / "a.db-wal"
    log.write_bytes(b"commits")
    with refused("store.cannot_open"):
        SqliteDatabase(path, PROJECTOR, at=AT, must_exist=True)
    assert not path.exists()
    assert log.read_bytes() == b"commits"


def test_a_file_that_others_lock_cannot_be_opened_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the operator's doing, and over in a while: whoever supervises us shall try again."""
    monkeypatch.setattr(session, "_BUSY_MILLISECONDS", 10)
    path = tmp_path / "a.db"
    SqliteDatabase(path, PROJECTOR, at=AT).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(UnavailableError) as told:
        SqliteDatabase(path, PROJECTOR, at=AT)
    assert (told.value.code, told.value.blame) == ("store.unavailable", Blame.OURS)
    other.close()
    SqliteDatabase(path, PROJECTOR, at=AT).close()


def test_a_copy_on_a_read_only_medium_is_read_and_nothing_is_laid_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An auditor's copy: SQLite would want to make its index there. Commits that only a log holds are not left out."""
    path = tmp_path / "kept.db"
    written = SqliteDatabase(path, PROJECTOR, at=AT)
    written.append(note(1))
    written.close()
    medium = SimpleNamespace(f_flag=os.ST_RDONLY)
    monkeypatch.setattr(os, "statvfs", lambda _: medium)
    kept = SqliteDatabase(path, PROJECTOR, at=None, writable=False)
    assert [one.sequence_number for one in entries_of(kept)] == [1]
    assert kept.facts().settings == {"journal_mode": "wal", "synchronous": "FULL"}
    kept.close()
    assert [one.name for one in tmp_path.iterdir() if one.name.endswith(("-shm", "-wal"))] == []
    (tmp_path / "kept.db-wal").write_bytes(b"not in it yet")
    with refused("store.cannot_open"):
        SqliteDatabase(path, PROJECTOR, at=None, writable=False)


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes(b"Dear Sir or Madam, this is no database at all. " * 100)
    before = path.read_bytes()
    for writable in (True, False):
        with refused("store.cannot_open"):
            SqliteDatabase(path, PROJECTOR, at=AT, writable=writable)
    assert path.read_bytes() == before


def test_a_database_of_somebody_else_cannot_be_read_as_ours(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (n INTEGER)")
    connection.close()
    with refused("store.cannot_open"):
        SqliteDatabase(path, PROJECTOR, at=AT, writable=False)


def test_a_database_of_somebody_else_with_a_table_in_our_way_is_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE settlement (n INTEGER)")
    connection.close()
    with refused("store.cannot_open"):
        SqliteDatabase(path, PROJECTOR, at=AT)
    with sqlite3.connect(path) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    connection.close()
    assert tables == [("settlement",)]


def test_a_writer_needs_the_time_of_opening(tmp_path: Path) -> None:
    with refused("store.cannot_open"):
        SqliteDatabase(tmp_path / "a.db", PROJECTOR, at=None)


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with refused("store.cannot_open"):
        SqliteDatabase(tmp_path / "no" / "a.db", PROJECTOR, at=AT)


def test_the_lock_file_is_private_and_freed_when_opening_fails(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(b"no database" * 100)
    with refused("store.cannot_open"):
        SqliteDatabase(path, PROJECTOR, at=AT)
    path.unlink()
    SqliteDatabase(path, PROJECTOR, at=AT).close()
    assert stat.S_IMODE(path.with_name("a.db.writer").stat().st_mode) == 0o600


def test_the_settings_that_durability_rests_on_are_in_force(tmp_path: Path) -> None:
    connection = open_connection(tmp_path / "a.db", writable=True)
    settings = {
        name: connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "secure_delete", "recursive_triggers", "trusted_schema")
    }
    connection.close()
    assert settings == {
        "journal_mode": "wal",
        "synchronous": 2,
        "secure_delete": 1,
        "recursive_triggers": 1,
        "trusted_schema": 0,
    }


def test_durability_can_be_given_up_only_by_its_name(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "a.db", PROJECTOR, at=AT, unsafe_synchronous_off=True)
    assert database._connection.execute("PRAGMA synchronous").fetchone() == (0,)
    database.close()


def test_a_program_that_keeps_the_file_locked_costs_one_batch_and_not_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    database = SqliteDatabase(path, PROJECTOR, at=AT)
    database._connection.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with refused("store.busy"):
        database.append(note(1))
    other.execute("ROLLBACK")
    other.close()
    assert database.append(note(2)).sequence_number == 1
    database.close()


def test_erased_values_leave_the_file(tmp_path: Path) -> None:
    """The pages are overwritten and the write-ahead log is emptied."""
    path = tmp_path / "a.db"
    database = SqliteDatabase(path, PROJECTOR, at=AT)
    database.append(note(disclosures=(_SECRET,)))
    database.write(lambda unit: unit.ledger.erase(ACME, 1, None))
    assert database.scrub()
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    database.close()
    assert b"Example-Person" not in content
    assert b"ab" * 16 not in content


@contextmanager
def _erased_beside_a_reader(path: Path) -> Iterator[tuple[SqliteDatabase, sqlite3.Connection]]:
    """A value was erased while somebody looks at the state before, as another process may."""
    database = SqliteDatabase(path, PROJECTOR, at=AT)
    database.append(note(disclosures=(_SECRET,)))
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM disclosure").fetchall()
    database.write(lambda unit: unit.ledger.erase(ACME, 1, None))
    try:
        yield database, reader
    finally:
        reader.close()
        database.close()


def _is_readable(folder: Path) -> bool:
    return any(b"Example-Person" in file.read_bytes() for file in folder.iterdir())


def test_a_reader_keeps_erased_values_and_that_is_said_until_a_later_write_removes_them(tmp_path: Path) -> None:
    with _erased_beside_a_reader(tmp_path / "a.db") as (database, reader):
        assert not database.scrub()
        assert _is_readable(tmp_path)
        reader.execute("ROLLBACK")
        deadline = monotonic() + 20
        while _is_readable(tmp_path):
            assert monotonic() < deadline
            database.append(note())


def test_scrubbing_beside_a_reader_does_not_hold_up_the_writer(tmp_path: Path) -> None:
    """Each attempt keeps the write lock for a moment only."""
    with _erased_beside_a_reader(tmp_path / "a.db") as (database, _reader):
        outcome: list[bool] = []
        scrubbing = threading.Thread(target=lambda: outcome.append(database.scrub()))
        began = monotonic()
        scrubbing.start()
        for number in range(5):
            database.append(note(number))
        scrubbing.join(20)
        assert monotonic() - began < 5
        assert outcome == [False]


def test_what_could_not_be_scrubbed_is_scrubbed_by_whoever_opens_next(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with _erased_beside_a_reader(path) as (database, reader):
        assert not database.scrub()
        database.close()
        assert _is_readable(tmp_path)
        reader.execute("ROLLBACK")
        again = SqliteDatabase(path, PROJECTOR, at=AT)
        assert not _is_readable(tmp_path)
        again.close()


def test_the_files_are_private_whatever_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        database = SqliteDatabase(tmp_path / "a.db", PROJECTOR, at=AT)
        database.append(note())
    finally:
        os.umask(before)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    database.close()
    assert modes == dict.fromkeys(("a.db", "a.db-shm", "a.db-wal", "a.db.writer"), 0o600)


def test_a_link_to_the_file_is_the_same_database_with_the_same_writer(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "a.db", PROJECTOR, at=AT)
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "a.db")
    with refused("store.writer_held"):
        SqliteDatabase(link, PROJECTOR, at=AT)
    assert find_lock_holder(link) == os.getpid()
    database.close()


@pytest.mark.parametrize(("unsafe", "name"), [(True, "OFF"), (False, "FULL")])
def test_the_facts_tell_the_setting_in_force(tmp_path: Path, *, unsafe: bool, name: str) -> None:
    database = SqliteDatabase(tmp_path / "a.db", PROJECTOR, at=AT, unsafe_synchronous_off=unsafe)
    assert database.facts().settings == {"journal_mode": "wal", "synchronous": name}
    database.close()


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("INSERT INTO settlement VALUES ('a', 'b', 'c')", "store.conflict"),
        ("UPDATE settlement SET record = 'x'", "store.append_only"),
        (
            "INSERT INTO ledger VALUES ('a',2,'p','e',zeroblob(32),'t','k',0,0,0,0,0,0,0,0,'s','x',NULL)",
            "ledger.broken_link",
        ),
        ("SELECT nothing FROM nowhere", "store.statement"),
    ],
)
def test_errors_come_in_our_words(tmp_path: Path, statement: str, code: str) -> None:
    kit = SqliteKit(tmp_path / "a.db")
    session = SqliteSession(open_connection(kit.path, writable=True))
    session.run("INSERT INTO settlement VALUES ('a', 'b', 'c')")
    for ask in (session.run, session.query):
        with refused(code):
            ask(statement)
    session.connection.close()


def test_a_stream_and_a_bulk_insert_fail_in_our_words_too(tmp_path: Path) -> None:
    kit = SqliteKit(tmp_path / "a.db")
    session = SqliteSession(open_connection(kit.path, writable=True))
    with refused("store.statement"):
        list(session.stream("SELECT nothing FROM nowhere"))
    with refused("store.conflict"):
        session.insert("settlement", ("tenant_id", "ticket_id", "record"), [("a", "b", "c")] * 2)
    session.connection.close()


_SETTLEMENT = ("tenant_id", "ticket_id", "record")


@pytest.mark.parametrize("count", [0, 1, 2, 3, 255, 256, 257, 511, 515])
def test_many_rows_are_added_whole_and_in_their_order_however_many_they_are(tmp_path: Path, count: int) -> None:
    """They go in parts of one statement each; no row is left out between two parts, and none comes twice."""
    session = SqliteSession(open_connection(SqliteKit(tmp_path / "a.db").path, writable=True))
    session.insert("settlement", _SETTLEMENT, ((f"t{number}", "x", str(number)) for number in range(count)))
    found = session.query("SELECT tenant_id, record FROM settlement ORDER BY CAST(record AS INTEGER)")
    assert found == [(f"t{number}", str(number)) for number in range(count)]
    session.connection.close()


def test_a_row_too_long_is_not_made_up_for_by_one_too_short(tmp_path: Path) -> None:
    session = SqliteSession(open_connection(SqliteKit(tmp_path / "a.db").path, writable=True))
    with refused("store.statement"):
        session.insert("settlement", _SETTLEMENT, [("a", "b"), ("c", "d", "e", "f")])
    assert session.query("SELECT * FROM settlement") == []
    session.connection.close()


def test_an_error_without_a_number_is_still_one_of_ours() -> None:
    assert translate_error(sqlite3.ProgrammingError("closed")).code == "store.statement"


def test_readers_of_a_closed_database_give_their_connections_back(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "a.db", PROJECTOR, at=AT)
    database.append(note())
    database.read(lambda _unit: database.close())
    assert not database._readers
    again = SqliteDatabase(tmp_path / "a.db", PROJECTOR, at=AT, writable=False)
    assert len(entries_of(again)) == 1
    again.close()
