"""A node for each test, copied from one that is made once."""

import os
import shutil
from pathlib import Path

import pytest

from assay.wiring import init_node


@pytest.fixture(scope="session")
def _template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template") / "node"
    init_node(folder, origin="example.com/log")
    return folder


@pytest.fixture
def home(_template: Path, tmp_path: Path) -> Path:
    """A founded node whose entries 1 to 3 record its keys."""
    folder = tmp_path / "node"
    shutil.copytree(_template, folder)
    folder.chmod(0o700)
    return folder


@pytest.fixture(autouse=True)
def _no_other_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the developer's own shell says about a node is not for tests."""
    for name in [name for name in os.environ if name.startswith("ASSAY_") and name != "ASSAY_TEST_SCALE"]:
        monkeypatch.delenv(name)
