"""Room and kernel tests cannot reach the network or wait; the seal is checked from inside a room's folder."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

_TESTS = Path(__file__).resolve().parents[1]

_PROBE = """
import socket, time
import pytest

def test_probe():
    with pytest.raises(AssertionError, match="room test"):
        socket.socket()
    with pytest.raises(AssertionError, match="room test"):
        time.sleep(0)
"""


def test_sockets_and_sleeping_are_refused_in_rooms_only(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same probe holds in rooms and fails where effects are allowed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    tests = pytester.mkdir("tests")
    for name in ("conftest.py", "postgres_cluster.py", "scale.py"):
        (tests / name).write_text((_TESTS / name).read_text())
    for folder in ("kernel", "truth", "adapters"):
        (tests / folder).mkdir()
        (tests / folder / "test_probe.py").write_text(_PROBE)
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\npythonpath = ['.']\naddopts = ['--import-mode=importlib']\n")
    outcome = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    outcome.assert_outcomes(passed=2, failed=1)
    outcome.stdout.fnmatch_lines(["FAILED tests/adapters/test_probe.py::*"])
