"""Other CPythons of this machine, each with one environment of its own made from the project's lock.

`pyenv versions --bare` and the PATH are asked. Environments are in `.cache/interpreters`, and are kept as long as the
lock names the same packages.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

__all__ = ["NO_OTHER", "OTHERS", "make_environment", "run_python"]

_ROOT = Path(__file__).parents[1]
_CACHE = _ROOT / ".cache" / "interpreters"
# What `assay.truth.compile` and the model room load, and what that needs; nothing else of the product is installed.
_PACKAGES = frozenset(
    {
        "cffi",
        "cryptography",
        "h3",
        "jsonschema-rs",
        "msgspec",
        "numpy",
        "orjson",
        "pycparser",
        "pyyaml",
        "typing-extensions",
    }
)
_ASK = (
    "import platform, sys; "
    "print(platform.python_implementation(), sys.version_info >= (3, 11), platform.python_version(), sys.executable)"
)


def _candidates() -> Iterator[Path]:
    pyenv = shutil.which("pyenv")
    if pyenv is not None:
        names, root = (
            subprocess.run([pyenv, *asked], capture_output=True, text=True, check=False).stdout.split()
            for asked in (["versions", "--bare"], ["root"])
        )
        yield from (Path(root[0]) / "versions" / name / "bin" / "python" for name in names if root)
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if folder and Path(folder).is_dir() and "shims" not in Path(folder).parts:
            yield from sorted(Path(folder).glob("python3.[0-9]*[0-9]"))


def _found() -> dict[str, str]:
    """Versions and executables of every other CPython from 3.11 on; one of each version."""
    own = Path(sys.base_prefix).resolve()
    found: dict[str, str] = {}
    for path in dict.fromkeys(candidate.resolve() for candidate in _candidates() if candidate.exists()):
        asked = subprocess.run([path, "-I", "-c", _ASK], capture_output=True, text=True, check=False)
        said = asked.stdout.split(maxsplit=3)
        is_usable = asked.returncode == 0 and said[:2] == ["CPython", "True"]
        if is_usable and not path.is_relative_to(own):
            found.setdefault(said[2], str(path))
    return dict(sorted(found.items()))


OTHERS = _found()
NO_OTHER = pytest.param(
    "", marks=pytest.mark.skip(reason="no other CPython >= 3.11 by `pyenv versions --bare` or PATH")
)


def _locked() -> str:
    """The part of the lock that is needed."""
    entries = re.split(r"\n(?=\S)", (_ROOT / "requirements" / "base.txt").read_text().strip())
    return "\n".join(entry for entry in entries if entry.partition("==")[0] in _PACKAGES) + "\n"


def make_environment(version: str) -> Path:
    """Its Python, with the packages and nothing else. Made once for each lock and version; half-made ones are made
    again. Raises `RuntimeError` where the packages cannot be had.
    """
    lock = _locked()
    folder = _CACHE / f"{version}-{sha256(lock.encode()).hexdigest()[:16]}"
    _CACHE.mkdir(parents=True, exist_ok=True)
    # Tests of two rooms ask for it, it may be at the same time.
    with folder.with_name(f"{folder.name}.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            _make(folder, OTHERS[version], lock)
    return folder / "bin" / "python"


def _make(folder: Path, python: str, lock: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    run_python(python, "-m", "venv", "--without-pip", str(folder))
    (folder / "lock.txt").write_text(lock)
    run_python(
        sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet", "--no-input",
        "--no-deps", "--no-compile", "--only-binary", ":all:", "--require-hashes", "-r", str(folder / "lock.txt"),
    )  # fmt: skip  # one call in three lines
    (folder / "complete").touch()


def run_python(*command: str, **environment: str) -> str:
    """Of this interpreter's environment only what finds packages and places is passed on."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_", "PYTEST"))}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=_ROOT, env={**kept, **environment})
    if done.returncode:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2])
    return done.stdout
