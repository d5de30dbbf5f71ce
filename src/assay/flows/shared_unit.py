"""Callers who come at the same time share one unit of work: what it must look up, it looks up once for all of them.

the first caller queues the unit -> others join until the writer begins it -> one commit -> each has its own answer

Nobody is answered before the commit is durable. A unit that fails as a whole is given up, and then each caller has a
unit alone, so that nobody pays for what another sent.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from assay.flows.traced_database import untraced
from assay.kernel.errors import Error
from assay.ports.database import Database, Unit

J = TypeVar("J")
R = TypeVar("R")
Run = Callable[[Unit, Sequence[J]], Sequence[R | Error]]
_MOST = 1024
# With two, a thread that is slow to get the interpreter does not hold up all others.
_WOKEN_AT_ONCE = 2


class _Group(Generic[J, R]):
    """Those who share a unit; its first member leads, the others sleep until they are woken, one by the other."""

    __slots__ = ("_asleep", "_awake", "answers", "database", "is_over", "jobs", "latches", "run", "weight")

    def __init__(self, database: Database, run: Run[J, R]) -> None:
        self.database = database
        self.run = run
        self.jobs: list[J] = []
        self.latches: list[threading.Lock] = []
        self.weight = 0
        self.answers: Sequence[R | Error] | None = None
        self.is_over = False
        self._asleep: deque[int] = deque()
        self._awake: set[int] = set()

    def add(self, jobs: Sequence[J], weight: int) -> tuple[int, int]:
        """The place of the new member, and that of its first job."""
        latch, first = threading.Lock(), len(self.jobs)
        latch.acquire()
        self.jobs.extend(jobs)
        self.latches.append(latch)
        self.weight += weight
        return len(self.latches) - 1, first

    def sleep(self, place: int) -> None:
        """Until the unit is over; whoever wakes wakes one more, since sixty at once would fight for the interpreter."""
        try:
            self.latches[place].acquire()
        finally:
            # Also when interrupted: those who count on this thread must go on without it.
            self._awake.add(place)
            if self.is_over:
                self._wake_next()

    def end(self) -> None:
        """The unit is committed or given up, and nobody joins any more."""
        self._asleep.extend(range(1, len(self.latches)))
        self.is_over = True
        for _ in range(_WOKEN_AT_ONCE):
            self._wake_next()

    def _wake_next(self) -> None:
        while self._asleep:
            try:
                place = self._asleep.popleft()
            except IndexError:
                return
            self.latches[place].release()
            if place not in self._awake:
                return


class SharedUnit:
    """Those who write with the same `run` meet here: it answers every job, in order, with a result or its refusal.

    `run` may be called again with the same jobs, on a unit in which nothing of the first time remains. What it raises
    is about all of them. Requests of several callers share a unit, so a job has to carry the trace id of its caller.
    """

    def __init__(self, at_most: int = _MOST) -> None:
        self._at_most = at_most
        self._lock = threading.Lock()
        self._open: _Group[Any, Any] | None = None

    @property
    def queue_length(self) -> int:
        """How many callers have joined the unit that is still to begin."""
        group = self._open
        return 0 if group is None else len(group.latches)

    def write(self, database: Database, job: J, run: Run[J, R], *, weight: int = 1) -> R:
        """The answer to this job, after the commit that has it; or its refusal, raised."""
        [answer] = self.write_all(database, [job], run, weight=weight)
        if isinstance(answer, Error):
            raise answer
        return answer

    def write_all(self, database: Database, jobs: Sequence[J], run: Run[J, R], *, weight: int) -> Sequence[R | Error]:
        """The answer to each of these jobs, or its refusal; they share a unit, also where it has to be run again."""
        group, place, first = self._join(database, jobs, run, weight)
        if place:
            group.sleep(place)
        else:
            self._lead(group)
        if group.answers is not None:
            return group.answers[first : first + len(jobs)]
        return database.write(lambda unit: run(unit, jobs))

    def _join(
        self, database: Database, jobs: Sequence[J], run: Run[J, R], weight: int
    ) -> tuple[_Group[J, R], int, int]:
        # Each request has a wrapper of its own around the database that they share.
        database = untraced(database)
        with self._lock:
            group: _Group[J, R] | None = self._open
            is_same = group is not None and group.database is database and group.run is run
            if group is None or not is_same or group.weight + weight > self._at_most:
                group = self._open = _Group(database, run)
            return group, *group.add(jobs, weight)

    def _close(self, group: _Group[J, R]) -> None:
        with self._lock:
            if self._open is group:
                self._open = None

    def _lead(self, group: _Group[J, R]) -> None:
        def work(unit: Unit) -> Sequence[R | Error]:
            self._close(group)
            return group.run(unit, group.jobs)

        try:
            group.answers = group.database.write(work)
        except Exception:
            # Whose fault it was shows when each goes alone; a caller who is alone already knows.
            self._close(group)
            if len(group.latches) == 1:
                raise
        finally:
            # Also when this thread was interrupted: those who joined must not sleep for ever.
            self._close(group)
            group.end()
