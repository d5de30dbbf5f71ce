"""`assay coverage`, `agreement`, `telemetry`: what no rule speaks of, how often the model is right, what is kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.cli._verdicts import VerdictShell, opened_verdict_shell, record


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> VerdictShell:
    return opened_verdict_shell(tmp_path, monkeypatch, capsys, is_judged=True)


@pytest.mark.clause("ski", "9.2")
def test_the_coverage_register_names_each_subject_without_rules(shell: VerdictShell) -> None:
    """With what it sent and when, so that somebody can write the rule."""
    head, row = shell("coverage").out.splitlines()
    assert head.split()[:2] == ["SUBJECT", "RECORDS"]
    assert row.split()[:4] == ["stack-9", "1", "2024-02-17T00:00:00Z", "2024-02-17T00:00:00Z"]
    gaps = shell.items("coverage", "--gaps")
    assert [(one["subject"], one["records"], one["jurisdictions"], one["mapped_by"]) for one in gaps] == [
        ("stack-9", 1, ["DE"], None)
    ]
    assert shell("coverage", "--tenant", "other").err == "every subject so far has a rule\n"


@pytest.mark.clause("ski", "9.2")
def test_the_buffer_of_each_subject_is_shown(shell: VerdictShell) -> None:
    """From when to when windows can look back."""
    states = {one["subject"]: one["records"] for one in shell.items("telemetry", "show")}
    assert states == {"abatement-1": 2, "stack-1": 3, "stack-1-hourly": 1, "stack-9": 1}
    row = shell("telemetry", "show", "stack-1").out.splitlines()[1]
    assert row.split() == ["stack-1", "3", "2024-02-03T00:00:00Z", "2024-02-07T00:00:00Z", "-", "2592000"]
    assert shell("telemetry", "show", "nobody").err == "nothing is kept\n"


@pytest.mark.clause("ski", "9.2")
def test_the_agreement_rate_is_healthy_or_an_honest_no(shell: VerdictShell) -> None:
    """Above the threshold exit 0; nothing compared is not healthy."""
    answer = shell("agreement")
    assert answer.code == 0
    assert "rate                       100.000 %" in answer.out
    assert "threshold                  99.5 %" in answer.out
    canary = shell.done("agreement")
    assert (canary["status"], canary["is_healthy"], canary["observed"]) == ("healthy", True, 14)
    nothing = shell("agreement", "--tenant", "other")
    assert (nothing.code, "nothing was compared yet" in nothing.out) == (1, True)


def _lies(shell: VerdictShell) -> dict[str, str]:
    """What the judge wrote about the record, with the breach denied; by the hash of its prompt."""
    shown: dict[str, Any] = shell.done("verdict", "show", "en-03")
    replies = {}
    for one in shown["decided"]["verdicts"]:
        envelope = one["envelope"]
        text: str = json.loads(shown["transcripts"][envelope["transcript_ref"]]["response_canonical"])["text"]
        lie = text.replace('"satisfied":false', '"satisfied":true').replace('"FLAG"', '"CLEAR"')
        replies[envelope["model_provenance"]["prompt_template_hash"]] = lie
    return replies


@pytest.mark.clause("ski", "5.4")
@pytest.mark.clause("ski", "9.2")
def test_a_model_that_lies_is_seen_in_the_verdict_and_in_the_rate(
    shell: VerdictShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same record on another node, whose model denies the breach: DISCRETIONARY, the divergence told, an alarm."""
    replies = _lies(shell)
    (tmp_path / "other").mkdir()
    other = opened_verdict_shell(tmp_path / "other", monkeypatch, capsys)
    (other.shell.home / "lies.json").write_text(json.dumps(replies))
    other.configure('reasoner = "scripted"\nreplies = "lies.json"\nsovereignty = "advisory"\ncustom_backend = true')
    told = other.judge(record("en-03"))
    assert "en-03  DISCRETIONARY  Sulphur dioxide" in told.out
    assert "but the verifier: LLM_CONTRADICTION" in told.out
    page = other("verdict", "show", "en-03", "--rule", "ied-so2").out
    assert "the model said CLEAR" in page
    assert "assertion.contradiction: " in page
    assert "agreement.degraded" in page
    degraded = other("agreement")
    assert degraded.code == 1
    assert "DEGRADED" in degraded.out
    assert "rate                       66.667 %" in degraded.out
