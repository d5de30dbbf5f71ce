"""Real child processes: started, watched with a deadline, and killed."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self

__all__ = ["Acknowledged", "Appender", "Clerk", "Journal", "chance", "wait_until"]

_ROOT = Path(__file__).resolve().parents[2]
_DEADLINE_SECONDS = 60.0
_POLL_SECONDS = 0.002


def chance(seed: int) -> random.Random:
    """Moments and places of chance that are the same in every run."""
    return random.Random(seed)  # noqa: S311 - repeatable, not secret


def wait_until(condition: Callable[[], bool], what: str, *, seconds: float = _DEADLINE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            message = f"waited {seconds:g} s in vain until {what}"
            raise AssertionError(message)
        time.sleep(_POLL_SECONDS)


class Acknowledged(NamedTuple):
    thread: str
    sequence_number: int
    entry_hash: str
    token: str


class Journal:
    """What an appender wrote down, read by its parent."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> list[list[str]]:
        """Complete lines only: a kill may cut a write where it goes from one page of the file to the next."""
        text = self.path.read_text() if self.path.exists() else ""
        return [line.split(" ") for line in text[: text.rfind("\n") + 1].splitlines()]

    def count(self) -> int:
        return self.path.read_bytes().count(b"\nack ") if self.path.exists() else 0

    def acknowledged(self) -> list[Acknowledged]:
        return [Acknowledged(line[1], int(line[2]), line[3], line[4]) for line in self.lines() if line[0] == "ack"]

    def refusals(self) -> list[str]:
        return [line[2] for line in self.lines() if line[0] == "no"]

    def checkpoints(self) -> list[int]:
        return [int(line[1]) for line in self.lines() if line[0] == "checkpoint"]


class Appender:
    """The load: a process with many appending threads. `prefix` puts another program (strace) in front."""

    def __init__(self, folder: Path, journal: Path, *options: str, prefix: tuple[str, ...] = ()) -> None:
        self.journal = Journal(journal)
        command = [*prefix, sys.executable, "-m", "tests.faults._appender", str(folder), str(journal), *options]
        self._process = subprocess.Popen(
            command, cwd=_ROOT, env=_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_for(self, acknowledgements: int) -> None:
        def is_there() -> bool:
            assert self._process.poll() is None, f"the appender ended by itself with {self._process.returncode}"
            return self.journal.count() >= acknowledgements

        wait_until(is_there, f"{acknowledgements} entries were acknowledged")

    def kill(self) -> None:
        """SIGKILL, and return when the process is gone: none of its own code runs after this."""
        self._process.kill()
        assert self._process.wait(_DEADLINE_SECONDS) == -signal.SIGKILL

    def wait(self) -> int:
        return self._process.wait(_DEADLINE_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(_DEADLINE_SECONDS)


class Clerk:
    """A process that holds a node open and appends when told to."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    @classmethod
    @contextmanager
    def at_work(cls, folder: Path) -> Iterator["Clerk"]:
        with subprocess.Popen(
            [sys.executable, "-m", "tests.faults._clerk", str(folder)],
            cwd=_ROOT,
            env=_environment(),
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            try:
                yield cls(process)
            finally:
                process.kill()

    def hear(self) -> list[str]:
        assert self._process.stdout is not None
        return self._process.stdout.readline().split()

    def append(self) -> list[str]:
        """`ack SEQUENCE HASH`, or `no CODE`."""
        assert self._process.stdin is not None
        self._process.stdin.write("one more\n")
        self._process.stdin.flush()
        return self.hear()


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{_ROOT / 'src'}:{_ROOT}"}
