"""A node that the agents of this folder share."""

from collections.abc import Iterator

import pytest

from tests.surfaces.guarded_house import House, open_house


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with open_house(tmp_path_factory.mktemp("agents"), agent="ai:cleaner") as opened:
        yield opened
