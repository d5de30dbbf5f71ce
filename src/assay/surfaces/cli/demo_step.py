"""Chapters and steps of the demonstration, and the auditor's own process."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

HELD = 0
REFUSED = 3


class Chapter(NamedTuple):
    """What the steps that follow are about, and why somebody would want that."""

    title: str
    words: str


class Step(NamedTuple):
    """What was done, what came out, and whether that is as it should be."""

    title: str
    words: str
    is_right: bool


def run_elsewhere(folder: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """`assay … --json` in a process of its own, which sees this folder and none of ours."""
    command = [sys.executable, "-m", "assay.surfaces.cli", *arguments, "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=60)  # noqa: S603 - ourselves
    finding: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, finding
