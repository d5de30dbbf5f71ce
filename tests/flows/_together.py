"""Callers who come while the writer is busy: how a test makes them meet, without counting on luck."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from assay.flows.shared_unit import SharedUnit
from assay.ports.database import Database, Unit
from tests.flows._people import at_once

__all__ = ["held", "together", "wait_until"]

_DEADLINE_SECONDS = 20.0


@contextmanager
def held(database: Database) -> Iterator[None]:
    """The writer is busy until the block ends, so that everybody who comes meanwhile has to wait."""
    begun, go_on = threading.Event(), threading.Event()

    def wait(_: Unit) -> None:
        begun.set()
        go_on.wait(_DEADLINE_SECONDS)

    holder = threading.Thread(target=database.write, args=(wait,))
    holder.start()
    begun.wait(_DEADLINE_SECONDS)
    try:
        yield
    finally:
        go_on.set()
        holder.join()


def together(database: Database, shared: SharedUnit | None, jobs: list[Callable[[], object]]) -> list[object]:
    """The jobs' answers, when all of them waited for the writer at the same time: in one unit, or each with its own."""

    def waiting() -> int:
        return database.facts().queue_length if shared is None else shared.queue_length

    done: list[object] = []
    runner = threading.Thread(target=lambda: done.extend(at_once(jobs)))
    with held(database):
        runner.start()
        wait_until(lambda: waiting() == len(jobs))
    runner.join()
    return done


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + _DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)
