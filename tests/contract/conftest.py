"""Every test of this folder runs unchanged on every database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.ports.database import Database
from tests.contract._kit import Kit, PostgresKit, SqliteKit
from tests.postgres_cluster import PostgresCluster


@pytest.fixture(params=["sqlite", "postgresql"])
def kit(request: pytest.FixtureRequest, tmp_path: Path) -> Kit:
    """A database that nobody has open."""
    if request.param == "sqlite":
        return SqliteKit(tmp_path / "assay.db")
    cluster: PostgresCluster = request.getfixturevalue("postgres_cluster")
    return PostgresKit(cluster)


@pytest.fixture
def database(kit: Kit) -> Iterator[Database]:
    """The same, open for writing."""
    opened = kit.open()
    yield opened
    opened.close()
