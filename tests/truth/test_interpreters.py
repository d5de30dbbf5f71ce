"""A state has the same bytes under every Python (Kaori law 7): the vectors run under each CPython this machine has."""

import os
import sys
from pathlib import Path

import pytest

from tests.interpreters import NO_OTHER, OTHERS, make_environment, run_python
from tests.truth.vectors import digests

_ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.clause("kaori", "law 2")
@pytest.mark.clause("kaori", "law 7")
@pytest.mark.parametrize("version", [*OTHERS] or [NO_OTHER])
def test_every_python_of_this_machine_gives_the_same_bytes(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        python = make_environment(version)
    except RuntimeError as error:
        pytest.skip(f"CPython {version} cannot be given the locked packages: {error}")
    said = run_python(str(python), "-m", "tests.truth.vectors", PYTHONPATH=f"{_ROOT / 'src'}{os.pathsep}{_ROOT}")
    assert dict(line.split() for line in said.splitlines()) == digests()
    with capsys.disabled():
        print(f"\nvectors of truth: CPython {version} agrees ({OTHERS[version]})", file=sys.stderr)  # noqa: T201 - which ran is part of the answer
