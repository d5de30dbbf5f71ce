"""What every route works with: the node's tools, its configuration and metrics, and threads for what waits."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from anyio import CapacityLimiter, to_thread

from assay.config import Config
from assay.flows.tools import Tools
from assay.ports.database import Pending
from assay.surfaces.http.figures import Metrics

__all__ = ["Desk"]

T = TypeVar("T")
_READERS = 16
_WRITERS = 4
_PROBES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """One per application; handlers get it as the dependency `desk`."""

    tools: Tools
    config: Config
    metrics: Metrics
    readers: CapacityLimiter = field(default_factory=partial(CapacityLimiter, _READERS))
    probes: CapacityLimiter = field(default_factory=partial(CapacityLimiter, _PROBES))
    # Apart from the readers: when the queue is full these wait for room, and reading must go on.
    writers: CapacityLimiter = field(default_factory=partial(CapacityLimiter, _WRITERS))

    async def run(self, work: Callable[[], T]) -> T:
        """Do what waits for a disk on a thread, so that the loop goes on answering others."""
        return await to_thread.run_sync(work, limiter=self.readers)

    async def probe(self, work: Callable[[], T]) -> T:
        """As `run`, but whoever asks may give up waiting; the thread ends when its work does."""
        return await to_thread.run_sync(work, limiter=self.probes, abandon_on_cancel=True)

    async def settle(self, submit: Callable[[], Pending[T]]) -> T:
        """Submit a write on a thread, then wait for its durable commit without holding one."""
        pending = await to_thread.run_sync(submit, limiter=self.writers)
        return await pending
