"""One node for all tests of this folder: making it takes longer than most of them."""

from collections.abc import Iterator

import pytest

from tests.surfaces.http.v1._whole import Whole, opened_whole


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    with opened_whole(tmp_path_factory.mktemp("whole")) as made:
        yield made
