"""Folders that appear whole or not at all."""

from pathlib import Path

import pytest

from assay.adapters.absent_key import AbsentKey
from assay.adapters.keyfile import KeyFileMissingError
from assay.adapters.node_folder import FolderTakenError, StagedFolder, replace_file


def test_a_folder_appears_only_when_it_is_published(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "node"
    with StagedFolder(target) as staged:
        staged.put("keys/a.key", b"secret", private=True)
        staged.put("assay.toml", b"x")
        assert not target.exists()
        staged.publish()
    assert (target / "keys" / "a.key").stat().st_mode & 0o777 == 0o600
    assert target.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in target.parent.iterdir()] == ["node"]


def test_a_folder_that_is_not_published_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for target in (tmp_path / "new", tmp_path / "empty"):
        with StagedFolder(target) as staged:
            staged.put("assay.toml", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_folder_that_exists_and_is_empty_is_filled_in_place(tmp_path: Path) -> None:
    """It may be a mounted volume, which nothing can be renamed over."""
    inode = tmp_path.stat().st_ino
    with StagedFolder(tmp_path) as staged:
        staged.put("assay.toml", b"x")
        staged.put("keys/a.pub", b"y")
        staged.publish()
    assert tmp_path.stat().st_ino == inode
    assert sorted(path.name for path in tmp_path.iterdir()) == ["assay.toml", "keys"]


def test_a_place_that_is_taken_is_refused_before_and_after(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    for name in ("file", "full"):
        with pytest.raises(FolderTakenError):
            StagedFolder(tmp_path / name)
    with StagedFolder(tmp_path / "late") as staged:
        staged.put("assay.toml", b"x")
        (tmp_path / "late").mkdir()
        (tmp_path / "late" / "mine").write_text("mine")
        with pytest.raises(FolderTakenError):
            staged.publish()
    assert (tmp_path / "late" / "mine").read_text() == "mine"


def test_files_are_for_their_owner_unless_they_are_meant_for_all(tmp_path: Path) -> None:
    """A configuration may hold the password of a database."""
    with StagedFolder(tmp_path / "node") as staged:
        staged.put("assay.toml", b"")
        staged.put("a.pub", b"", private=False)
        modes = {file.name: file.stat().st_mode & 0o777 for file in staged.path.iterdir()}
    assert modes == {"assay.toml": 0o600, "a.pub": 0o644}


def test_a_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "assay.toml"
    path.write_text("old")
    path.chmod(0o640)
    replace_file(path, b"new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)
    assert list(tmp_path.iterdir()) == [path]


def test_an_absent_key_signs_nothing_and_vouches_for_nothing() -> None:
    key = AbsentKey("ledger")
    assert key.public_key is None
    with pytest.raises(KeyFileMissingError, match="ledger"):
        key.sign(b"message")
    with pytest.raises(KeyFileMissingError):
        _ = key.key_id
    with pytest.raises(KeyFileMissingError):
        _ = key.method
