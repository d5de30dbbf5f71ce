"""`assay demo`: what `make demo` runs."""

from pathlib import Path

import pytest

from assay.flows.ledger.report_page import render_form
from assay.surfaces.cli import demo_steps
from assay.surfaces.cli.demo_step import Chapter, Step
from assay.surfaces.cli.demo_steps import verify_everything
from assay.wiring import init_node
from tests.surfaces.cli.running import ask


def test_the_demonstration_goes_as_it_should_and_keeps_what_it_is_told_to_keep(tmp_path: Path) -> None:
    """Every room has its chapter, and the last one verifies offline what all of them left."""
    answer = ask("demo", "--keep", tmp_path / "demo", "--json")
    assert (answer.code, answer.json["is_right"]) == (0, True)
    chapters = dict.fromkeys(step["chapter"] for step in answer.json["steps"])
    assert [*chapters] == ["The ledger", "Truth", "Verdicts", "Claims", "Delivery", "Registry", "The auditor"]
    titles = [step["step"] for step in answer.json["steps"]]
    assert titles[-7:] == ["The ledger", "Truth", "Verdicts", "Claims", "Delivery", "Registry", "In all"]
    assert titles.count("Tamper") == 6
    assert {"Append", "Checkpoint", "Prove", "Verify offline", "Erase", "Verify again", "Rewrite"} <= {*titles}
    assert ask("--home", tmp_path / "demo" / "node", "ledger", "verify").code == 0
    counts = [titles.count(title) for title in ("A flood", "Wait for people", "Vote", "Replay", "Forge")]
    assert counts == [1, 1, 2, 2, 3]
    order = ("A changed limit", "Knowledge", "Evaluate", "A verdict", "Hold", "Attest", "As expected", "Agreement")
    assert [title for title in dict.fromkeys(titles) if title in order] == [*order]
    assert titles.count("Answer") == 5
    assert {"Outcomes", "A machine concludes", "Conclude", "Corrected rule", "Trace"} <= {*titles}
    assert {"Self-escalation", "Kill switch", "A machine restores", "A person restores"} <= {*titles}
    flood = ("--home", tmp_path / "demo" / "flood")
    assert ask(*flood, "ledger", "verify").code == 0
    told = [line.split("  ") for line in ask(*flood, "truth", "map").out.splitlines()]
    assert [(key.split(":")[1], status) for key, status, _ in told] == [
        ("dam_breach", "VERIFIED_TRUE"),
        ("flood", "VERIFIED_TRUE"),
    ]
    energy = ("--home", tmp_path / "demo" / "energy")
    assert ask(*energy, "verdict", "hold-list").err == "no verdict is held\n"
    assert "by user:fay at " in ask(*energy, "verdict", "show", "en-18").out
    assert ask("demo", "--keep", tmp_path / "demo").code == 2


def test_a_step_that_goes_wrong_is_shown_and_is_our_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demonstration can fail: it would prove nothing otherwise."""
    monkeypatch.setattr(
        demo_steps,
        "run_demo",
        lambda _: iter([Chapter("Proofs", "why"), Step("Verify", "it held", True), Step("Tamper", "it held", False)]),
    )
    answer = ask("demo")
    assert answer.code == 4
    assert "Proofs. why" in answer.out
    assert "✗ Tamper" in answer.out
    assert "NOT as it should be" in answer.out


def test_the_auditor_of_the_demonstration_notices_what_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last chapter reads the files and not the nodes: one word changed on the way, and it does not hold."""
    node, auditor = tmp_path / "node", tmp_path / "everything"
    init_node(node)
    right, _ = verify_everything({"A room": node}, auditor)
    assert right.is_right
    assert right.words.startswith("node.json and node.pub: 3 entries, ")
    monkeypatch.setattr(
        "assay.surfaces.cli.demo_steps.render_form",
        lambda *given: render_form(*given).replace(b"ledger", b"LEDGER", 1),
    )
    wrong, in_all = verify_everything({"A room": node}, tmp_path / "again")
    assert (wrong.is_right, in_all.is_right) == (False, False)
    assert wrong.words.endswith("exit 3")
