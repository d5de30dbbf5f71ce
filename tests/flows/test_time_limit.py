"""Work of others costs no more than its time: neither by never ending, nor by ending everything."""

import threading

import pytest

from assay.flows import time_limit
from assay.flows.time_limit import Late, run_within

_LONG = 60.0


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt(), ValueError("x")])
def test_work_that_ends_itself_is_not_waited_for(raised: BaseException) -> None:
    """Were it waited for, it would be late."""

    def work() -> str:
        raise raised

    assert isinstance(run_within(_LONG, {"answer": work})["answer"], Exception)


def test_late_work_takes_a_place_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many ask, no more threads are left behind than there are places."""
    places = threading.BoundedSemaphore(2)
    monkeypatch.setattr(time_limit, "_places", {"answer": places})
    ended = threading.Event()
    before = threading.active_count()
    found = [run_within(0.01, {"answer": lambda: ended.wait(_LONG)})["answer"] for _ in range(6)]
    assert all(isinstance(one, Late) for one in found)
    assert threading.active_count() - before <= 2
    ended.set()
    for _ in range(2):
        assert places.acquire(timeout=_LONG)
    for _ in range(2):
        places.release()
    assert run_within(_LONG, {"answer": lambda: "yes"}) == {"answer": "yes"}


def test_work_that_never_ends_takes_nobody_elses_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each owner has its own: one that hangs is late, and all others are heard as before."""
    monkeypatch.setattr(time_limit, "_MOST_PLACES", 2)
    monkeypatch.setattr(time_limit, "_places", {})
    ended = threading.Event()
    try:
        for _ in range(6):
            run_within(0.01, {"x-hangs": lambda: ended.wait(_LONG)})
        found = run_within(_LONG, {"x-hangs": lambda: True, "answer": lambda: True})
        assert (isinstance(found["x-hangs"], Late), found["answer"]) == (True, True)
    finally:
        ended.set()
