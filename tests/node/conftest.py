"""Passwords of these tests protect nothing, and take no time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import assay
from assay.node import Node
from tests.flows._people import quick_passwords
from tests.node._home import Home, copied


@pytest.fixture(autouse=True)
def _passwords_are_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.wiring.Argon2Passwords", quick_passwords)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return copied(tmp_path)


@pytest.fixture
def node(home: Home) -> Iterator[Node]:
    with assay.open(home.folder) as opened:
        yield opened
