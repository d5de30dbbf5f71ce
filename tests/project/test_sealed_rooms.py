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


@pytest.mark.parametrize(("folder", "sealed"), [("kernel", True), ("truth", True), ("adapters", False)])
def test_sockets_and_sleeping_are_refused_in_rooms_only(
    pytester: pytest.Pytester, folder: str, *, sealed: bool
) -> None:
    """The same probe holds in a room and fails where effects are allowed."""
    tests = pytester.mkdir("tests")
    for name in ("conftest.py", "postgres_cluster.py", "scale.py"):
        (tests / name).write_text((_TESTS / name).read_text())
    (tests / folder).mkdir()
    (tests / folder / "test_probe.py").write_text(_PROBE)
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\npythonpath = ['.']\naddopts = ['--import-mode=importlib']\n")
    outcome = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    outcome.assert_outcomes(passed=int(sealed), failed=int(not sealed))
