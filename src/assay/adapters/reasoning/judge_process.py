"""The judge in a process of its own, so that it cannot block the service: bounded, batched, started anew when it dies.

question -> the queue, if there is room -> all that wait, as one batch -> child -> each caller gets its own reply
Whoever finds the child idle takes the batch to it; the others wait. So there is no thread that outlives a question.
"""

import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from json import dumps
from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic
from typing import IO

from msgspec import Struct

from assay.adapters.egress.guard import starting_own_child
from assay.adapters.reasoning.judge import JudgeWeights, load_weights
from assay.adapters.reasoning.judge_frames import Opening, Question, Ready, Reply, read_value, render_frame
from assay.adapters.reasoning.judge_pipe import receive_frame, send_frame
from assay.kernel.digest import Digest
from assay.ports.model import ModelError, ModelTimeoutError, ModelUnavailableError, ModelWeightsError
from assay.verdicts.sovereignty import Place, PlaceKind

# It imports from where we do, and from nowhere else: no environment or folder of the moment adds to it.
_CHILD = (
    "import sys; from json import loads; sys.path[:] = loads(sys.argv[1]); "
    "from assay.adapters.reasoning.judge_child import main; main()"
)


_SHOWN = 300


class JudgeBounds(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """At most `queue` callers at once, `batch` of them side by side; `timeout_seconds` from the call to its reply."""

    timeout_seconds: float = 30.0
    queue: int = 256
    batch: int = 16


class _Job:
    """One caller's question, and what became of it."""

    __slots__ = ("deadline", "outcome", "question")

    def __init__(self, question: Question, deadline: float) -> None:
        self.question = question
        self.deadline = deadline
        self.outcome: Reply | ModelError | None = None


class JudgeProcess:
    """Implements `Bench`. The child starts with the first question and ends with `close`, or with this process."""

    place = Place(kind=PlaceKind.CHILD_PROCESS)

    def __init__(self, weights: JudgeWeights, bounds: JudgeBounds | None = None) -> None:
        self._weights = weights
        self._bounds = bounds or JudgeBounds()
        self._state = threading.Condition()
        self._waiting: deque[_Job] = deque()
        self._present = 0
        self._is_serving = False
        self._is_closed = False
        self._child: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._identity: Digest | None = None

    def identify(self) -> Digest:
        """Of the file as it was found first; a child is only ever given bytes with that hash."""
        if self._identity is None:
            load_weights(self._weights)
            self._identity = self._weights.expected
        return self._identity

    def ask_many(self, questions: Sequence[Question]) -> list[Reply | ModelError]:
        deadline = monotonic() + self._bounds.timeout_seconds
        jobs = [_Job(question, deadline) for question in questions]
        try:
            self._enter(jobs)
        except ModelError as error:
            return [error] * len(jobs)
        try:
            return [self._settled(job) for job in jobs]
        finally:
            self._leave(jobs)

    def _settled(self, job: _Job) -> Reply | ModelError:
        """Its outcome: by somebody else's doing, or by taking it to the child."""
        try:
            while job.outcome is None:
                batch = self._turn(job)
                if batch:
                    self._serve(batch)
        except ModelError as error:
            return error
        return job.outcome

    def close(self) -> None:
        """Stop the child now; a question that is under way fails, and no other is answered."""
        with self._state:
            self._is_closed = True
            child = self._child
            self._state.notify_all()
        if child is not None:
            child.kill()
        with self._state:
            # Whoever serves sees the child's end at once; the pipes are closed when nobody reads them any more.
            self._state.wait_for(lambda: not self._is_serving)
            self._end_child()

    def _enter(self, jobs: list[_Job]) -> None:
        with self._state:
            self._require_open()
            if self._present >= self._bounds.queue:
                raise ModelError.busy(f"expected at most {self._bounds.queue} callers, got one more")
            self._present += 1
            self._waiting.extend(jobs)

    def _leave(self, jobs: list[_Job]) -> None:
        with self._state:
            self._present -= 1
            for job in jobs:
                if job in self._waiting:
                    self._waiting.remove(job)

    def _turn(self, job: _Job) -> list[_Job]:
        """The batch to take to the child, if it is idle; empty where somebody else did it, or may have."""
        with self._state:
            self._state.wait_for(
                lambda: job.outcome is not None or not self._is_serving or self._is_closed, job.deadline - monotonic()
            )
            if job.outcome is not None:
                return []
            self._require_open()
            if self._is_serving or monotonic() > job.deadline:
                raise ModelTimeoutError(f"expected a reply within {self._bounds.timeout_seconds:.3g} s, got none")
            self._is_serving = True
            # The own question first: it may be the last of a long queue.
            self._waiting.remove(job)
            others = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._bounds.batch - 1))]
            return [job, *others]

    def _serve(self, batch: list[_Job]) -> None:
        """INVARIANT: every job of the batch gets an outcome, and the next may serve."""
        outcomes: list[Reply] | ModelError = ModelUnavailableError("expected a reply of the judge, got none")
        try:
            outcomes = self._exchange([job.question for job in batch], batch[0].deadline)
        except ModelError as error:
            outcomes = error
        finally:
            with self._state:
                for at, job in enumerate(batch):
                    job.outcome = outcomes if isinstance(outcomes, ModelError) else outcomes[at]
                self._is_serving = False
                self._state.notify_all()

    def _exchange(self, questions: list[Question], deadline: float) -> list[Reply]:
        child = self._started(deadline)
        try:
            return _replies(_say(child, questions, deadline), len(questions))
        except BaseException:
            # What it may still say belongs to questions that nobody waits for.
            self._end_child()
            raise

    def _started(self, deadline: float) -> "subprocess.Popen[bytes]":
        if self._child is not None and self._child.poll() is None:
            return self._child
        self._end_child()
        # Read again for each start: a file that was put in its place meanwhile is refused here.
        opening = Opening(weights=load_weights(self._weights), expected=self._weights.expected)
        log = TemporaryFile()  # noqa: SIM115 - closed with the child
        with starting_own_child():
            child = _spawn(log)
        with self._state:
            self._child, self._log = child, log
        try:
            self._require_open()
            _require_ready(_say(child, opening, deadline), self._weights.expected, log)
        except BaseException:
            self._end_child()
            raise
        return child

    def _require_open(self) -> None:
        if self._is_closed:
            raise ModelUnavailableError("expected a judge, got one that was closed")

    def _end_child(self) -> None:
        child, self._child = self._child, None
        log, self._log = self._log, None
        if child is None:
            return
        child.kill()
        child.wait()
        for stream in filter(None, (child.stdin, child.stdout, log)):
            # What was not sent any more is lost with its reader.
            with suppress(OSError):
                stream.close()


def _spawn(log: IO[bytes]) -> "subprocess.Popen[bytes]":
    # Isolated, and with an environment of its own: no setting or secret of ours reaches it. One thread: its products
    # are small, and the cores are for the service.
    return subprocess.Popen(  # noqa: S603 - our own file and interpreter
        [sys.executable, "-I", "-S", "-c", _CHILD, dumps([str(Path(part).absolute()) for part in sys.path])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        # Nothing of a frame may wait in a buffer of ours: the pipes are read and written as far as there is time.
        bufsize=0,
        env={"LC_ALL": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )


def _say(child: "subprocess.Popen[bytes]", value: object, deadline: float) -> bytes | None:
    """One frame there and one back; None where the child ended. Raises when the time is over."""
    if child.stdin is None or child.stdout is None:
        raise AssertionError("the child was started with pipes")
    try:
        send_frame(child.stdin.fileno(), render_frame(value), deadline)
        return receive_frame(child.stdout.fileno(), deadline)
    except OSError:
        return None


def _require_ready(content: bytes | None, expected: Digest, log: IO[bytes]) -> None:
    ready = read_value(content, Ready)
    if ready is None:
        raise ModelUnavailableError(f"expected the judge to start, got the end of its process: `{_last_words(log)}`")
    if ready.weight_hash != expected:
        raise ModelWeightsError(ready.problem or f"expected the weights `{expected}`, got `{ready.weight_hash}`")


def _replies(content: bytes | None, count: int) -> list[Reply]:
    replies = read_value(content, list[Reply])
    if replies is None or len(replies) != count:
        raise ModelUnavailableError("expected a reply of the judge, got the end of its process")
    return replies


def _last_words(log: IO[bytes]) -> str:
    log.seek(0)
    lines = log.read().decode(errors="replace").strip().splitlines() or ["it said nothing"]
    return "".join(char if char.isprintable() else "?" for char in lines[-1][:_SHOWN]).replace("`", "'")
