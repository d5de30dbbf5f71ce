"""A llama.cpp server of our own, in a process of its own, on a socket that only we can reach.

weight file -> its hash -> child process -> `ready` -> LlamaCpp over a Unix socket
It starts at the first question, ends with `close` or with our own end, and starts anew when it died.
"""

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import threading
from io import BufferedReader
from pathlib import Path
from time import monotonic

from msgspec import Struct

from assay.adapters.egress.guard import starting_own_child
from assay.adapters.inference.address import Address
from assay.adapters.inference.backend import Completion, Patience, Request
from assay.adapters.inference.exchange import Exchange
from assay.adapters.inference.llamacpp import LlamaCpp
from assay.adapters.inference.weights import hash_open_file, require_pinned
from assay.kernel.digest import Digest
from assay.ports.model import ModelError, ModelIdentity, ModelTimeoutError, ModelUnavailableError, ModelWeightsError

_CHILD = Path(__file__).with_name("llamacpp_child.py")
_GLANCE_SECONDS = 0.05
_LEAVING_SECONDS = 5.0
_SHOWN = 300


class LlamaCppWeights(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is loaded, and how; `threads` 0 leaves their number to the engine. A pinned hash must be the file's."""

    file: Path
    pinned_hash: Digest | None = None
    context_tokens: int = 4096
    threads: int = 0


class _Running(Struct, frozen=True):
    child: "subprocess.Popen[bytes]"
    folder: Path
    backend: LlamaCpp


class LlamaCppProcess:
    """Implements `Backend`."""

    def __init__(self, weights: LlamaCppWeights) -> None:
        self._weights = weights
        self._lock = threading.Lock()
        self._running: _Running | None = None
        self._is_closed = False
        self._starts = 0

    @property
    def connection(self) -> int:
        """How often the server was started."""
        return self._starts

    def identify(self, patience: Patience) -> ModelIdentity:
        return self._started(patience).identify(patience)

    def complete(self, request: Request, patience: Patience) -> Completion:
        deadline = monotonic() + patience.seconds
        backend = self._started(patience)
        left = Patience(seconds=max(deadline - monotonic(), 0.0), cancelled=patience.cancelled)
        return backend.complete(request, left)

    def close(self) -> None:
        """Stop the server now; a question that is under way fails, and no other is answered."""
        with self._lock:
            self._is_closed = True
            self._stop()

    def _started(self, patience: Patience) -> LlamaCpp:
        with self._lock:
            if self._is_closed:
                raise ModelUnavailableError("expected a running model, got one that was closed")
            if self._running is not None and self._running.child.poll() is None:
                return self._running.backend
            self._stop()
            self._running = _start(self._weights, patience)
            self._starts += 1
            return self._running.backend

    def _stop(self) -> None:
        if self._running is not None:
            _end(self._running.child)
            shutil.rmtree(self._running.folder, ignore_errors=True)
            self._running = None


def _start(weights: LlamaCppWeights, patience: Patience) -> _Running:
    # Directly under the temporary folder: the path of a socket may have no more than about a hundred characters.
    folder = Path(tempfile.mkdtemp(prefix="assay-model-"))
    try:
        with weights.file.open("rb") as file:
            weight_hash = hash_open_file(file)
            require_pinned(weight_hash, weights.pinned_hash)
            return _spawned(weights, weight_hash, file, folder, patience)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise ModelWeightsError(f"expected readable weights at `{weights.file}`, got {error.strerror}") from error
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _spawned(
    weights: LlamaCppWeights, weight_hash: Digest, file: BufferedReader, folder: Path, patience: Patience
) -> _Running:
    """The child gets the very file that was hashed: a file put in its place meanwhile is not it."""
    socket, before = folder / "model.sock", _state(file)
    options = {
        "weights": f"/dev/fd/{file.fileno()}",
        "model": weights.file.name,
        "socket": str(socket),
        "context_tokens": weights.context_tokens,
        "threads": weights.threads,
    }
    # Isolated, and with an environment of its own: no setting or secret of ours reaches the engine.
    with (folder / "log").open("wb") as log, starting_own_child():
        child = subprocess.Popen(  # noqa: S603 - our own file and interpreter
            [sys.executable, "-I", str(_CHILD), json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            pass_fds=(file.fileno(),),
            cwd=folder,
            env={"LC_ALL": "C.UTF-8"},
        )
    try:
        version = _ready(child, folder / "log", patience)
        _require_unchanged(file, before)
    except BaseException:
        _end(child)
        raise
    exchange = Exchange(Address(url="http://model", socket=str(socket)))
    backend = LlamaCpp(exchange, model=weights.file.name, weight_hash=weight_hash, engine_version=version)
    return _Running(child, folder, backend)


def _state(file: BufferedReader) -> tuple[int, int]:
    found = os.fstat(file.fileno())
    return found.st_size, found.st_mtime_ns


def _require_unchanged(file: BufferedReader, before: tuple[int, int]) -> None:
    if _state(file) != before:
        raise ModelWeightsError("expected weights that stay as they are, got a file that changed while it was loaded")


def _ready(child: "subprocess.Popen[bytes]", log: Path, patience: Patience) -> str:
    """The engine's version, once the weights are loaded."""
    if child.stdout is None:
        raise AssertionError("the child was started with a pipe")
    deadline = monotonic() + patience.seconds
    while not select.select([child.stdout], [], [], _GLANCE_SECONDS)[0]:
        if patience.cancelled is not None and patience.cancelled():
            raise ModelError.cancelled("the caller gave up before the model was loaded")
        if monotonic() > deadline:
            raise ModelTimeoutError(f"expected a loaded model within {patience.seconds:.3g} s, got none")
    line = child.stdout.readline().decode(errors="replace").split()
    if len(line) != 2 or line[0] != "ready":  # noqa: PLR2004 - the word and the version
        raise ModelUnavailableError(f"the llama.cpp server did not start: `{_last_words(log)}`")
    return line[1]


def _last_words(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
    return "".join(char if char.isprintable() else "?" for char in lines[-1][:_SHOWN]).replace("`", "'")


def _end(child: "subprocess.Popen[bytes]") -> None:
    """The end of its input is its sign to leave; one that does not is killed."""
    if child.stdin is not None:
        child.stdin.close()
    try:
        child.wait(_LEAVING_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    if child.stdout is not None:
        child.stdout.close()
