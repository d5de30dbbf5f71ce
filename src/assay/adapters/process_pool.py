"""Parts of the work in processes of this machine."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Self, TypeVar

from assay.kernel.errors import Error
from assay.ports.pool import Pool

Part = TypeVar("Part")
Done = TypeVar("Done")


class WorkerLostError(Error):
    """A worker was ended from outside, for want of memory or by somebody: what was not answered was not done."""

    code = "pool.worker_lost"


class InlinePool:
    """No pool: everything in this very process, one part after another."""

    def run(self, work: Callable[[Part], Done], parts: Iterable[Part]) -> Iterator[Done]:
        return map(work, parts)


class ProcessPool:
    """As many workers as asked for, each a fresh process: a fork would share our threads' locks and the database."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._executor = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(cancel_futures=True)

    def run(self, work: Callable[[Part], Done], parts: Iterable[Part]) -> Iterator[Done]:
        try:
            yield from self._run(work, parts)
        except BrokenProcessPool as error:
            raise WorkerLostError(f"expected {self._workers} workers to the end, got one that was killed") from error

    def _run(self, work: Callable[[Part], Done], parts: Iterable[Part]) -> Iterator[Done]:
        waiting: deque[Future[Done]] = deque()
        for part in parts:
            waiting.append(self._executor.submit(work, part))
            # Two for each worker: none is ever idle, and no more than that is in memory.
            if len(waiting) >= 2 * self._workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class ProcessPools:
    """Pools of this machine, or of a Dask cluster."""

    @contextmanager
    def open(self, workers: int | None, *, dask: str | None = None) -> Iterator[Pool]:
        """One worker is this very process: starting another would only cost time."""
        if dask is not None:
            from assay.adapters.dask_pool import DaskPool  # noqa: PLC0415 - only who has a cluster pays for it

            with DaskPool(dask) as cluster:
                yield cluster
            return
        count = workers or os.cpu_count() or 1
        if count == 1:
            yield InlinePool()
            return
        with ProcessPool(count) as pool:
            yield pool
