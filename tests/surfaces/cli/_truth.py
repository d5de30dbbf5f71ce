"""A shell on a node with the shipped laws: people who vote, a relay that reports, a policy that weighs."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from assay.adapters.clock import SystemClock
from assay.kernel.instant import Instant, render_instant
from tests.flows._people import quick_passwords
from tests.surfaces.cli._desk import Done, Shell, opened_shell
from tests.truth.records import OBSERVATION, hash_of_text

__all__ = ["CONTRACTS", "POLICIES", "TruthShell", "opened_truth_shell"]

_EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
CONTRACTS, POLICIES = _EXAMPLES / "contracts", _EXAMPLES / "trust"


@dataclass
class TruthShell:
    """`as_` names whose API key a command runs under."""

    shell: Shell
    keys: dict[str, str]
    folder: Path
    moment: Instant

    def __call__(
        self, *arguments: str | Path, as_: str | None = None, stdin: str = "", session: str | None = None
    ) -> Done:
        texts = [str(one) for one in arguments]
        if as_ is not None:
            texts += ["--credential", self.keys[as_]]
        return self.shell(*texts, stdin=stdin, session=session)

    def done(self, *arguments: str | Path, as_: str | None = None, stdin: str = "", session: str | None = None) -> Any:  # noqa: ANN401  whatever was printed
        """The JSON answer of a command that must succeed."""
        answer = self(*arguments, "--json", as_=as_, stdin=stdin, session=session)
        assert answer.code == 0, answer.out
        return answer.json

    def report(self, reporter: str, claim_type: str = "earth.flood.v1", **payload: object) -> dict[str, Any]:
        """An observation of the moment the test began, with evidence of its own."""
        said = payload or {"severity": "high", "water_level_meters": 1.25}
        picture = {
            "uri": "https://evidence.example/a.json",
            "sha256": hash_of_text(f"{reporter} {claim_type} {said}"),
            "mime_type": "application/json",
        }
        return {
            **OBSERVATION,
            "observation_id": f"obs-{hash_of_text(f'{reporter} {claim_type} {said}')[:16]}",
            "claim_type": claim_type,
            "reported_at": render_instant(self.moment),
            "reporter_id": reporter,
            "payload": said,
            "evidence_refs": [picture],
        }

    def observe(self, reporter: str, claim_type: str = "earth.flood.v1", **payload: object) -> str:
        """The key under which the report was recorded."""
        given = json.dumps(self.report(reporter, claim_type, **payload))
        key: str = self.done("truth", "observe", "-", as_="service:gateway", stdin=given)["truthkey"]
        return key

    def critical(self) -> str:
        """A key of a critical claim type that waits for people."""
        file = self.folder / "dam.yaml"
        if not file.exists():
            assert self("contract", "new", "earth.dam.v1", "--critical", "--output", file).code == 0
            assert self("contract", "release", file, as_="user:op").code == 0
        self.observe("user:ann", "earth.dam.v1", present=True, level=4.5)
        key = self.observe("user:ben", "earth.dam.v1", present=True, level=4.5)
        assert self("truth", "score", key).code == 0
        assert self("truth", "compile", key).code == 0
        return key

    def asked(self) -> tuple[str, str]:
        """The ticket that waits, and the hash of what it shows."""
        (queued,) = self.done("review", "list")["items"]
        return queued["ticket"]["id"], queued["ticket"]["shown_hash"]


# Made by the first test of a process and copied by the others: peopling a node takes longer than most tests do.
_MADE: list[tuple[Path, dict[str, str]]] = []


def opened_truth_shell(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> TruthShell:
    if not _MADE:
        # Beside the folders of single tests, which go with them.
        template = Path(mkdtemp(dir=folder.parent))
        made = _peopled(template, opened_shell(template, monkeypatch, capsys))
        _MADE.append((template / "node", made.keys))
    source, keys = _MADE[0]
    monkeypatch.setattr("assay.wiring.Argon2Passwords", quick_passwords)
    monkeypatch.delenv("ASSAY_SESSION", raising=False)
    shutil.copytree(source, folder / "node")
    shell = Shell(home=folder / "node", monkeypatch=monkeypatch, capsys=capsys)
    return TruthShell(shell=shell, keys=keys, folder=folder, moment=SystemClock().now())


def _peopled(folder: Path, shell: Shell) -> TruthShell:
    for name, role in (
        ("user:op", "operator"),
        ("user:root", "admin"),
        ("user:eve", "reviewer"),
        ("user:gus", "reviewer"),
    ):
        shell.person(name, role)
    add = shell("principal", "add", "service:gateway", "--kind", "service", "--name", "relay", "--role", "relay")
    assert add.code == 0, add.err
    names = ("user:op", "user:root", "user:eve", "service:gateway")
    keys = {name: shell("principal", "key", "issue", name).out.strip() for name in names}
    one = TruthShell(shell=shell, keys=keys, folder=folder, moment=SystemClock().now())
    one.done("contract", "release", CONTRACTS / "flood_v1.yaml", as_="user:op")
    one.done("trust", "policy", "register", POLICIES / "flow_v1.yaml", as_="user:op")
    for name in ("user:ann", "user:ben", "user:eve", "user:gus"):
        one.done("trust", "admit", name, as_="user:root")
    one.done("trust", "grant", "user:eve", "specialist", as_="user:root")
    one.done("trust", "grant", "user:gus", "official", as_="user:root")
    return one
