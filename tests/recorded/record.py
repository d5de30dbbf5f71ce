"""The recorded node of version 0.1.0 and what it left behind, for tests that only use commands and `assay.open`."""

import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

__all__ = ["BACKUP", "FOUNDER", "KNOWN", "PROOFS", "TENANTS", "answered", "run", "unpack_node"]

_HERE = Path(__file__).parent
_SOURCE = _HERE.parents[1] / "src"
_ARCHIVE = _HERE / "node-0.1.0.tar.xz"
PROOFS = _HERE / "proofs-0.1.0"
BACKUP = _HERE / "backup-0.1.0.zip"
FOUNDER = PROOFS / "founder.pub"
KNOWN: dict[str, Any] = json.loads((_HERE / "known-0.1.0.json").read_text())
TENANTS: tuple[str, ...] = tuple(sorted(KNOWN["entries"]))


def unpack_node(folder: Path) -> Path:
    """Unpack a fresh copy of the recorded node into `folder` and return its home."""
    with tarfile.open(_ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    home = folder / "node"
    home.chmod(0o700)
    return home


def run(*arguments: object, home: Path | None = None, given: str | None = None) -> "subprocess.CompletedProcess[str]":
    """Run `assay …` in a process of its own."""
    placed = () if home is None else ("--home", str(home))
    command = [sys.executable, "-m", "assay.surfaces.cli", *placed, "--json", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=240, input=given, env={"PYTHONPATH": str(_SOURCE)}
    )


def answered(*arguments: object, home: Path | None = None, given: str | None = None) -> Any:  # noqa: ANN401  any JSON
    """Return what a command that succeeds prints: one JSON value, or a list of them where it prints lines."""
    done = run(*arguments, home=home, given=given)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        return [json.loads(line) for line in done.stdout.splitlines()]
