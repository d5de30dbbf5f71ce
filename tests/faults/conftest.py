"""What the fault suite shares: a cluster that may be killed, and places where nodes of either database live."""

import shutil
import tempfile
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


@pytest.fixture(scope="session")
def tmp_path_factory(request: pytest.FixtureRequest) -> Iterator[pytest.TempPathFactory]:
    """Folders on the disk and not in memory: whoever is killed here is to be hit while it waits for a flush."""
    folder = Path(tempfile.mkdtemp(prefix="assay-faults-"))
    yield pytest.TempPathFactory(folder / "tests", 0, "failed", request.config.trace.get("tmpdir"), _ispytest=True)
    if not request.session.testsfailed:
        shutil.rmtree(folder, ignore_errors=True)


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
