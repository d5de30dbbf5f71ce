"""Chapters and steps of the demonstration, and the auditor's own process."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from assay.flows.identity.authenticate import authenticate
from assay.flows.tools import Tools
from assay.operations.dispatch import Dispatcher
from assay.operations.parse import parse_request
from assay.operations.table import BY_NAME

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


def act(tools: Tools, credential: str, name: str, **given: Any) -> Any:  # noqa: ANN401 - an operation's own fields and result
    """Perform an operation as this credential's principal, through the same dispatcher as every door."""
    operation = BY_NAME[name]
    caller = authenticate(tools, credential, at=tools.clock.now())
    return Dispatcher(tools=tools)(operation, caller, parse_request(operation, given)).value


def run_elsewhere(folder: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """`assay … --json` in a process of its own, which sees this folder and none of ours."""
    command = [sys.executable, "-m", "assay.surfaces.cli", *arguments, "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=60)  # noqa: S603 - ourselves
    finding: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, finding
