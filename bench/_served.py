"""A node, or a peer, in a process of its own: started, asked until it answers, looked at from outside."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

__all__ = ["Running", "answering", "node_command", "resident_megabytes", "start_seconds"]

_MEGABYTE = 1_000_000


class Running(NamedTuple):
    """A process that answers at `url`."""

    pid: int
    url: str


def node_command(home: Path) -> list[str]:
    return [sys.executable, "-m", "assay.surfaces.cli", "serve", "--home", str(home), "--port", "0"]


@contextmanager
def answering(command: list[str]) -> Iterator[Running]:
    """It prints its address first; from its first answer on it is there, and it ends with the block."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            url = next(iter(process.stdout or ())).strip()
            _wait_for_answer(url)
            yield Running(process.pid, url)
        finally:
            process.terminate()


def start_seconds(command: list[str]) -> float:
    began = time.perf_counter()
    with answering(command):
        return time.perf_counter() - began


def resident_megabytes(running: Running) -> float:
    """With its children: the judge works in a process of its own, which counts too."""
    return sum(map(_resident_bytes, (running.pid, *_children(running.pid)))) / _MEGABYTE


def _wait_for_answer(url: str) -> None:
    while True:
        try:
            with urlopen(f"{url}/healthz", timeout=10):  # noqa: S310 - our own child, on loopback
                return
        except OSError:
            time.sleep(0.005)


def _children(pid: int) -> list[int]:
    listed = [path.read_text(encoding="ascii") for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(one) for text in listed for one in text.split()]


def _resident_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))
