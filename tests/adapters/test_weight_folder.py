"""Weights in a folder: by their hash, whole, private, and never other bytes under the same name."""

from pathlib import Path

import pytest

from assay.adapters.folder_memory import FolderWriteError
from assay.adapters.weight_folder import WeightFolder
from assay.kernel.digest import digest_of
from tests.contract._kit import refused


def test_weights_come_back_byte_for_byte_and_are_written_once(tmp_path: Path) -> None:
    folder = WeightFolder(tmp_path / "models")
    weights = folder.put(b"weights")
    assert weights == digest_of(b"weights")
    assert folder.find(weights) == b"weights"
    assert folder.find(digest_of(b"other")) is None
    before = folder.path_of(weights).stat().st_mtime_ns
    assert folder.put(b"weights") == weights
    assert folder.path_of(weights).stat().st_mtime_ns == before
    assert [path.name for path in (tmp_path / "models").iterdir()] == [f"{weights.removeprefix('sha256:')}.bin"]


@pytest.mark.clause("ski", "2.1.1")
def test_substituted_bytes_are_refused_and_mended_by_the_true_ones(tmp_path: Path) -> None:
    folder = WeightFolder(tmp_path)
    weights = folder.put(b"weights")
    folder.path_of(weights).write_bytes(b"others")
    with refused("model.weights"):
        folder.find(weights)
    folder.put(b"weights")
    assert folder.find(weights) == b"weights"


def test_a_name_that_is_no_hash_leads_nowhere(tmp_path: Path) -> None:
    with refused("form.digest"):
        WeightFolder(tmp_path).find("sha256:../../etc/passwd")  # type: ignore[arg-type]  # what a caller must not do


def test_a_checkpoint_is_replaced_whole_and_dropped(tmp_path: Path) -> None:
    place = WeightFolder(tmp_path).checkpoint("abc")
    assert place.load() is None
    for content in (b"first", b"second"):
        place.store(content)
        assert place.load() == content
    assert [path.name for path in tmp_path.iterdir()] == ["training-abc.npz"]
    place.drop()
    place.drop()
    assert place.load() is None


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    with pytest.raises(FolderWriteError):
        WeightFolder(tmp_path / "models").put(b"weights")
