"""Several processes on one address: one has the writer's place and answers, the others take over when it dies.

The parent holds the socket, so whoever connects between two writers waits in its queue and is not refused. It starts
what ends, and answers by itself only while none of its own can, since the writer is on another host.
"""

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

import structlog

from assay.surfaces.http.errors import HttpError
from assay.surfaces.http.standby import standing_in

_TICK_SECONDS = 0.1
# Longer than one of our own needs to find the place free: with all of them waiting, the writer is elsewhere.
_PATIENCE_SECONDS = 5.0
_END_SECONDS = 370
_log = structlog.get_logger("assay.serve")


class _Worker:
    """One process; it says on its standard output what it does, and ends when its standard input does."""

    def __init__(self, command: Sequence[str], bound: socket.socket) -> None:
        # What it said last: standing_by, taking_over, serving; nothing before it has begun.
        self.state = ""
        self._last_words = b""
        self.process = subprocess.Popen(  # noqa: S603 - our own program, started again
            [*command, "--socket", str(bound.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(bound.fileno(),),
        )
        self._listener = threading.Thread(target=self._listen, name="assay-worker", daemon=True)
        self._listener.start()

    def end(self) -> None:
        """One signal: closing its standard input as well would be a second, and hurry it."""
        self.process.terminate()

    def wait(self) -> None:
        try:
            self.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.leave()

    def leave(self) -> None:
        """Let go of a process that has ended."""
        self._listener.join()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    @property
    def complaint(self) -> str:
        """Why it ended, in its own words; none where it was killed."""
        try:
            error = json.loads(self._last_words)["error"]
            return f"{error['message']} [{error['code']}]"
        except (ValueError, LookupError, TypeError):
            return ""

    def _listen(self) -> None:
        """A line for each state, and at the end perhaps an error in several."""
        for line in self.process.stdout or ():
            try:
                self.state = json.loads(line)["state"]
            except (ValueError, LookupError, TypeError):
                self._last_words += line


def run_workers(command: Sequence[str], bound: socket.socket, count: int, *, ready: Callable[[str], None]) -> None:
    """Keep so many processes until a signal raises `SystemExit` here; then they finish what they accepted."""
    os.set_inheritable(bound.fileno(), True)
    # From now on connections wait for whoever accepts first, whether or not anybody does yet.
    bound.listen(2048)
    crew = [_Worker(command, bound) for _ in range(count)]
    try:
        _Watch(command, bound, crew, ready).keep()
    except BaseException as error:
        _end(crew)
        if isinstance(error, SystemExit):
            _require_order(crew)
        raise


def _end(crew: Sequence[_Worker]) -> None:
    """Tell each, and wait for it. A second signal is told to them too, and ends no waiting here."""

    def tell(*_: object) -> None:
        for worker in crew:
            worker.end()

    before = {number: signal.signal(number, tell) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        tell()
        for worker in crew:
            worker.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _require_order(crew: Sequence[_Worker]) -> None:
    """Whoever told this process to end learns that one of them could not."""
    for worker in crew:
        code = worker.process.returncode
        # One that has hardly begun is ended by the signal itself.
        if code != 0 and (worker.state or code != -signal.SIGTERM):
            told = f"expected process {worker.process.pid} to end in order, got exit status {code}"
            raise HttpError.worker_cut_off(told)


class _Watch:
    def __init__(
        self, command: Sequence[str], bound: socket.socket, crew: list[_Worker], ready: Callable[[str], None]
    ) -> None:
        self._command = command
        self._bound = bound
        self._crew = crew
        self._ready = ready
        self._state = ""
        self._idle_since = time.monotonic()

    def keep(self) -> None:
        with ExitStack() as door:
            while True:
                self._replace_ended()
                states = {worker.state for worker in self._crew}
                if states != {"standing_by"}:
                    self._idle_since = time.monotonic()
                if "serving" in states:
                    door.close()
                    self._tell("serving")
                elif self._state != "standing_by" and time.monotonic() - self._idle_since > _PATIENCE_SECONDS:
                    door.enter_context(standing_in(self._bound))
                    self._tell("standing_by")
                time.sleep(_TICK_SECONDS)

    def _replace_ended(self) -> None:
        for place, worker in enumerate(self._crew):
            code = worker.process.poll()
            if code is None:
                continue
            # First what it said, then what that means.
            worker.leave()
            if not worker.state:
                why = f": {worker.complaint}" if worker.complaint else ""
                raise HttpError.worker_failed(f"expected a process that begins, got exit status {code}{why}")
            _log.error("worker_ended", pid=worker.process.pid, status=code, message=worker.complaint)
            self._crew[place] = _Worker(self._command, self._bound)

    def _tell(self, state: str) -> None:
        if state != self._state:
            self._state = state
            self._ready(state)
