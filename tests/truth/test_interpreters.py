"""A state has the same bytes under every Python (Kaori law 7): the vectors run under each CPython this machine has.

`pyenv versions --bare` and the PATH are asked; each one found gets an environment of its own, from the same lock, in
`.cache/interpreters`, which is kept as long as the lock names the same packages.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tests.truth.vectors import digests

_ROOT = Path(__file__).parents[2]
_CACHE = _ROOT / ".cache" / "interpreters"
# What `assay.truth.compile` loads, and what that needs; nothing else of the product is installed.
_PACKAGES = frozenset(
    {"cffi", "cryptography", "h3", "jsonschema-rs", "msgspec", "orjson", "pycparser", "pyyaml", "typing-extensions"}
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


_OTHERS = _found()
_NONE = pytest.param("", marks=pytest.mark.skip(reason="no other CPython >= 3.11 by `pyenv versions --bare` or PATH"))


def _locked() -> str:
    """The part of the lock that the compiler needs."""
    entries = re.split(r"\n(?=\S)", (_ROOT / "requirements" / "base.txt").read_text().strip())
    return "\n".join(entry for entry in entries if entry.partition("==")[0] in _PACKAGES) + "\n"


def _environment(version: str) -> Path:
    """Made once for each lock and version; half-made ones are made again."""
    lock = _locked()
    folder = _CACHE / f"{version}-{sha256(lock.encode()).hexdigest()[:16]}"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        _run(_OTHERS[version], "-m", "venv", "--without-pip", str(folder))
        (folder / "lock.txt").write_text(lock)
        _run(
            sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet", "--no-input",
            "--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", str(folder / "lock.txt"),
        )  # fmt: skip  # one call in three lines
        (folder / "complete").touch()
    return folder / "bin" / "python"


def _run(*command: str, **environment: str) -> str:
    """Of this interpreter's environment only what finds packages and places is passed on."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_", "PYTEST"))}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=_ROOT, env={**kept, **environment})
    if done.returncode:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2])
    return done.stdout


@pytest.mark.slow
@pytest.mark.clause("kaori", "law 2")
@pytest.mark.clause("kaori", "law 7")
@pytest.mark.parametrize("version", [*_OTHERS] or [_NONE])
def test_every_python_of_this_machine_gives_the_same_bytes(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        python = _environment(version)
    except RuntimeError as error:
        pytest.skip(f"CPython {version} cannot be given the locked packages: {error}")
    said = _run(str(python), "-m", "tests.truth.vectors", PYTHONPATH=f"{_ROOT / 'src'}{os.pathsep}{_ROOT}")
    assert dict(line.split() for line in said.splitlines()) == digests()
    with capsys.disabled():
        print(f"\nvectors of truth: CPython {version} agrees ({_OTHERS[version]})", file=sys.stderr)  # noqa: T201 - which ran is part of the answer
