"""Pages whose commands are run: every line with a `$` of every console block, in order, in one shell."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.surfaces.cli.running import environment

__all__ = ["ROOT", "run_script", "script_of"]

ROOT = Path(__file__).resolve().parents[3]
# What sets up the project, or is the whole of it, is not run inside its own tests.
_NOT_HERE = re.compile(r"make |\. \.venv/")


def script_of(page: Path) -> str:
    blocks = re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    return "\n".join(line for line in lines if not _NOT_HERE.match(line))


def run_script(
    script: str, folder: Path, *, programs: Path, more: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """In `folder`; the first command that fails ends it. `assay` and `python` are those that run the tests."""
    programs.mkdir(exist_ok=True)
    for name, line in (("assay", "-m assay.surfaces.cli "), ("python", "")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {line}"$@"\n')
        program.chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-x", "-c", script],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=840,
        env={**environment(), **(more or {}), "PATH": path},
    )
