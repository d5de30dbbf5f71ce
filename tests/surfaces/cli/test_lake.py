"""`assay ledger export --format tiles`, `assay monitor` and `assay lake`, as docs/lake.md shows them."""

import json
import shutil
from pathlib import Path

from tests.surfaces.cli.running import ask, note


def _grow(home: Path, tmp_path: Path) -> None:
    for _ in range(3):
        assert ask("--home", home, "ledger", "append", note(tmp_path)).code == 0
    assert ask("--home", home, "ledger", "checkpoint").code == 0


def test_a_monitor_follows_a_published_log_and_exits_3_for_a_fork(home: Path, tmp_path: Path) -> None:
    log, state, key = tmp_path / "log", tmp_path / "seen.json", home / "keys" / "ledger.key.pub"
    other = tmp_path / "other"
    shutil.copytree(home, other)
    _grow(home, tmp_path)
    published = ask("--home", home, "ledger", "export", "--format", "tiles", "--output", log)
    assert (published.code, "6 entries, 6 of them new" in published.out) == (0, True)
    visited = ask("monitor", log, "--state", state, "--trust", key)
    assert (visited.code, visited.out.split()[0]) == (0, "VALID")
    again = ask("monitor", log, "--state", state, "--trust", key, "--json").json
    assert (again["size"], again["new_entries"], again["fault"]) == (6, 0, None)
    _grow(other, tmp_path)
    assert ask("--home", other, "ledger", "export", "--format", "tiles", "--output", tmp_path / "fork").code == 0
    kept = state.read_bytes()
    forked = ask("monitor", tmp_path / "fork", "--state", state, "--trust", key)
    assert (forked.code, "checkpoint.forks" in forked.out, "signed and shown now" in forked.out) == (3, True, True)
    assert state.read_bytes() == kept
    refused = ask("--home", other, "ledger", "export", "--format", "tiles", "--output", log, "--json")
    assert (refused.code, refused.error_code) == (3, "ledger.other_log")


def test_nobody_is_trusted_unless_named(home: Path, tmp_path: Path) -> None:
    _grow(home, tmp_path)
    ask("--home", home, "ledger", "export", "--format", "tiles", "--output", tmp_path / "log")
    visited = ask("monitor", tmp_path / "log", "--state", tmp_path / "seen.json", "--json")
    assert (visited.code, visited.json["fault"]["code"]) == (3, "checkpoint.unsigned")
    assert not (tmp_path / "seen.json").exists()


def test_the_lake_is_exported_and_verified_by_files_and_a_key(home: Path, tmp_path: Path) -> None:
    lake, key = tmp_path / "lake", home / "keys" / "ledger.key.pub"
    _grow(home, tmp_path)
    assert ask("--home", home, "lake", "export", lake).code == 0
    _grow(home, tmp_path)
    assert ask("--home", home, "lake", "export", lake, "--json").json["entries"] == 3
    valid = ask("lake", "verify", lake, "--trust", key)
    assert (valid.code, valid.out.split(":")[0]) == (0, "VALID")
    manifest = next((lake / "manifests" / "tenant=default").iterdir())
    envelope = json.loads(manifest.read_bytes())
    manifest.write_text(json.dumps({**envelope, "payload": envelope["payload"][:-4]}))
    forged = ask("lake", "verify", lake, "--trust", key)
    assert (forged.code, "untrusted" in forged.out) == (3, True)
    assert ask("lake", "verify", tmp_path / "none", "--trust", key, "--json").error_code == "lake.manifest"
