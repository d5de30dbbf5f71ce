"""What the fault suite shares: a cluster that may be killed, and places where nodes of either database live."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults._nodes import Place, PostgresPlace, SqlitePlace
from tests.postgres_cluster import PostgresCluster


@pytest.fixture(scope="session")
def doomed_cluster() -> Iterator[PostgresCluster]:
    """A cluster of the fault suite's own, so that killing it disturbs nobody."""
    cluster = PostgresCluster()
    cluster.start()
    yield cluster
    cluster.close()


@pytest.fixture
def sqlite_place(tmp_path: Path) -> Place:
    return SqlitePlace(tmp_path)


@pytest.fixture
def postgres_place(tmp_path: Path, doomed_cluster: PostgresCluster) -> Place:
    return PostgresPlace(tmp_path, doomed_cluster)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> Place:
    """The same rule on both databases."""
    chosen: Place = request.getfixturevalue(f"{request.param}_place")
    return chosen
