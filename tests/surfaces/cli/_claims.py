"""The command line on a node that gates claims: an agent with a key, teams with passwords."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.cli._desk import Done, Shell, opened_shell

__all__ = ["EXAMPLES", "ClaimsShell", "opened_claims_shell"]

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "claims"
_PEOPLE = {"user:olga": "operator", "user:rita": "reviewer", "user:otto": "ops_team", "user:sam": "security_team"}


@dataclass
class ClaimsShell(Shell):
    """`shell.gate(FILE)` is `assay claims gate FILE` as the agent `ai:planner`."""

    agent: str = ""

    def claims(self, *arguments: str | Path, as_: str | None = None) -> Done:
        with self.monkeypatch.context() as patch:
            if as_ is None:
                patch.setenv("ASSAY_CREDENTIAL", self.agent)
            return self("claims", *map(str, arguments), session=None if as_ is None else self.login(as_))

    def told(self, *arguments: str | Path, as_: str | None = None) -> Any:  # noqa: ANN401  whatever was printed
        return self.claims(*arguments, "--json", as_=as_).json


def opened_claims_shell(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> ClaimsShell:
    opened = opened_shell(folder, monkeypatch, capsys)
    shell = ClaimsShell(home=opened.home, monkeypatch=monkeypatch, capsys=capsys)
    for name, role in _PEOPLE.items():
        shell.person(name, role)
    added = shell(
        "principal", "add", "ai:planner", "--kind", "agent", "--name", "Planner", "--risk-ceiling", "PRIVILEGE"
    )
    assert added.code == 0, added.err
    shell.agent = shell("principal", "key", "issue", "ai:planner", "--json").json["api_key"]
    return shell
