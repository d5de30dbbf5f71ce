"""Migrations: numbered, applied once, and a database says which text made it."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.adapters.sql.migrate import Migration, load_migrations, migrate, require_current, schema_version
from assay.adapters.sqlite.session import SqliteSession
from tests.contract._kit import AT, refused

_FIRST = Migration(1, "0001_first", "CREATE TABLE one (n INTEGER);")
_SECOND = Migration(2, "0002_second", "CREATE TABLE two (n INTEGER);")


@pytest.fixture
def session() -> Iterator[SqliteSession]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    yield SqliteSession(connection)
    connection.close()


def _migrate(session: SqliteSession, *known: Migration) -> tuple[Migration, ...]:
    def run_script(text: str) -> None:
        session.connection.executescript(text)

    return migrate(session, known, at=AT, run_script=run_script)


def test_what_is_missing_is_applied_once_and_in_order(session: SqliteSession) -> None:
    assert _migrate(session, _FIRST) == (_FIRST,)
    assert _migrate(session, _FIRST, _SECOND) == (_SECOND,)
    assert _migrate(session, _FIRST, _SECOND) == ()
    assert schema_version(session) == 2
    assert session.query("SELECT version, name, applied_at FROM schema_migration ORDER BY version") == [
        (1, "0001_first", "2026-01-07T12:00:00.25Z"),
        (2, "0002_second", "2026-01-07T12:00:00.25Z"),
    ]


def test_a_database_with_more_migrations_than_we_know_is_newer(session: SqliteSession) -> None:
    _migrate(session, _FIRST, _SECOND)
    with refused("store.newer_database"):
        _migrate(session, _FIRST)
    with refused("store.newer_database"):
        require_current(session, (_FIRST,))


@pytest.mark.parametrize(
    "edited", [_FIRST._replace(sql="CREATE TABLE one (n TEXT);"), _FIRST._replace(name="0001_new")]
)
def test_a_migration_whose_text_or_name_changed_is_refused(session: SqliteSession, edited: Migration) -> None:
    _migrate(session, _FIRST)
    with refused("store.migration_edited"):
        _migrate(session, edited, _SECOND)


def test_whoever_only_reads_needs_every_migration_applied(session: SqliteSession) -> None:
    _migrate(session, _FIRST)
    require_current(session, (_FIRST,))
    with refused("store.outdated_database"):
        require_current(session, (_FIRST, _SECOND))


@pytest.mark.parametrize("package", ["assay.adapters.sqlite", "assay.adapters.postgres"])
def test_the_migrations_of_both_databases_count_from_one_without_gaps(package: str) -> None:
    found = load_migrations(package)
    assert [one.version for one in found] == list(range(1, len(found) + 1))
    assert all(one.name.startswith(f"{one.version:04d}_") for one in found)


def test_both_databases_have_the_same_migrations_by_name() -> None:
    """Each dialect has its own text; a step that one lacks would let them drift apart."""
    names = [[one.name for one in load_migrations(f"assay.adapters.{engine}")] for engine in ("sqlite", "postgres")]
    assert names[0] == names[1]


def test_migrations_with_a_gap_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "gappy_package"
    (package / "migrations").mkdir(parents=True)
    (package / "__init__.py").touch()
    for name in ("0001_a.sql", "0003_c.sql"):
        (package / "migrations" / name).write_text("SELECT 1;")
    monkeypatch.syspath_prepend(tmp_path)
    with refused("store.migration_edited"):
        load_migrations("gappy_package")
