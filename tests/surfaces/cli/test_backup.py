"""`assay backup` and `assay restore`: beside a writer, whole or not at all."""

import zipfile
from pathlib import Path

import pytest

from assay.adapters.keyfile import create_key_file
from assay.wiring import load_config, open_node
from tests.surfaces.cli.running import ask, note, spawn


@pytest.fixture
def used(home: Path, tmp_path: Path) -> Path:
    """A node with entries, a personal value and a checkpoint that does not cover the newest entry."""
    ask("--home", home, "ledger", "append", note(tmp_path), "--personal", "/asked_by")
    ask("--home", home, "ledger", "append", "--ndjson", "-", stdin=b'{"n":1}\n' * 300)
    ask("--home", home, "ledger", "checkpoint")
    ask("--home", home, "ledger", "append", note(tmp_path))
    return home


def _key(home: Path) -> Path:
    return home / "keys" / "ledger.key.pub"


def test_a_restored_node_is_the_node_that_was_backed_up(used: Path, tmp_path: Path) -> None:
    """Entries, values, checkpoints and keys: it verifies, discloses, and goes on."""
    answer = ask("--home", used, "backup", tmp_path / "b.zip", "--with-keys", "--json")
    assert (answer.code, answer.json["entries"]) == (0, {"default": 305})
    assert (tmp_path / "b.zip").stat().st_mode & 0o777 == 0o600
    again = tmp_path / "again"
    restored = ask("restore", tmp_path / "b.zip", again, "--trust", _key(used), "--json").json
    assert (restored["is_trusted"], restored["missing_keys"], restored["entries"]) == (True, [], {"default": 305})
    for options in (["list", "--limit", "400"], ["show", "4", "--disclose"]):
        there, here = (ask("--home", one, "ledger", *options, "--json").out for one in (used, again))
        assert there == here
    assert load_config(again).node.founder == load_config(used).node.founder
    assert ask("--home", again, "ledger", "verify", "--full").code == 0
    assert ask("--home", again, "ledger", "append", note(tmp_path), "--json").json["sequence_number"] == 306
    assert ask("--home", again, "doctor").code == 0


def test_without_keys_the_restore_says_which_are_missing(used: Path, tmp_path: Path) -> None:
    """Private keys are in the archive only on request; public ones always are."""
    answer = ask("--home", used, "backup", tmp_path / "b.zip")
    assert "keys/ledger.key" in answer.err
    names = zipfile.ZipFile(tmp_path / "b.zip").namelist()
    assert "keys/ledger.key" not in names
    assert "keys/ledger.key.pub" in names
    restored = ask("restore", tmp_path / "b.zip", tmp_path / "again", "--json")
    assert restored.json["missing_keys"] == [
        "keys/ledger.key",
        "keys/review.key",
        "keys/transcript.key",
        "keys/truth.key",
        "keys/credentials.key",
    ]
    assert "use --trust" in restored.err


def test_a_backup_is_made_beside_a_running_writer(used: Path, tmp_path: Path) -> None:
    with open_node(used):
        assert ask("--home", used, "backup", tmp_path / "b.zip").code == 0
    assert ask("restore", tmp_path / "b.zip", tmp_path / "again").code == 0


def test_nothing_is_overwritten(used: Path, tmp_path: Path) -> None:
    path = note(tmp_path, "mine", "b.zip")
    answer = ask("--home", used, "backup", path, "--json")
    assert (answer.code, answer.error_code, path.read_text()) == (2, "backup.file", "mine")
    ask("--home", used, "backup", tmp_path / "c.zip")
    taken = ask("restore", tmp_path / "c.zip", used, "--json")
    assert (taken.code, taken.error_code) == (2, "config.folder_taken")


def test_an_archive_of_somebody_else_is_refused_by_whoever_says_whom_to_trust(used: Path, tmp_path: Path) -> None:
    """And nothing is left behind."""
    ask("--home", used, "backup", tmp_path / "b.zip")
    other = create_key_file(tmp_path / "other.key")
    before = sorted(tmp_path.iterdir())
    answer = ask("restore", tmp_path / "b.zip", tmp_path / "again", "--trust", other.key_id, "--json")
    assert (answer.code, answer.error_code) == (3, "backup.untrusted")
    assert sorted(tmp_path.iterdir()) == before


def test_a_damaged_archive_is_exit_3_and_a_missing_one_exit_2(used: Path, tmp_path: Path) -> None:
    ask("--home", used, "backup", tmp_path / "b.zip")
    content = (tmp_path / "b.zip").read_bytes()
    (tmp_path / "short.zip").write_bytes(content[: len(content) // 2])
    assert spawn("restore", tmp_path / "short.zip", tmp_path / "again").code == 3
    assert spawn("restore", tmp_path / "none.zip", tmp_path / "again").code == 2
    assert not (tmp_path / "again").exists()


def test_after_a_rotation_the_first_key_still_vouches_for_the_backup(used: Path, tmp_path: Path) -> None:
    ask("--home", used, "key", "rotate", "ledger")
    ask("--home", used, "backup", tmp_path / "b.zip", "--with-keys")
    answer = ask("restore", tmp_path / "b.zip", tmp_path / "again", "--trust", _key(used), "--json")
    assert (answer.code, answer.json["is_trusted"]) == (0, True)
    assert ask("--home", tmp_path / "again", "ledger", "append", note(tmp_path)).code == 0
