"""A store behind group commit that can be told when to wait and what to fail at."""

import threading
from typing import Any

from assay.adapters.sql.errors import RowRefusedError

__all__ = ["POISON", "MemoryEngine"]

_SECONDS = 20.0
POISON = "poison"


class MemoryEngine:
    """A list that becomes durable at commit; told when to wait and what to fail at."""

    def __init__(self) -> None:
        self.durable: list[object] = []
        self.batches: list[int] = []
        self.may_commit = threading.Event()
        self.may_commit.set()
        self.is_committing = threading.Event()
        self.fail_begin: Exception | None = None
        self.fail_commit: Exception | None = None
        self.rollbacks = 0
        self.announced = 0
        self._open: list[object] = []

    def begin(self) -> None:
        if self.fail_begin is not None:
            raise self.fail_begin
        self._open = []

    def run(self, job: Any) -> Any:  # noqa: ANN401 - as the protocol has it
        if isinstance(job, Exception):
            raise job
        self._open.append(job)
        return job

    def commit(self) -> None:
        self.is_committing.set()
        assert self.may_commit.wait(_SECONDS)
        if self.fail_commit is not None:
            raise self.fail_commit
        if POISON in self._open:
            raise RowRefusedError("poison")
        self.durable += self._open
        self.batches.append(len(self._open))

    def rollback(self) -> None:
        self.rollbacks += 1
        self._open = []

    def announce(self) -> None:
        self.announced += 1
