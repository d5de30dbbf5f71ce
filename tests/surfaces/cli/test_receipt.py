"""`assay receipt`: the check that anyone can make with a file, the weights and a key."""

import json
from pathlib import Path

import pytest

from assay.adapters.reasoning.judge import shipped_weights
from tests.model.networks import untrained
from tests.surfaces.cli._verdicts import VerdictShell, opened_verdict_shell
from tests.surfaces.cli.running import ask, spawn


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> VerdictShell:
    return opened_verdict_shell(tmp_path, monkeypatch, capsys, is_judged=True)


@pytest.fixture
def file(shell: VerdictShell) -> Path:
    exported = shell("receipt", "export", "en-03", "--rule", "ied-so2")
    assert exported.code == 0, exported.err
    path = shell.folder / "receipt.json"
    path.write_text(exported.out)
    return path


@pytest.mark.clause("ski", "7.5")
def test_a_verdict_of_this_node_is_checked_by_its_record_or_its_entry(shell: VerdictShell) -> None:
    answer = shell("receipt", "verify", "en-03", "--rule", "ied-so2")
    assert answer.code == 0, answer.out + answer.err
    assert answer.err.startswith("exact: the model of these weights wrote this transcript")
    assert [line.split()[0] for line in answer.out.splitlines()] == ["ok"] * 7
    found = shell.done("receipt", "verify", "en-03", "--rule", "ied-so2")
    assert (found["result"], found["is_trusted"], found["tolerance"]) == ("EXACT", True, 0)
    number = next(
        one["sequence_number"]
        for one in shell.done("verdict", "show", "en-03")["decided"]["verdicts"]
        if one["rule_id"] == "ied-so2"
    )
    assert shell.done("receipt", "verify", "--entry", str(number))["root"] == found["root"]
    shown = shell.done("receipt", "show", "--entry", str(number))
    assert (shown["root"], len(shown["tokens"])) == (found["root"], found["tokens"])
    page = shell("receipt", "show", "en-03", "--rule", "ied-so2").out
    assert "judge sha256:" in page
    assert page.splitlines()[-1].split()[1] == "FLAG"


@pytest.mark.clause("ski", "7.5")
def test_a_third_party_checks_a_file_without_any_node(shell: VerdictShell, file: Path) -> None:
    """Only with a key that they trust does it say who vouches for it; that the weights wrote it needs no trust."""
    key = shell.shell.home / "keys" / "ledger.key.pub"
    alone = spawn("receipt", "verify", file, "--trust", key, folder=shell.folder)
    assert (alone.code, alone.err.split(":")[0]) == (0, "exact")
    unknown = ask("receipt", "verify", file)
    assert unknown.code == 1
    assert unknown.err.startswith("exact, but not trusted")
    assert ask("receipt", "show", file).code == 0


@pytest.mark.clause("ski", "7.5")
def test_one_file_proves_the_entry_and_the_inference(shell: VerdictShell) -> None:
    """`ledger prove` of a verdict brings the receipt; `verify` reads it again, offline, with weights it is given."""
    number = shell.done("verdict", "show", "en-03")["decided"]["verdicts"][0]["sequence_number"]
    path = shell.folder / "proof.json"
    assert shell("ledger", "prove", str(number), "--output", str(path)).code == 0
    key = shell.shell.home / "keys" / "ledger.key.pub"
    alone = spawn("verify", path, "--trust", key, "--json", folder=shell.folder)
    assert alone.code == 0, alone.err
    assert (alone.json["checks"][-1]["name"], alone.json["checks"][-1]["outcome"]) == ("inference", "ok")
    weights = shell.folder / "other.bin"
    weights.write_bytes(untrained())
    other = ask("verify", path, "--trust", key, "--weights", weights, "--json")
    assert (other.code, other.json["code"]) == (3, "model.weights")


@pytest.mark.clause("ski", "7.5")
def test_a_changed_file_and_other_weights_are_refused(shell: VerdictShell, file: Path) -> None:
    key = str(shell.shell.home / "keys" / "ledger.key.pub")
    document = json.loads(file.read_text())
    document["transcript"]["response_canonical"] = document["transcript"]["response_canonical"].replace("FLAG", "CLEAR")
    changed = file.with_name("changed.json")
    changed.write_text(json.dumps(document))
    answer = ask("receipt", "verify", changed, "--trust", key)
    assert answer.code == 3
    assert "[signature.transcript_id]" in answer.err
    other = file.with_name("other.bin")
    other.write_bytes(untrained())
    refused = ask("receipt", "verify", file, "--weights", other, "--trust", key)
    assert refused.code == 3
    assert "[model.weights]" in refused.err
    other.write_bytes(b"no weights at all")
    assert ask("receipt", "verify", file, "--weights", other, "--trust", key).code == 3
    changed.write_text("{}")
    nothing = ask("receipt", "verify", changed, "--json")
    assert (nothing.code, nothing.error_code) == (3, "receipt.form")


def test_a_verdict_is_checked_with_the_weights_that_the_node_keeps_under_their_name(shell: VerdictShell) -> None:
    """Shown by what follows where they are not what their name says: the node's own copy is the one that is read."""
    named = shell.done("receipt", "verify", "en-03", "--rule", "ied-so2")["model_weight_hash"]
    kept = shell.shell.home / "models" / f"{named.removeprefix('sha256:')}.bin"
    kept.parent.mkdir(exist_ok=True)
    kept.write_bytes(shipped_weights().file.read_bytes())
    assert shell("receipt", "verify", "en-03", "--rule", "ied-so2").code == 0
    kept.write_bytes(untrained())
    assert shell("receipt", "verify", "en-03", "--rule", "ied-so2").code == 3


def test_without_a_receipt_or_a_choice_it_says_so(shell: VerdictShell) -> None:
    held = shell.items("verdict", "hold-list")[0]["sequence_number"]
    answer = shell("receipt", "verify", "--entry", str(held), "--json")
    assert (answer.code, answer.json["error"]["code"]) == (1, "receipt.none")
    assert shell("receipt", "verify", "en-03").code == 2
    assert shell("receipt", "verify", "en-03", "--entry", "1").code == 2
    assert shell("receipt", "show").code == 2
    assert shell("receipt", "export", "no-such-record", "--json").json["error"]["code"] == "flow.not_found"


@pytest.mark.clause("claimbundle", "semantic-entropy")
def test_the_command_asks_the_judge_how_sure_it_was(shell: VerdictShell) -> None:
    """By a recorded verdict, reproducible by its seed; a question and a verdict are two things."""
    asked = ("claims", "estimate-verdict", "en-03", "--rule", "ied-so2", "--seed", "4", "--temperature", "0.5")
    done = shell(*asked)
    assert done.code == 0, done.err
    assert "FLAG is recorded" in done.out
    found = shell.done(*asked)
    assert found == shell.done(*asked)
    assert (found["estimate"]["value"], found["drawn"][0]["drawing"]) == (0.0, {"seed": 4, "temperature": 0.5})
    assert shell("claims", "estimate-verdict").code == 2
