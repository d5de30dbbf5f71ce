"""Waiting for a condition, with a deadline; a test never waits for a time."""

import threading
from collections.abc import Callable
from time import monotonic

__all__ = ["until"]


def until(condition: Callable[[], bool], *, seconds: float = 20.0, what: str = "the condition") -> None:
    """Return when the condition holds; fail when it does not within the deadline."""
    deadline = monotonic() + seconds
    pause = threading.Event()
    while not condition():
        assert monotonic() < deadline, f"{what} did not come about within {seconds:g} s"
        pause.wait(0.005)
