"""`assay model`: weights listed, shown, measured, added, trained, and asked about, by commands alone."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from assay.flows.model.case_file import render_case_file
from assay.flows.model.known_model import shipped_card, shipped_cards
from tests.flows._models import a_few_sealed, broken_weights, pairs_of, same_weights
from tests.surfaces.cli._desk import Shell, opened_shell
from tests.surfaces.cli.running import ask

SHIPPED = shipped_card().weight_hash


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    shell = opened_shell(tmp_path, monkeypatch, capsys)
    shell.person("user:olga", "operator")
    shell.person("user:rita", "reviewer")
    return shell


def test_the_shipped_judge_is_measured_without_a_node(tmp_path: Path) -> None:
    """Every promised figure, the matrix, and a picture; nothing but the package is needed."""
    picture = tmp_path / "figures.svg"
    told = ask("--home", tmp_path, "model", "eval", "--limit", "12", "--plot", picture)
    assert told.code == 0
    for name in (
        "verdict accuracy",
        "FLAG recall",
        "silent CLEARs",
        "agreement",
        "unparsable",
        "p95",
        "tokens/s",
        "expected \\ got",
    ):
        assert name in told.out
    assert ET.parse(picture).getroot().tag.endswith("svg")  # noqa: S314  our own picture
    found = ask("--home", tmp_path, "model", "eval", "--limit", "2", "--json").json
    assert (found["measured"]["model"], found["measured"]["figures"]["cases"], found["unmet"]) == (SHIPPED, 2, [])


def test_cases_and_weights_of_ones_own_are_measured_and_a_bad_model_is_an_honest_no(tmp_path: Path) -> None:
    cases, weights = tmp_path / "cases.jsonl", tmp_path / "broken.bin"
    cases.write_bytes(render_case_file(a_few_sealed(6).cases))
    weights.write_bytes(broken_weights())
    bad = ask("--home", tmp_path, "model", "eval", "--cases", cases, "--weights", weights)
    assert bad.code == 1
    assert "not reached: verdict accuracy" in bad.err


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        (b"{}", (), (3, "model.cases")),
        (None, ("--weights", "sha256:" + "0" * 64), (2, "config.no_node")),
        (None, ("--backend", "general"), (2, "config.no_node")),
        (None, ("--backend", "general", "--record"), (2, "cli.usage")),
        (None, ("--limit", "0"), (2, "cli.usage")),
    ],
)
def test_what_cannot_be_measured_is_refused_with_its_code(
    tmp_path: Path, content: bytes | None, options: tuple[str, ...], expected: tuple[int, str]
) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_bytes(content or render_case_file(a_few_sealed(1).cases))
    done = ask("--home", tmp_path, "model", "eval", "--cases", file, *options, "--json")
    assert (done.code, done.error_code) == expected


def test_weights_are_added_listed_shown_and_need_measuring_before_anybody_is_asked(
    shell: Shell, tmp_path: Path
) -> None:
    file = tmp_path / "child.bin"
    file.write_bytes(same_weights())
    olga = shell.login("user:olga")
    added = shell("model", "add", str(file), "--version", "1.1.0", "--parent", SHIPPED, "--json", session=olga).json
    child = added["manifest"]["weight_hash"]
    assert added["is_new"]
    assert ["*", SHIPPED] in [line.split()[:2] for line in shell("model", "list").out.splitlines()]
    assert [one["weight_hash"] for one in shell("model", "list", "--json").json["items"]] == [*shipped_cards(), child]
    assert f"came from: {SHIPPED}" in shell("model", "show", child).out
    assert "(in use)" in shell("model", "show").out
    assert shell("model", "activate", child, "--json", session=olga).refusal == (1, "model.not_evaluated")
    cases = tmp_path / "cases.jsonl"
    cases.write_bytes(render_case_file(a_few_sealed(2).cases))
    done = shell("model", "eval", "--cases", str(cases), "--weights", child, "--record", "--json", session=olga)
    assert (done.code, done.json["measured"]["model"]) == (0, child)
    assert "measured on" in shell("model", "show", child).out
    rita = shell.login("user:rita")
    assert shell("model", "add", str(file), "--version", "2", "--json", session=rita).refusal == (1, "identity.role")
    assert shell("model", "eval", "--backend", "general", "--limit", "1", "--json").refusal == (2, "verdict.no_model")


def test_a_model_is_trained_from_pairs_and_recorded_with_where_it_came_from(shell: Shell, tmp_path: Path) -> None:
    """The path is what counts here: two steps are too few to be judged by."""
    pairs, cases = tmp_path / "pairs.jsonl", tmp_path / "cases.jsonl"
    pairs.write_bytes(render_case_file(pairs_of(6).cases))
    cases.write_bytes(render_case_file(a_few_sealed(2).cases))
    given = ["--pairs", str(pairs), "--cases", str(cases), "--steps", "2", "--tokens", "150", "--seed", "7"]
    given += ["--rate", "0.03"]
    olga = shell.login("user:olga")
    done = shell("model", "train", *given, session=olga)
    assert done.code in {0, 1}, done.err
    assert "step 2 of 2, loss" in done.err
    assert "sealed cases, before -> after" in done.out
    child = shell("model", "list", "--json").json["items"][-1]
    assert child["parent_hash"] == SHIPPED
    known = shell("model", "show", child["weight_hash"], "--json").json
    assert (known["manifest"]["training"]["replay_seed"], known["manifest"]["training"]["steps"]) == (7, 2)
    assert len(known["evaluations"]) == 2
    assert not list((shell.home / "models").glob("training-*"))
    # The sealed cases themselves were not measured, so nobody can be asked yet.
    refusal = shell("model", "activate", child["weight_hash"], "--json", session=olga).refusal
    assert refusal == (1, "model.not_evaluated")


def test_pairs_that_contradict_the_verifier_are_untrusted_input(shell: Shell, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in render_case_file(pairs_of(4).cases).splitlines()]
    lines[0]["expected"]["verdict"] = "NULL_UNMAPPED"
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text("\n".join(map(json.dumps, lines)))
    done = shell("model", "train", "--pairs", str(pairs), "--json", session=shell.login("user:olga"))
    assert done.refusal == (3, "model.unteachable")


def test_weights_are_in_a_backup_and_come_back_with_it(shell: Shell, tmp_path: Path) -> None:
    file, archive, copy = tmp_path / "child.bin", tmp_path / "node.zip", tmp_path / "copy"
    file.write_bytes(same_weights())
    assert shell("model", "add", str(file), "--version", "1.1.0", session=shell.login("user:olga")).code == 0
    assert shell("backup", str(archive), "--with-keys").code == 0
    restored = shell("restore", str(archive), str(copy))
    assert restored.code == 0, restored.err
    (kept,) = (copy / "models").iterdir()
    assert kept.read_bytes() == same_weights()
