"""`assay report`: a file for the auditor, and the auditor's own check of it."""

import json
import re
import shutil
from pathlib import Path

import pytest

from assay.adapters import chromium_pdf
from assay.adapters.chromium_pdf import PrintError, find_browser, print_pdf
from tests.raising import raises
from tests.surfaces.cli.running import ask, note

_NEEDS_CHROMIUM = pytest.mark.skipif(shutil.which("chromium") is None, reason="no chromium to print with")


@pytest.fixture
def noted(home: Path, tmp_path: Path) -> Path:
    ask("--home", home, "ledger", "append", note(tmp_path), "--personal", "/asked_by")
    return home


def test_a_report_is_made_and_verified_offline(noted: Path, tmp_path: Path) -> None:
    """No checkpoint covers the entries yet: one is signed first."""
    output = tmp_path / "report.json"
    made = ask(
        "--home", noted, "report", "--from", "2020-01-01", "--all", "--format", "json", "--output", output, "--json"
    )
    assert (made.code, made.json["rows"]) == (0, 4)
    key = noted / "keys" / "ledger.key.pub"
    assert ask("verify", output, "--trust", key).code == 0
    assert ask("verify", output).code == 1
    document = json.loads(output.read_text())
    document["rows"][3]["decision"] = "other"
    output.write_text(json.dumps(document))
    answer = ask("verify", output, "--trust", key, "--json")
    assert (answer.code, answer.json["code"]) == (3, "proof.report")


def test_the_page_is_the_default_and_json_follows_the_flag(noted: Path) -> None:
    page = ask("--home", noted, "report", "--from", "2020-01-01T00:00:00Z", "--all")
    assert page.out.startswith("<!doctype html>")
    assert "Ada" not in page.out
    assert ask("--home", noted, "report", "--from", "2020-01-01", "--json").json["rows"] == []
    lines = ask("--home", noted, "report", "--from", "2020-01-01", "--all", "--format", "csv").out.splitlines()
    assert len(lines) == 5


def test_a_period_that_ends_before_it_begins_is_named(noted: Path) -> None:
    for arguments in (["--from", "2026-01-02", "--to", "2026-01-02"], ["--from", "yesterday"]):
        answer = ask("--home", noted, "report", *arguments, "--json")
        assert (answer.code, answer.error_code) == (3, "http.fields")
    assert ask("--home", noted, "report").code == 2


def test_without_leave_to_sign_what_is_not_covered_is_an_honest_no(noted: Path) -> None:
    answer = ask("--home", noted, "report", "--from", "2020-01-01", "--no-checkpoint", "--json")
    assert (answer.code, answer.error_code) == (1, "proof.no_checkpoint")


def test_a_place_that_cannot_be_written_is_wrong_usage(noted: Path, tmp_path: Path) -> None:
    output = tmp_path / "missing" / "report.html"
    assert ask("--home", noted, "report", "--from", "2020-01-01", "--output", output).code == 2


def test_every_command_of_the_page_about_audits_runs(
    noted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but the one that prints, which has a test of its own."""
    page = (Path(__file__).parents[3] / "docs" / "audit.md").read_text()
    block = re.findall(r"```console\n(.*?)```", page, re.DOTALL)[0]
    commands = [line.removeprefix("$ assay ").split() for line in block.splitlines()]
    shutil.copy(noted / "keys" / "ledger.key.pub", tmp_path)
    monkeypatch.chdir(tmp_path)
    codes = [ask("--home", noted, *one).code for one in commands if "--pdf" not in one]
    assert codes == [0, 0, 0]


@_NEEDS_CHROMIUM
def test_the_page_is_printed_by_the_browser(noted: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.pdf"
    answer = ask("--home", noted, "report", "--from", "2020-01-01", "--all", "--pdf", path, "--json")
    assert (answer.code, answer.json["written"]) == (0, [str(path)])
    assert path.read_bytes().startswith(b"%PDF-")


def test_without_a_browser_the_answer_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with raises(PrintError.no_browser, match="chromium"):
        find_browser()


def test_a_browser_that_prints_nothing_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = tmp_path / "browser"
    for text in ("exit 0", "exit 1", 'for one; do case "$one" in --print-to-pdf=*) echo no >"${one#*=}";; esac; done'):
        browser.write_text(f"#!/bin/sh\n{text}\n")
        browser.chmod(0o700)
        with pytest.raises(PrintError):
            print_pdf("<p>", browser=str(browser))
    browser.write_text("#!/bin/sh\nsleep 30\n")
    monkeypatch.setattr(chromium_pdf, "_SECONDS", 0.05)
    with pytest.raises(PrintError, match="within"):
        print_pdf("<p>", browser=str(browser))
