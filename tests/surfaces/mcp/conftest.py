"""Passwords of these tests protect nothing, and take no time; one node serves a whole module."""

from collections.abc import Iterator

import pytest

from tests.flows._people import quick_passwords
from tests.node._home import Home
from tests.surfaces.mcp._scene import peopled


@pytest.fixture(scope="module", autouse=True)
def _passwords_are_quick() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.wiring.Argon2Passwords", quick_passwords)
        yield


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return peopled(tmp_path_factory.mktemp("mcp"))
