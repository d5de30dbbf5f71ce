"""`assay key`: the node's own keys, their succession, and whom it trusts."""

from pathlib import Path

import pytest

from assay.adapters.keyfile import create_key_file
from assay.kernel.key import parse_anchors
from tests.surfaces.cli.running import ask, note


def test_the_list_says_which_keys_are_in_use_and_how_to_verify_with_them(home: Path) -> None:
    rows = ask("--home", home, "key", "list", "--json").json
    assert [row["purpose"] for row in rows] == ["ledger", "review", "transcript"]
    assert all(row["in_use"] for row in rows)
    assert rows[0]["verifier_key"].startswith("example.com/log/default+")
    assert rows[0]["key_id"] in ask("--home", home, "key", "list").out


def test_whoever_trusts_the_old_key_can_verify_what_the_new_one_signs(home: Path, tmp_path: Path) -> None:
    """Rotation is recorded in the ledger, points assay.toml to the new file, and keeps the old one."""
    before = ask("--home", home, "key", "list", "--json").json[0]["key_id"]
    value = ask("--home", home, "key", "rotate", "ledger", "--overlap", "2d", "--json").json
    assert (value["file"], value["replaces"]) == ("keys/ledger-2.key", before)
    assert 'ledger = "keys/ledger-2.key"' in (home / "assay.toml").read_text()
    assert (home / "keys" / "ledger-2.key").stat().st_mode & 0o777 == 0o600
    ask("--home", home, "ledger", "append", note(tmp_path))
    ask("--home", home, "ledger", "prove", "6", "--output", tmp_path / "bundle.json")
    finding = ask("verify", tmp_path / "bundle.json", "--trust", home / "keys" / "ledger.key.pub", "--json")
    assert (finding.code, finding.json["signer"]) == (0, value["key_id"])
    assert ask("--home", home, "ledger", "verify", "--full").code == 0
    assert ask("--home", home, "key", "rotate", "ledger", "--json").json["file"] == "keys/ledger-3.key"
    in_use = [row["key_id"] for row in ask("--home", home, "key", "list", "--json").json if row["in_use"]]
    assert before not in in_use


def test_a_key_in_its_overlap_is_ended_at_once(home: Path) -> None:
    """By the key that replaced it; the old one cannot end the new one, and a key in use is not ended."""
    value = ask("--home", home, "key", "rotate", "review", "--json").json
    old, new = value["replaces"], value["key_id"]
    in_use = ask("--home", home, "key", "end", new, "--reason", "stolen", "--json")
    assert (in_use.code, in_use.error_code) == (2, "key.in_use")
    assert ask("--home", home, "key", "end", old, "--reason", "stolen").code == 0
    rows = {row["key_id"]: row for row in ask("--home", home, "key", "list", "--json").json}
    assert rows[old]["valid_until"] < value["old_valid_until"]
    assert rows[new]["valid_until"] is None
    again = ask("--home", home, "key", "end", old, "--reason", "stolen", "--json")
    assert again.error_code == "key.expired"
    assert ask("--home", home, "ledger", "verify", "--full").code == 0


def test_a_folder_without_its_keys_is_read_verified_and_exported(home: Path, tmp_path: Path) -> None:
    """As a restored backup is until somebody puts the keys there; what has to sign says which key is missing."""
    ask("--home", home, "ledger", "append", note(tmp_path))
    ask("--home", home, "ledger", "checkpoint")
    (home / "keys").rename(tmp_path / "elsewhere")
    for words in (
        ("ledger", "verify", "--full"),
        ("ledger", "list"),
        ("ledger", "prove", "2"),
        ("ledger", "export", "--output", tmp_path / "export"),
        ("principal", "list"),
        ("review", "list"),
        ("claims", "list"),
        ("key", "list"),
    ):
        done = ask("--home", home, *words)
        assert done.code == 0, (words, done.err)
    refused = ask("--home", home, "ledger", "checkpoint", "--json")
    assert (refused.code, refused.error_code) == (2, "key.file_missing")


def test_a_rotation_cut_short_is_finished_by_the_next_one(home: Path) -> None:
    """A crash between recording and assay.toml: the recorded successor is taken, no second one is made."""
    before = (home / "assay.toml").read_text()
    first = ask("--home", home, "key", "rotate", "ledger", "--json").json
    (home / "assay.toml").write_text(before)
    again = ask("--home", home, "key", "rotate", "ledger", "--json").json
    assert again == first
    assert not (home / "keys" / "ledger-3.key").exists()
    assert ask("--home", home, "ledger", "checkpoint").code == 0
    assert ask("--home", home, "ledger", "verify", "--full").code == 0


def test_a_rotation_without_overlap_leaves_a_node_that_works(home: Path) -> None:
    """And one that was cut short says what to write into assay.toml."""
    before = (home / "assay.toml").read_text()
    assert ask("--home", home, "key", "rotate", "ledger", "--overlap", "0s").code == 0
    assert ask("--home", home, "ledger", "checkpoint").code == 0
    assert ask("--home", home, "ledger", "verify", "--full").code == 0
    (home / "assay.toml").write_text(before)
    answer = ask("--home", home, "ledger", "checkpoint", "--json")
    assert (answer.code, answer.error_code) == (2, "key.not_own")
    assert 'set `ledger = "keys/ledger-2.key"`' in answer.json["error"]["message"]


@pytest.mark.parametrize("purpose", ["review", "transcript", "truth"])
def test_the_other_keys_rotate_too(purpose: str, home: Path) -> None:
    assert ask("--home", home, "key", "rotate", purpose).code == 0
    assert ask("--home", home, "doctor").code == 0


def test_a_node_that_was_founded_without_a_truth_key_gets_its_first_one(home: Path) -> None:
    """It is made beside the others, vouched for by the ledger key, and written into assay.toml."""
    path = home / "assay.toml"
    path.write_text(path.read_text().replace('truth = "keys/truth.key"\n', ""))
    for name in ("truth.key", "truth.key.pub"):
        (home / "keys" / name).unlink()
    value = ask("--home", home, "key", "rotate", "truth", "--json").json
    assert (value["file"], value["replaces"]) == ("keys/truth.key", None)
    rows = ask("--home", home, "key", "list", "--json").json
    assert [(row["purpose"], row["in_use"]) for row in rows][-1] == ("truth", True)
    assert ask("--home", home, "key", "rotate", "truth", "--json").json["file"] == "keys/truth-2.key"
    assert ask("--home", home, "doctor").code == 0


def test_a_first_truth_key_never_takes_a_place_that_is_taken(home: Path) -> None:
    """A file that an earlier attempt left is not believed and not overwritten."""
    path = home / "assay.toml"
    path.write_text(path.read_text().replace('truth = "keys/truth.key"\n', ""))
    before = (home / "keys" / "truth.key").read_bytes()
    assert ask("--home", home, "key", "rotate", "truth", "--json").json["file"] == "keys/truth-2.key"
    assert (home / "keys" / "truth.key").read_bytes() == before


def test_a_configuration_that_cannot_be_edited_leaves_everything_as_it_was(home: Path) -> None:
    """The refusal comes before a key is made or anything recorded."""
    path = home / "assay.toml"
    path.write_text(path.read_text().replace('ledger = "keys/ledger.key"', "'ledger' = 'keys/ledger.key'"))
    answer = ask("--home", home, "key", "rotate", "ledger", "--json")
    assert (answer.code, answer.error_code) == (2, "config.edit")
    assert not (home / "keys" / "ledger-2.key").exists()
    assert ask("--home", home, "ledger", "show", "4").code == 1


def test_trusting_others_keeps_the_node_able_to_verify_itself(home: Path, tmp_path: Path) -> None:
    """Its own keys follow from its founder; anchors, also those written by hand, are for the documents of others."""
    assert ask("--home", home, "key", "trust", "list", "--json").json == {"items": [], "next": None}
    create_key_file(tmp_path / "other.key")
    anchors = ask("--home", home, "key", "trust", "add", tmp_path / "other.key.pub", "--json").json["anchors"]
    assert len(anchors) == 1
    assert ask("--home", home, "ledger", "checkpoint").code == 0
    assert ask("--home", home, "ledger", "verify", "--full").code == 0
    assert ask("--home", home, "key", "rotate", "ledger").code == 0
    assert ask("--home", home, "doctor").code == 0
    again = ask("--home", home, "key", "trust", "add", tmp_path / "other.key.pub", "--json").json["anchors"]
    assert again == anchors
    [listed] = ask("--home", home, "key", "trust", "list", "--json").json["items"]
    assert [listed["key_id"]] == list(parse_anchors(anchors).all_key_ids)


def test_what_is_no_key_is_not_trusted(home: Path) -> None:
    before = (home / "assay.toml").read_text()
    assert ask("--home", home, "key", "trust", "add", "sha256:00").code == 2
    assert (home / "assay.toml").read_text() == before
