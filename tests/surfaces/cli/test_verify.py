"""`assay verify`: offline, with nothing but the proof and a key; every way to be wrong has its exit code."""

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from assay.adapters.keyfile import create_key_file
from assay.kernel.key import key_id_of, parse_public_key
from assay.kernel.note import SignatureType, VerifierKey, render_verifier_key
from assay.wiring import init_node
from tests.surfaces.cli.running import ask, note, spawn


@pytest.fixture
def bundle(home: Path, tmp_path: Path) -> Path:
    """A proof of entry 4, with a disclosed value."""
    ask("--home", home, "ledger", "append", note(tmp_path), "--personal", "/asked_by")
    path = tmp_path / "bundle.json"
    assert ask("--home", home, "ledger", "prove", "4", "--disclose", "--output", path).code == 0
    return path


def _key(home: Path) -> Path:
    return home / "keys" / "ledger.key.pub"


def _changed(bundle: Path, **fields: object) -> Path:
    document = json.loads(bundle.read_text()) | fields
    return note(bundle.parent, json.dumps(document), "changed.json")


def _flipped(text: str, at: int) -> str:
    return text[:at] + ("b" if text[at] in "aA" else "a") + text[at + 1 :]


def test_a_proof_holds_where_there_is_nothing_but_the_bundle_and_the_key(
    bundle: Path, home: Path, tmp_path: Path
) -> None:
    """A process of its own, in a folder with two files; the node is gone by then."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(bundle, elsewhere / "bundle.json")
    shutil.copy(_key(home), elsewhere / "key.pub")
    shutil.rmtree(home)
    answer = spawn("verify", "bundle.json", "--trust", "key.pub", folder=elsewhere)
    assert answer.code == 0
    assert answer.err == "holds\n"
    assert sorted(path.name for path in elsewhere.iterdir()) == ["bundle.json", "key.pub"]


def test_every_check_is_named_in_json(bundle: Path, home: Path) -> None:
    answer = ask("verify", bundle, "--trust", _key(home), "--json")
    assert (answer.code, answer.json["holds"], answer.json["code"]) == (0, True, None)
    outcomes = {check["name"]: check["outcome"] for check in answer.json["checks"]}
    assert outcomes["inclusion"] == outcomes["signer"] == outcomes["disclosures"] == "ok"
    assert outcomes["cosignatures"] == "not_checked"


def test_a_key_may_be_given_in_every_form_people_have_it(bundle: Path, home: Path) -> None:
    """A file, PEM, hex, base64, a verifier key, or only its id."""
    pem = _key(home).read_text()
    raw = parse_public_key(pem)
    verifier_key = ask("--home", home, "key", "list", "--json").json[0]["verifier_key"]
    forms = [str(_key(home)), pem, raw.hex(), base64.b64encode(raw).decode(), verifier_key, key_id_of(raw)]
    assert [ask("verify", bundle, "--trust", form).code for form in forms] == [0] * len(forms)


def test_exit_1_when_nobody_you_trust_vouches_for_it(bundle: Path, tmp_path: Path) -> None:
    """Untrusted is not tampered: all else fits together."""
    other = create_key_file(tmp_path / "other.key")
    given: list[list[str]] = [[], ["--trust", other.key_id], ["--trust", str(tmp_path / "other.key.pub")]]
    for trust in given:
        answer = ask("verify", bundle, *trust, "--json")
        assert (answer.code, answer.json["code"]) == (1, "proof.untrusted_signer")


def test_whoever_gives_no_key_is_told_which_one_to_give(bundle: Path, tmp_path: Path) -> None:
    """Without any, the words ask for one; with another's, they do not."""
    other = create_key_file(tmp_path / "other.key")
    assert "give the operator's public key" in ask("verify", bundle).err
    assert "no key given with --trust leads to the signer" in ask("verify", bundle, "--trust", other.key_id).err


def test_exit_1_when_the_bundle_brings_no_keys_and_none_is_given(bundle: Path) -> None:
    assert ask("verify", _changed(bundle, keys=[])).code == 1


def test_a_key_in_the_bundle_vouches_for_nothing(home: Path, tmp_path: Path) -> None:
    """A whole log forged with another key is as good as no log to whoever trusts the real one."""
    init_node(tmp_path / "forger", origin="example.com/log")
    ask("--home", tmp_path / "forger", "ledger", "append", note(tmp_path))
    forged = tmp_path / "forged.json"
    ask("--home", tmp_path / "forger", "ledger", "prove", "4", "--output", forged)
    assert ask("verify", forged, "--trust", _key(home)).code == 1


@pytest.mark.parametrize(
    ("field", "code"),
    [
        ("entry", "proof.entry_hash"),
        ("entry_hash", "proof.entry_hash"),
        ("leaf_index", "proof.leaf"),
        ("tree_size", "proof.leaf"),
        ("inclusion_path", "merkle.root_mismatch"),
        ("checkpoint", "merkle.root_mismatch"),
        ("disclosures", "commitment.mismatch"),
    ],
)
def test_exit_3_when_one_field_was_changed(field: str, code: str, bundle: Path, home: Path) -> None:
    """Each change is refused with the code of what it broke, whoever is trusted."""
    value: Any = json.loads(bundle.read_text())[field]
    if field == "inclusion_path":
        value[0] = _flipped(value[0], 3)
    elif field == "disclosures":
        value[0]["value"] = "Eve"
    elif field == "checkpoint":
        lines = value.split("\n")
        value = "\n".join([*lines[:2], _flipped(lines[2], 3), *lines[3:]])
    else:
        value = value + 1 if isinstance(value, int) else _flipped(value, 20)
    changed = _changed(bundle, **{field: value})
    answer = ask("verify", changed, "--trust", _key(home), "--json")
    assert (answer.code, answer.json["code"]) == (3, code)
    assert ask("verify", changed).code == 3


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[]", "no json", '{"format": "assay-proof-bundle/2"}', "c2sp.org/tlog-proof@v1\n", '{"a":' * 5000],
    ids=["nothing", "object", "list", "text", "format", "tlog-proof", "nested too deeply"],
)
def test_exit_3_when_it_is_no_bundle_at_all(content: str, tmp_path: Path, home: Path) -> None:
    path = note(tmp_path, content)
    assert ask("verify", path, "--trust", _key(home), "--entry", path).code == 3


def test_a_malformed_key_is_wrong_usage_and_says_nothing_about_the_proof(bundle: Path) -> None:
    """Exit 3 would call a good bundle forged."""
    for option in ("--trust", "--witness"):
        answer = ask("verify", bundle, option, "sha256:00", "--json")
        assert (answer.code, answer.error_code) == (2, "cli.usage")


def test_a_key_file_that_is_not_there_is_told_by_its_name(bundle: Path) -> None:
    """What may be a key, even one that should be secret, is never repeated."""
    answer = ask("verify", bundle, "--trust", "keys/nobody.pub")
    assert (answer.code, "no file is named `keys/nobody.pub`" in answer.err) == (2, True)
    secret = "c2VjcmV0IHNlY3JldA=="
    answer = ask("verify", bundle, "--trust", secret)
    assert (answer.code, secret in answer.err) == (2, False)


def test_a_verifier_key_names_the_only_log_that_will_do(home: Path, bundle: Path) -> None:
    """The same key under another log's name does not vouch for this one."""
    assert ask("verify", bundle, "--trust", _key(home), "--origin", "example.com/log/default").code == 0
    answer = ask("verify", bundle, "--trust", _key(home), "--origin", "example.com/other", "--json")
    assert (answer.code, answer.json["code"]) == (3, "checkpoint.origin")


def _witness_key(name: str) -> str:
    # The base point: a key like any other.
    return render_verifier_key(
        VerifierKey(name=name, public_key=b"\x58" + b"\x66" * 31, type=SignatureType.COSIGNATURE)
    )


@pytest.mark.parametrize("threshold", [(), ("--threshold", "1")])
def test_too_few_witnesses_are_a_refusal(bundle: Path, home: Path, threshold: tuple[str, ...]) -> None:
    """Whoever names a witness wants its word, unless they say that fewer will do."""
    verify = ("verify", bundle, "--trust", _key(home), "--witness", _witness_key("w.example"), "--json")
    answer = ask(*verify, *threshold)
    assert (answer.code, answer.json["code"]) == (3, "checkpoint.cosignatures")
    assert ask(*verify, "--threshold", "0").code == 0


def test_a_witness_that_could_never_count_is_wrong_usage(bundle: Path, home: Path) -> None:
    """A log's own key makes no cosignature, and of two keys under one name only one would be looked for."""
    log_key = ask("--home", home, "key", "list", "--json").json[0]["verifier_key"]
    twice = ("--witness", _witness_key("w.example"), "--witness", _witness_key("w.example"))
    for given in (("--witness", log_key), twice):
        answer = ask("verify", bundle, "--trust", _key(home), *given, "--json")
        assert (answer.code, answer.error_code) == (2, "cli.usage")


def test_a_tlog_proof_is_verified_beside_the_exact_entry(home: Path, tmp_path: Path) -> None:
    """0 with the key, 1 without, 3 beside another entry, 2 beside none."""
    ask("--home", home, "ledger", "append", note(tmp_path))
    proof, entry = tmp_path / "entry.tlog-proof", tmp_path / "entry.txt"
    ask("--home", home, "ledger", "prove", "4", "--format", "tlog", "--output", proof)
    entry.write_text(ask("--home", home, "ledger", "text", "4").out)
    other = note(tmp_path, entry.read_text().replace("clear", "Clear"), "other.txt")
    trust = ("--trust", _key(home))
    codes = [
        ask("verify", proof, "--entry", entry, *trust).code,
        ask("verify", proof, "--entry", entry).code,
        ask("verify", proof, "--entry", other, *trust).code,
        ask("verify", proof, *trust).code,
        ask("verify", proof, "--entry", entry, *trust, "--origin", "example.com/other").code,
        ask("verify", proof, "--entry", entry, *trust, "--threshold", "1").code,
    ]
    assert codes == [0, 1, 3, 2, 3, 3]


def test_a_bundle_may_come_on_standard_input(bundle: Path, home: Path) -> None:
    assert ask("verify", "-", "--trust", _key(home), stdin=bundle.read_bytes()).code == 0
