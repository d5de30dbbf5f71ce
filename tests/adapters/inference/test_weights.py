"""Weights are named by their bytes: the same bytes have the same name, and others another."""

from hashlib import sha256
from pathlib import Path

import pytest

from assay.adapters.inference.weights import hash_weights, require_pinned
from assay.kernel.digest import digest_of
from assay.ports.model import ModelWeightsError


def test_a_file_is_named_by_its_content_and_not_by_its_name(tmp_path: Path) -> None:
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(b"weights")
        assert hash_weights(tmp_path / name) == digest_of(b"weights")


def test_a_folder_is_named_by_all_its_files(tmp_path: Path) -> None:
    """The lines are those of `sha256sum`, so that anybody can make them."""
    (tmp_path / "part").mkdir()
    (tmp_path / "b.bin").write_bytes(b"b")
    (tmp_path / "part" / "a.bin").write_bytes(b"a")
    lines = f"{sha256(b'b').hexdigest()}  b.bin\n{sha256(b'a').hexdigest()}  part/a.bin\n"
    assert hash_weights(tmp_path) == digest_of(lines.encode())
    (tmp_path / "part" / "a.bin").write_bytes(b"c")
    assert hash_weights(tmp_path) != digest_of(lines.encode())


def test_missing_weights_and_an_empty_folder_have_no_name(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "none.gguf"):
        with pytest.raises(ModelWeightsError) as caught:
            hash_weights(place)
        assert caught.value.code == "model.weights"


def test_pinned_weights_must_be_those(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"weights")
    got = hash_weights(tmp_path / "a")
    require_pinned(got, None)
    require_pinned(got, digest_of(b"weights"))
    with pytest.raises(ModelWeightsError):
        require_pinned(got, digest_of(b"others"))
