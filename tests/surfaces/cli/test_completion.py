"""Completion and colour: what a shell and a terminal get, and what a file never does."""

import pytest

from assay.surfaces.cli.output import styled
from tests.surfaces.cli.running import ask, spawn


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_script(shell: str) -> None:
    told = ask("completion", shell)
    assert told.code == 0
    assert "_ASSAY_COMPLETE" in told.out
    assert f"{shell}_complete" in told.out


def test_another_shell_is_refused() -> None:
    assert ask("completion", "tcsh", "--json").error_code == "cli.usage"


def test_colour_is_left_out_where_it_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in styled("error:", fg="red")
    monkeypatch.setenv("NO_COLOR", "1")
    assert styled("error:", fg="red") == "error:"


def test_a_pipe_gets_no_colour() -> None:
    told = spawn("principal", "show", "user:nobody", "--home", "/nonexistent")
    assert (told.code, "\x1b[" in told.err) == (2, False)
