"""Foreign code costs no more than its time and its places: neither by never ending, nor by ending everything."""

import threading
from collections.abc import Callable
from time import monotonic

import pytest

from assay.flows import time_limit
from assay.flows.time_limit import BUSY, LATE, run_within
from tests.waiting import until

_LONG = 60.0


@pytest.fixture(autouse=True)
def _own_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limit, "_places", {})
    monkeypatch.setattr(time_limit, "_SLOW_SECONDS", 0.02)


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt(), ValueError("x")])
def test_work_that_ends_itself_is_not_waited_for(raised: BaseException) -> None:
    """Were it waited for, it would be late."""

    def work() -> str:
        raise raised

    assert isinstance(run_within(_LONG, {"answer": work})["answer"], Exception)


def test_late_work_holds_its_place_until_it_ends() -> None:
    """However many ask, no more threads are left behind than there are places; then the owner is heard again."""
    ended = threading.Event()
    before = threading.active_count()
    found = [run_within(0.03, {"answer": _until(ended)}, places=2)["answer"] for _ in range(6)]
    assert found == [LATE, LATE, BUSY, BUSY, BUSY, BUSY]
    assert threading.active_count() - before <= 2
    ended.set()
    until(lambda: run_within(_LONG, {"answer": lambda: "yes"}, places=2) == {"answer": "yes"})


def test_work_that_hangs_takes_no_place_of_another_owner() -> None:
    ended = threading.Event()
    try:
        for _ in range(6):
            run_within(0.03, {"x-hangs": _until(ended)}, places=2)
        found = run_within(_LONG, {"x-hangs": lambda: True, "answer": lambda: True}, places=2)
        assert found == {"x-hangs": BUSY, "answer": True}
    finally:
        ended.set()


def test_one_caller_gets_half_the_places_of_an_owner() -> None:
    """A caller whose questions hang leaves room for the questions of others."""
    ended = threading.Event()
    try:
        found = [run_within(0.03, {"answer": _until(ended)}, caller="a", places=4)["answer"] for _ in range(3)]
        assert found == [LATE, LATE, BUSY]
        assert run_within(_LONG, {"answer": lambda: "b"}, caller="b", places=4) == {"answer": "b"}
    finally:
        ended.set()


def test_a_refusal_for_want_of_a_place_takes_no_time() -> None:
    """Its thread serves others; only an owner that finishes quickly is waited for."""
    ended = threading.Event()
    try:
        run_within(0.03, {"answer": _until(ended)}, places=1)
        started = monotonic()
        assert run_within(_LONG, {"answer": lambda: 1}, places=1) == {"answer": BUSY}
        assert monotonic() - started < _LONG / 2
    finally:
        ended.set()


def test_callers_of_a_quick_owner_wait_for_a_place() -> None:
    """Thirty at once of an owner with two places, each quick: all are answered."""
    answers: list[object] = []
    threads = [
        threading.Thread(target=lambda: answers.append(run_within(_LONG, {"answer": lambda: 1}, places=2)["answer"]))
        for _ in range(30)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_LONG)
    assert answers == [1] * 30


def test_threads_are_used_again() -> None:
    """One question after the other needs one thread, not one each."""
    used = {run_within(_LONG, {"answer": threading.get_ident})["answer"] for _ in range(20)}
    assert len(used) <= 2


def _until(ended: threading.Event) -> Callable[[], bool]:
    return lambda: ended.wait(_LONG)
