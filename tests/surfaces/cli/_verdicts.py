"""A shell on a node that judges: the energy graph reviewed, signed and in use, a sensor, and people who attest."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from assay.adapters.keyfile import create_key_file, load_key_file, public_path
from assay.flows.review.answer_desk import answer_desk
from assay.review.draft import Reply
from assay.wiring import open_node
from tests.acting import caller_of
from tests.flows._people import quick_passwords
from tests.surfaces.cli._desk import Done, Shell, opened_shell
from tests.verdict_calls import load_graph, release_graph, review_graph

__all__ = ["JUDGED", "TELEMETRY", "VerdictShell", "opened_verdict_shell", "record"]

_EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
_GRAPH = _EXAMPLES / "graphs" / "energy.json"
TELEMETRY = _EXAMPLES / "telemetry" / "energy.jsonl"
# One for each of the five verdicts, an exemption, a unit, and two that are held.
JUDGED = ("en-03", "en-05", "en-07", "en-12", "en-16", "en-18", "en-20")
_RECORDS = {one["telemetry_id"]: one for one in map(json.loads, TELEMETRY.read_text().splitlines())}


def record(name: str, **changes: object) -> str:
    """A record of the example by its id, as a line; `changes` replace its fields."""
    return json.dumps({**_RECORDS[name], **changes})


@dataclass
class VerdictShell:
    """`as_` names whose API key a command runs under."""

    shell: Shell
    keys: dict[str, str]
    folder: Path

    def __call__(
        self, *arguments: str | Path, as_: str | None = None, stdin: str = "", session: str | None = None
    ) -> Done:
        texts = [str(one) for one in arguments]
        if as_ is not None:
            texts += ["--credential", self.keys[as_]]
        return self.shell(*texts, stdin=stdin, session=session)

    def done(self, *arguments: str | Path, **more: Any) -> Any:  # noqa: ANN401  as the call; whatever was printed
        """The JSON answer of a command that must succeed."""
        answer = self(*arguments, "--json", **more)
        assert answer.code == 0, answer.out + answer.err
        return answer.json

    def items(self, *arguments: str | Path, **more: Any) -> Any:  # noqa: ANN401  the same
        """The items of a list."""
        return self.done(*arguments, **more)["items"]

    def judge(self, *lines: str, options: tuple[str, ...] = ()) -> Done:
        return self("evaluate", "-", *options, as_="service:sensor", stdin="\n".join(lines))

    def judged(self, *lines: str, options: tuple[str, ...] = ()) -> list[Any]:
        """The lines of `--json`, the summary last."""
        answer = self.judge(*lines, options=(*options, "--json"))
        assert answer.code == 0, answer.out + answer.err
        return [json.loads(line) for line in answer.out.splitlines()]

    def configure(self, text: str) -> None:
        """Lines for the section `[ski]` of assay.toml."""
        with (self.shell.home / "assay.toml").open("a") as file:
            file.write(f"\n[ski]\n{text}\n")


# Made by the first test of a process that asks and copied by the others: peopling a node takes longer than most tests.
_MADE: dict[bool, tuple[Path, dict[str, str]]] = {}


def opened_verdict_shell(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, is_judged: bool = False
) -> VerdictShell:
    """With `is_judged`, the records `JUDGED` have their verdicts already."""
    if is_judged not in _MADE:
        # Beside the folders of single tests, which go with them.
        template = Path(mkdtemp(dir=folder.parent))
        if is_judged:
            made = opened_verdict_shell(template, monkeypatch, capsys)
            assert made.judge(*map(record, JUDGED)).code == 0
            _MADE[True] = (template / "node", made.keys)
        else:
            _MADE[False] = (template / "node", _peopled(template, opened_shell(template, monkeypatch, capsys)))
    source, keys = _MADE[is_judged]
    monkeypatch.setattr("assay.wiring.Argon2Passwords", quick_passwords)
    monkeypatch.delenv("ASSAY_SESSION", raising=False)
    shutil.copytree(source, folder / "node")
    shell = Shell(home=folder / "node", monkeypatch=monkeypatch, capsys=capsys)
    return VerdictShell(shell=shell, keys=keys, folder=folder)


def _peopled(folder: Path, shell: Shell) -> dict[str, str]:
    for name, role in (("user:olga", "operator"), ("user:rita", "reviewer"), ("user:gus", "reviewer")):
        shell.person(name, role)
    assert shell("principal", "add", "service:sensor", "--kind", "service", "--name", "sensor").code == 0
    keys = {name: shell("principal", "key", "issue", name).out.strip() for name in ("user:olga", "service:sensor")}
    file = folder / "graph.key"
    create_key_file(file)
    assert shell("key", "trust", "add", str(public_path(file))).code == 0
    _use_graph(shell, keys["user:olga"], file)
    return keys


def _use_graph(shell: Shell, operator: str, file: Path) -> None:
    """Drafted by the operator, accepted by a reviewer, signed, loaded."""
    reviewer = shell.login("user:rita")
    with open_node(shell.home) as (tools, _):
        asked = review_graph(tools, _GRAPH.read_bytes(), credential=operator, at=tools.clock.now())
        reply = Reply(choice="accept", seen=asked.ticket.shown_hash, reason="read")
        answer_desk(tools, caller_of(tools, reviewer, at=tools.clock.now()), asked.ticket.id, reply)
        released = release_graph(
            tools, asked.content_hash, load_key_file(file), credential=operator, at=tools.clock.now()
        )
        load_graph(tools, released.document, credential=operator, at=tools.clock.now())
