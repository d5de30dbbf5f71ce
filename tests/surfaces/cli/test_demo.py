"""`assay demo`: what `make demo` runs."""

from pathlib import Path

import pytest

from assay.surfaces.cli import demo_steps
from assay.surfaces.cli.demo_step import Step
from tests.surfaces.cli.running import ask


def test_the_demonstration_goes_as_it_should_and_keeps_what_it_is_told_to_keep(tmp_path: Path) -> None:
    """A thousand entries, one proof, six forgeries refused, one erasure, one rewrite found; a flood, two votes; a plant
    judged, a verdict held, attested and replayed.
    """
    answer = ask("demo", "--keep", tmp_path / "demo", "--json")
    assert (answer.code, answer.json["is_right"]) == (0, True)
    titles = [step["step"] for step in answer.json["steps"]]
    assert titles.count("Tamper") == 6
    assert {"Append", "Checkpoint", "Prove", "Verify offline", "Erase", "Verify again", "Rewrite"} <= {*titles}
    assert ask("--home", tmp_path / "demo" / "node", "ledger", "verify").code == 0
    counts = [titles.count(title) for title in ("A flood", "Wait for people", "Vote", "Replay", "Forge")]
    assert counts == [1, 1, 2, 2, 3]
    order = ("A changed limit", "Knowledge", "Evaluate", "A verdict", "Hold", "Attest", "As expected", "Agreement")
    assert [title for title in dict.fromkeys(titles) if title in order] == [*order]
    assert titles.count("Answer") == 5
    assert {"Outcomes", "A machine concludes", "Conclude", "Corrected rule", "Trace"} <= {*titles}
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
        demo_steps, "run_demo", lambda _: iter([Step("Verify", "it held", True), Step("Tamper", "it held", False)])
    )
    answer = ask("demo")
    assert answer.code == 4
    assert "✗ Tamper" in answer.out
    assert "NOT as it should be" in answer.out
