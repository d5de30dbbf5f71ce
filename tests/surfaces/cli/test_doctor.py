"""`assay doctor`: what is wrong is failed, and the rest is still looked at."""

import shutil
from pathlib import Path

import pytest

from assay import __version__
from assay.adapters.writer_lock import find_lock_holder
from assay.wiring import open_node
from tests.surfaces.cli.running import ask, note


def _states(home: Path) -> dict[str, str]:
    found = ask("--home", home, "doctor", "--json").json["findings"]
    return {one["name"]: one["state"] for one in found}


def test_a_healthy_node_has_nothing_failed_and_advice_only_with_warnings(home: Path) -> None:
    ask("--home", home, "ledger", "checkpoint")
    ask("--home", home, "ledger", "verify")
    answer = ask("--home", home, "doctor", "--json")
    findings = answer.json["findings"]
    assert answer.code == 0
    assert {one["state"] for one in findings if one["name"] != "disk"} == {"ok"}
    assert all((one["advice"] is None) == (one["state"] == "ok") for one in findings)
    words = ask("--home", home, "doctor").out
    assert all(one["name"] in words for one in findings)
    assert f"assay {__version__} on Python" in words
    assert not [line for line in words.splitlines() if line != line.rstrip()]


def test_a_young_node_is_warned_that_nothing_is_signed_or_verified_yet(home: Path) -> None:
    states = _states(home)
    assert states["checkpoint of default"] == states["verification of default"] == "warning"


def test_a_readable_folder_is_a_warning(home: Path) -> None:
    home.chmod(0o755)
    assert _states(home)["folder"] == "warning"


def test_key_files_that_are_missing_or_readable_by_others_fail(home: Path) -> None:
    """And so does opening the node; the rest is still examined."""
    (home / "keys" / "review.key").unlink()
    (home / "keys" / "transcript.key").chmod(0o644)
    states = _states(home)
    assert ask("--home", home, "doctor").code == 1
    assert (states["ledger key file"], states["review key file"], states["transcript key file"]) == (
        "ok",
        "failed",
        "failed",
    )
    assert states["database"] == "failed"
    assert states["disk"] in {"ok", "warning"}


def test_a_tpm_that_is_named_needs_its_tools(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "tpm" not in _states(home)
    file = home / "assay.toml"
    file.write_text(file.read_text() + '\n[ski]\ntpm = "device:/dev/tpmrm0"\n')
    assert _states(home)["tpm"] == "ok"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _states(home)["tpm"] == "failed"


def test_a_bad_configuration_fails_with_every_problem(home: Path) -> None:
    (home / "assay.toml").write_text('[node]\norigin = "a b"\nfounder = "x"\n[database]\nurl = "mysql:x"\n')
    answer = ask("--home", home, "doctor", "--json")
    [failure] = [one for one in answer.json["findings"] if one["state"] == "failed"]
    assert (answer.code, failure["name"]) == (1, "configuration")
    assert "node.origin" in failure["message"]
    assert "database.url" in failure["message"]


def test_a_database_that_lost_entries_fails(home: Path, tmp_path: Path) -> None:
    shutil.copy(home / "assay.db", tmp_path / "old.db")
    ask("--home", home, "ledger", "append", note(tmp_path))
    ask("--home", home, "ledger", "checkpoint")
    shutil.copy(tmp_path / "old.db", home / "assay.db")
    assert _states(home)["checkpoints outside"] == "failed"


def test_the_writer_is_named_by_its_process_and_nobody_is_disturbed(home: Path) -> None:
    assert find_lock_holder(home / "assay.db") is None
    with open_node(home):
        holder = find_lock_holder(home / "assay.db")
        assert holder is not None
        [writer] = [one for one in ask("--home", home, "doctor", "--json").json["findings"] if one["name"] == "writer"]
        assert str(holder) in writer["message"]
    assert find_lock_holder(home / "assay.db") is None
    assert find_lock_holder(home / "nothing.db") is None
