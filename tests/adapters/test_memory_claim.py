"""One service, one memory: a second file is noticed where the first still is."""

from pathlib import Path

import pytest

from assay.adapters.memory_claim import claim_memory
from tests.contract._kit import refused


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "services" / "port"


def _memory(folder: Path, name: str) -> Path:
    made = folder / name
    made.touch()
    return made


def test_the_first_is_noted_and_found_again_by_whatever_name_it_is_called(tmp_path: Path, place: Path) -> None:
    first = _memory(tmp_path, "a.db")
    (tmp_path / "link.db").symlink_to(first)
    assert claim_memory(place, first)
    assert claim_memory(place, first)
    assert claim_memory(place, tmp_path / "sub" / ".." / "link.db")
    assert place.read_text() == f"{first}\n"


def test_another_is_refused_as_long_as_the_first_is_there(tmp_path: Path, place: Path) -> None:
    """Also when nobody runs: the switch that fired there would be forgotten."""
    first, second = _memory(tmp_path, "a.db"), tmp_path / "a-much-longer-name.db"
    claim_memory(place, first)
    with refused("store.other_memory"):
        claim_memory(place, second)
    first.rename(second)
    assert claim_memory(place, second)
    second.rename(first)
    assert claim_memory(place, first)
    assert place.read_text() == f"{first}\n"


def test_where_nothing_can_be_noted_it_says_so(tmp_path: Path) -> None:
    assert not claim_memory(tmp_path / "gone" / "services" / "port", tmp_path / "a.db")
