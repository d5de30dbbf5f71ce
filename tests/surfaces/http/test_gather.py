"""Requests that wait at the same time are worked on together, and each gets its own answer."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from assay.surfaces.http.desk import Gathering

_SECONDS = 20.0


class _Doubling:
    """Doubles numbers, refuses 3, and breaks on 5; the first call waits until it is told to go on."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def __call__(self, numbers: Sequence[int]) -> list[int | Exception]:
        self.calls.append(list(numbers))
        self.begun.set()
        assert self.go_on.wait(_SECONDS)
        if 5 in numbers:
            raise ArithmeticError
        return [ValueError("three") if number == 3 else 2 * number for number in numbers]


async def _ask_all(work: _Doubling, numbers: Sequence[int], *, at_most: int = 64) -> list[int | BaseException]:
    """The first is taken at once; the others come while it is worked on."""
    gathering = Gathering(work, name="test", threads=1, at_most=at_most)
    first = asyncio.ensure_future(gathering.ask(numbers[0]))
    await asyncio.to_thread(work.begun.wait, _SECONDS)
    others = [asyncio.ensure_future(gathering.ask(number)) for number in numbers[1:]]
    while gathering.queue_length < len(others):  # noqa: ASYNC110 - they come when the loop lets them
        await asyncio.sleep(0)
    work.go_on.set()
    return await asyncio.gather(first, *others, return_exceptions=True)


def test_those_who_wait_are_worked_on_together_and_each_is_told_its_own() -> None:
    work = _Doubling()
    told = asyncio.run(_ask_all(work, [1, 2, 3, 4]))
    assert work.calls == [[1], [2, 3, 4]]
    assert [told[0], told[1], told[3]] == [2, 4, 8]
    assert isinstance(told[2], ValueError)


def test_no_more_than_fits_are_taken_at_once() -> None:
    work = _Doubling()
    assert asyncio.run(_ask_all(work, [1, 2, 4, 6], at_most=2)) == [2, 4, 8, 12]
    assert work.calls == [[1], [2, 4], [6]]


def test_work_that_fails_as_a_whole_is_done_for_each_alone() -> None:
    """Nobody pays for what another sent."""
    work = _Doubling()
    told = asyncio.run(_ask_all(work, [1, 2, 5, 4]))
    assert work.calls == [[1], [2, 5, 4], [2], [5], [4]]
    assert [told[0], told[1], told[3]] == [2, 4, 8]
    assert isinstance(told[2], ArithmeticError)


def test_who_gives_up_waiting_costs_nobody_anything() -> None:
    async def run() -> int:
        work = _Doubling()
        gathering = Gathering(work, name="test", threads=1, at_most=64)
        gone = asyncio.ensure_future(gathering.ask(1))
        await asyncio.to_thread(work.begun.wait, _SECONDS)
        gone.cancel()
        waiting = asyncio.ensure_future(gathering.ask(2))
        with pytest.raises(asyncio.CancelledError):
            await gone
        work.go_on.set()
        return await waiting

    assert asyncio.run(run()) == 4
