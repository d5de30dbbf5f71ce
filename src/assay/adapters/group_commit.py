"""Group commit: one thread writes for everybody, and one durable commit acknowledges all who were waiting.

caller -> queue -> gather -> begin -> run each -> commit (the disk has it) -> wake every caller

A caller is woken only after the commit that covers it returned. When a commit fails, nobody is told yes, and the
writer stops for good: after a failed fsync the kernel may have dropped the pages it could not write, so trying again
could acknowledge what is not there. Opening the database anew reads what really is.

What fails before the commit was asked for stops nobody: a lock that did not come free refuses its batch, and values
that the database does not take send the jobs of their batch through one by one, so that only their owner is refused.
"""

import threading
from collections import deque
from contextlib import suppress
from time import monotonic
from typing import Any, NoReturn, Protocol

from assay.adapters.sql.errors import RowRefusedError
from assay.adapters.waiting import Outcome, Waiting, answer_all
from assay.kernel.errors import Blame, Error, StoreError

# How much of a commit's own duration the writer may spend waiting for callers it has just woken to come back.
_GATHER_SHARE = 1.0
_GATHER_LIMIT_SECONDS = 0.002
# How long it may wait for threads that wake each other one by one.
_WAVE_LIMIT_SECONDS = 0.02
_CAPACITY_BYTES = 64 * 1024 * 1024


class BusyError(StoreError):
    """The queue stayed full, or the database locked by others, for as long as we wait; nothing was written."""

    code = "store.busy"
    blame = Blame.ANSWER


class ClosedError(StoreError):
    """The database was closed; nothing was written."""

    code = "store.closed"


class WriterStoppedError(StoreError):
    """An earlier commit failed, so this writer accepts nothing more; open the database again."""

    code = "store.writer_stopped"


class NestedWriteError(StoreError):
    """The writer's own thread asked for a write and would wait for itself for ever; nothing was written."""

    code = "store.nested_write"


class CommitFailedError(StoreError):
    """The commit failed: the write is not acknowledged, and may or may not be found after reopening."""

    code = "store.commit_failed"


class Engine(Protocol):
    """One database connection, used by the writer's thread alone."""

    def begin(self) -> None:
        """Open a transaction; `BusyError` when others hold the database, and nothing was begun."""
        ...

    def run(self, job: Any) -> Any:  # noqa: ANN401 - a job and its result are the engine's and its callers' business
        """Do one job inside the open transaction; when it raises, nothing of that job remains."""
        ...

    def commit(self) -> None:
        """Return only when everything run since `begin` is durable.

        `RowRefusedError` says that the database did not take somebody's values, before it was asked to commit.
        """
        ...

    def rollback(self) -> None: ...

    def announce(self) -> None:
        """Tell subscribers what was committed; must not raise."""
        ...


class GroupCommit:
    """The one writer's thread, its bounded queue, and the order in which things become durable."""

    def __init__(
        self,
        engine: Engine,
        *,
        capacity: int = 8192,
        capacity_bytes: int = _CAPACITY_BYTES,
        max_batch: int = 2048,
        patience: float = 30.0,
    ) -> None:
        self._engine = engine
        self._capacity = capacity
        self._capacity_bytes = capacity_bytes
        self._max_batch = max_batch
        self._patience = patience
        self._queue: deque[Waiting[Any]] = deque()
        self._queued_bytes = 0
        self._lock = threading.Lock()
        self._arrived = threading.Condition(self._lock)
        self._room = threading.Condition(self._lock)
        self._target = 1
        self._closing = False
        self._stopped_by: BaseException | None = None
        self._last_batch = 1
        self._commit_seconds = 0.0
        self._wave = answer_all((), ())
        self.commits = 0
        self.writes = 0
        self._thread = threading.Thread(target=self._write_forever, name="assay-writer", daemon=True)
        self._thread.start()

    @property
    def queue_length(self) -> int:
        return len(self._queue)

    def submit(self, job: object, *, size: int = 0) -> Waiting[Any]:
        """Queue a job; `size` is about how many bytes it keeps in memory until it is committed."""
        # By the thread itself: its number is given to others once it has ended.
        if threading.current_thread() is self._thread:
            raise NestedWriteError("expected a write from outside the writer's thread, got one from inside a write")
        waiting: Waiting[Any] = Waiting(job, size)
        with self._lock:
            if self._closing or self._stopped_by is not None:
                self._refuse()
            if self._is_full():
                self._wait_for_room()
            self._queue.append(waiting)
            self._queued_bytes += size
            if len(self._queue) >= self._target:
                self._arrived.notify()
        return waiting

    def close(self) -> None:
        """Finish what was accepted, then end the thread."""
        with self._lock:
            self._closing = True
            self._arrived.notify()
            self._room.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _refuse(self) -> NoReturn:
        if self._stopped_by is not None:
            raise WriterStoppedError(f"an earlier commit failed: {self._stopped_by}") from self._stopped_by
        raise ClosedError("the database was closed")

    def _is_full(self) -> bool:
        return len(self._queue) >= self._capacity or self._queued_bytes >= self._capacity_bytes

    def _wait_for_room(self) -> None:
        """Back-pressure: callers wait their turn, and are told no rather than kept for ever."""
        deadline = monotonic() + self._patience
        while self._is_full():
            if not self._room.wait(timeout=max(0.0, deadline - monotonic())):
                raise BusyError(
                    f"{len(self._queue)} writes with {self._queued_bytes} bytes are waiting and none finished"
                    f" within {self._patience:g} s"
                )
            if self._closing or self._stopped_by is not None:
                self._refuse()

    def _write_forever(self) -> None:
        while batch := self._gather():
            try:
                self._commit(batch)
            except BaseException as error:  # noqa: BLE001 - whatever it was, nobody may be told yes after it
                self._stop(batch, error)
                return

    def _gather(self) -> list[Waiting[Any]]:
        """The next batch; empty when the queue is closed and drained."""
        with self._lock:
            while not self._queue and not self._closing:
                self._target = 1
                self._arrived.wait()
            self._let_woken_callers_return()
            batch = [self._queue.popleft() for _ in range(min(len(self._queue), self._max_batch))]
            self._queued_bytes -= sum(waiting.size for waiting in batch)
            self._room.notify_all()
        self._last_batch = len(batch)
        return batch

    def _let_woken_callers_return(self) -> None:
        # Without this the first caller back would get a commit of its own and everybody else would wait for two.
        expected = min(self._last_batch, self._max_batch)
        patience = min(self._commit_seconds * _GATHER_SHARE, _GATHER_LIMIT_SECONDS)
        now = monotonic()
        deadline, latest = now + patience, now + _WAVE_LIMIT_SECONDS
        while len(self._queue) < expected and not self._closing:
            self._target = expected
            now = monotonic()
            if now < deadline:
                self._arrived.wait(timeout=deadline - now)
            elif self._wave.is_over or now > latest:
                return
            else:
                # Some were not even woken yet; the time they have to come back begins after that.
                deadline = now + patience

    def _commit(self, batch: list[Waiting[Any]]) -> None:
        try:
            self._commit_together(batch)
        except BusyError as error:
            # Nothing was begun, so nothing is in doubt: these callers are told no, the next ones may be luckier.
            answer_all(batch, [(None, error)] * len(batch))
        except RowRefusedError as error:
            # The commit was not asked for, so nothing is in doubt; one by one, only the guilty caller is told no.
            self._engine.rollback()
            if len(batch) == 1:
                answer_all(batch, [(None, error)])
                return
            for waiting in batch:
                self._commit([waiting])

    def _commit_together(self, batch: list[Waiting[Any]]) -> None:
        engine = self._engine
        engine.begin()
        outcomes = [_attempt(engine, waiting) for waiting in batch]
        if all(error is not None for _, error in outcomes):
            engine.rollback()
        else:
            began = monotonic()
            engine.commit()
            self._commit_seconds = monotonic() - began
        self.commits += 1
        self.writes += len(batch)
        self._wave = answer_all(batch, outcomes)
        engine.announce()

    def _stop(self, batch: list[Waiting[Any]], error: BaseException) -> None:
        with self._lock:
            self._stopped_by = error
            abandoned = list(self._queue)
            self._queue.clear()
            self._queued_bytes = 0
            self._room.notify_all()
        failure = error if isinstance(error, Error) else CommitFailedError(f"the commit failed: {error}")
        if failure is not error:
            failure.__cause__ = error
        unanswered = [waiting for waiting in batch if not waiting.is_resolved]
        answer_all(unanswered, [(None, failure)] * len(unanswered))
        answer_all(
            abandoned, [(None, WriterStoppedError(f"an earlier commit failed: {error}")) for _ in range(len(abandoned))]
        )
        # The connection may already be lost; the first error is the one to tell.
        with suppress(Exception):
            self._engine.rollback()


def _attempt(engine: Engine, waiting: Waiting[Any]) -> Outcome:
    try:
        return engine.run(waiting.job), None
    except Exception as error:  # noqa: BLE001 - one caller's failure is that caller's answer, not the batch's
        return None, error
