"""Every test of this folder runs unchanged on every database, each on a copy of one that was made once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.ports.database import Database
from tests.contract._kit import Kit, PostgresKit, SqliteKit
from tests.contract._unchecked import UNCHECKED
from tests.postgres_cluster import PostgresCluster


@pytest.fixture(scope="session")
def _sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return SqliteKit(tmp_path_factory.mktemp("template") / "assay.db").path


@pytest.fixture(scope="session")
def _postgres_template(postgres_cluster: PostgresCluster) -> str:
    return PostgresKit(postgres_cluster).name


@pytest.fixture(params=["sqlite", "postgresql"])
def kit(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kit]:
    """A database that nobody has open."""
    if request.param == "sqlite":
        yield SqliteKit(tmp_path / "assay.db", like=request.getfixturevalue("_sqlite_template"))
        return
    cluster: PostgresCluster = request.getfixturevalue("postgres_cluster")
    made = PostgresKit(cluster, like=request.getfixturevalue("_postgres_template"))
    yield made
    cluster.drop_database(made.name)


@pytest.fixture
def database(kit: Kit) -> Iterator[Database]:
    """The same, open for writing."""
    opened = kit.open()
    yield opened
    opened.close()


@pytest.fixture
def unchecked(kit: Kit) -> Iterator[Database]:
    """The same for tests of a store alone, whose rows have no entries: nothing that is read is compared."""
    opened = kit.open(projector=UNCHECKED)
    yield opened
    opened.close()
