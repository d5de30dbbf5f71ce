"""Threads for what waits for a disk, a desk or a registry: our own, and never those of the application around us.

The loop's usual pool is small, and the application works on it too. With a slow disk our waiting would become its own.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import TypeVar

__all__ = ["in_thread"]

T = TypeVar("T")
_THREADS = 16


async def in_thread(work: Callable[[], T]) -> T:
    """Do it on one of our threads, where the context of the caller is found too."""
    context = copy_context()
    return await asyncio.get_running_loop().run_in_executor(_pool(), lambda: context.run(work))


@cache
def _pool() -> ThreadPoolExecutor:
    """Made with the first work, so that a process that forks before has one of its own."""
    return ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="assay-forja")
