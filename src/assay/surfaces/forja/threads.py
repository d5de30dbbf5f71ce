"""Threads for what waits for a disk, a desk or a registry: our own, and never those of the application around us.

The loop's usual pool is small, and the application works on it too. With a slow disk our waiting would become its own.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import TypeVar

from assay.surfaces.forja.errors import UnansweredError

T = TypeVar("T")
_THREADS = 16
_PATIENCE_SECONDS = 15.0


async def in_thread(work: Callable[[], T]) -> T:
    """Do it on one of our threads, where the context of the caller is found too."""
    return await _begin(work)


async def in_time(work: Callable[[], T]) -> T:
    """The same for an answer to somebody who waits; what has no thread by the end of that time is never begun."""
    future = _begin(work)
    done, _ = await asyncio.wait((future,), timeout=_PATIENCE_SECONDS)
    if not done:
        future.cancel()
        raise UnansweredError(f"expected an answer within {_PATIENCE_SECONDS:g} s, got none")
    return future.result()


def _begin(work: Callable[[], T]) -> "asyncio.Future[T]":
    context = copy_context()
    return asyncio.get_running_loop().run_in_executor(_pool(), lambda: context.run(work))


@cache
def _pool() -> ThreadPoolExecutor:
    """Made with the first work, so that a process that forks before has one of its own."""
    return ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="assay-forja")
