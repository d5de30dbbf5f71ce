"""The throw-away PostgreSQL cluster keeps what was committed, and dies when told to."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.postgres_cluster import PostgresCluster


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[PostgresCluster]:
    """A cluster of this module's own, so that killing it disturbs nobody."""
    cluster = PostgresCluster()
    cluster.start()
    yield cluster
    cluster.close()


def _read(cluster: PostgresCluster, database: str, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(cluster.dsn(database)) as connection:
        return connection.execute(sql.encode()).fetchall()


def test_a_committed_row_survives_killing_every_process(own_cluster: PostgresCluster) -> None:
    """kill_all cuts open sessions off, and recovery brings back what was committed and nothing else."""
    database = own_cluster.create_database()
    own_cluster.execute(database, "CREATE TABLE kept (n int)")
    own_cluster.execute(database, "INSERT INTO kept VALUES (1)")
    with psycopg.connect(own_cluster.dsn(database)) as open_session:
        open_session.execute("INSERT INTO kept VALUES (2)")
        own_cluster.kill_all()
        with pytest.raises(psycopg.OperationalError):
            open_session.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(own_cluster.dsn(database))
    own_cluster.start()
    assert _read(own_cluster, database, "SELECT n FROM kept") == [(1,)]


def test_durability_is_switched_on(own_cluster: PostgresCluster) -> None:
    """A cluster that does not flush would make every crash test meaningless."""
    for setting in ("fsync", "synchronous_commit", "full_page_writes"):
        assert _read(own_cluster, "postgres", f"SHOW {setting}") == [("on",)]


def test_databases_are_separate_and_restart_keeps_the_address(own_cluster: PostgresCluster) -> None:
    """Each caller gets a database of its own; a restart changes neither address nor content."""
    first, second = own_cluster.create_database(), own_cluster.create_database()
    own_cluster.execute(first, "CREATE TABLE mine ()")
    before = own_cluster.dsn(first)
    own_cluster.restart()
    assert own_cluster.dsn(first) == before
    assert _read(own_cluster, first, "SELECT to_regclass('mine') IS NOT NULL") == [(True,)]
    assert _read(own_cluster, second, "SELECT to_regclass('mine') IS NOT NULL") == [(False,)]


def test_a_role_can_be_named_in_the_address(own_cluster: PostgresCluster) -> None:
    """The adapter's tests connect as a role that owns nothing."""
    database = own_cluster.create_database()
    own_cluster.execute("postgres", "CREATE ROLE clerk LOGIN")
    with psycopg.connect(own_cluster.dsn(database, "clerk")) as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("clerk",)


def test_closing_leaves_no_folder_behind() -> None:
    """Also when the cluster was never started, and when it is closed twice."""
    cluster = PostgresCluster()
    folder: Path = cluster.folder
    assert folder.is_dir()
    cluster.close()
    cluster.close()
    assert not folder.exists()
