"""Real processes on loopback: services under uvicorn, each in an interpreter of its own."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

__all__ = ["ROOT", "free_port", "kill", "serve", "wait_for"]

ROOT = Path(__file__).resolve().parents[3]
_DEADLINE = 40


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(holds: Callable[[], bool], what: str) -> None:
    """Wait on a condition, with a deadline; an unreachable server is only not there yet."""
    end = time.monotonic() + _DEADLINE
    while time.monotonic() < end:
        try:
            if holds():
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.05)
    raise AssertionError(what)


@contextmanager
def serve(script: str, *arguments: str, ready: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a script until the block ends; it is there when the address answers."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    process = subprocess.Popen([sys.executable, "-c", script, *arguments], env=environment)
    try:
        wait_for(lambda: _answers(process, ready), f"nothing answers at {ready}")
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(timeout=_DEADLINE)


def kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=_DEADLINE)


def _answers(process: subprocess.Popen[bytes], url: str) -> bool:
    assert process.poll() is None, "the server has ended"
    return httpx.get(url, timeout=2).status_code < 500
