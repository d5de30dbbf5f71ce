"""Run commands: in this process through click's runner, or as a real process."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner

from assay.surfaces.cli.main import run

__all__ = ["Answer", "ask", "command_line", "environment", "note", "spawn"]

_ROOT = Path(__file__).resolve().parents[3]


class Answer(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever the command answered
        return json.loads(self.out)

    @property
    def error_code(self) -> str:
        code: str = self.json["error"]["code"]
        return code


def ask(*arguments: str | Path, stdin: bytes = b"") -> Answer:
    """Run in this process, with streams of its own; the same code as `main` runs."""
    with CliRunner().isolation(input=stdin) as (out, err, _):
        code = run([str(one) for one in arguments])
        sys.stdout.flush()
        return Answer(code, out.getvalue().decode(), err.getvalue().decode())


def command_line(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "assay.surfaces.cli", *map(str, arguments)]


def environment() -> dict[str, str]:
    """This process's, without what would name another node, and with the package importable."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    return {**clean, "PYTHONPATH": str(_ROOT / "src")}


def spawn(*arguments: str | Path, stdin: bytes = b"", folder: Path | None = None) -> Answer:
    """Run as a process of its own."""
    done = subprocess.run(
        command_line(*arguments),
        input=stdin,
        capture_output=True,
        check=False,
        timeout=60,
        cwd=folder,
        env=environment(),
    )
    return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())


def note(folder: Path, content: str = '{"answer": "clear", "asked_by": "Ada"}', name: str = "note.json") -> Path:
    path = folder / name
    path.write_text(content)
    return path
