"""The command line on a real node, in this process: arguments in, exit code and both outputs back."""

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from assay.surfaces.cli.main import run
from assay.wiring import init_node
from tests.flows._people import PASSWORD, quick_passwords

__all__ = ["Done", "Shell", "opened_shell"]


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401  whatever was printed
        return json.loads(self.out)

    @property
    def refusal(self) -> tuple[int, str]:
        """Exit code and error code of a refusal printed with `--json`."""
        return self.code, self.json["error"]["code"]


@dataclass
class Shell:
    """`shell("principal", "list")` is `assay principal list` on the node in `home`."""

    home: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str, stdin: str = "", session: str | None = None) -> Done:
        with self.monkeypatch.context() as patch:
            patch.setenv("ASSAY_HOME", str(self.home))
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
            if session is not None:
                patch.setenv("ASSAY_SESSION", session)
            code = run(arguments)
        out, err = self.capsys.readouterr()
        return Done(code, out, err)

    def person(self, name: str, *roles: str, **granted: str) -> None:
        options = [part for role in roles for part in ("--role", role)]
        options += [part for one, value in granted.items() for part in (f"--{one.replace('_', '-')}", value)]
        done = self(
            "principal", "add", name, "--kind", "person", "--name", f"The {name}", "--password-stdin", *options,
            stdin=PASSWORD + "\n",
        )  # fmt: skip
        assert done.code == 0, done.err

    def login(self, name: str) -> str:
        done = self("principal", "login", name, "--password-stdin", stdin=PASSWORD + "\n")
        assert done.code == 0, done.err
        return done.out.strip()


def opened_shell(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    # The costs of a real password would be most of these tests' time; one test of the real process pays them.
    monkeypatch.setattr("assay.wiring.Argon2Passwords", quick_passwords)
    monkeypatch.delenv("ASSAY_SESSION", raising=False)
    home = folder / "node"
    init_node(home)
    return Shell(home=home, monkeypatch=monkeypatch, capsys=capsys)
