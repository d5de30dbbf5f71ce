"""Waiting has an end where the database hangs, and only there; who gives up leaves nothing half begun."""

import asyncio
import threading
from collections.abc import Iterator, Sequence

import pytest

from assay.surfaces.http import patience
from assay.surfaces.http.desk import Gathering
from assay.surfaces.http.patience import Crew, GivenUpError, Pulse, wait_again, wait_patiently


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PATIENCE_SECONDS", 0.02)
    monkeypatch.setattr(patience, "_PULSE_SECONDS", 0.02)


@pytest.fixture
def stuck() -> Iterator[threading.Event]:
    """What hangs until the test is over, or says so."""
    event = threading.Event()
    yield event
    event.set()


def test_work_that_takes_its_time_is_waited_for_while_the_database_answers(stuck: threading.Event) -> None:
    async def run() -> bool:
        asyncio.get_running_loop().call_later(0.2, stuck.set)
        return await Crew("test", 1).run(lambda: stuck.wait(30), Pulse(lambda: None))

    assert asyncio.run(run()) is True


@pytest.mark.parametrize("is_refused", [True, False])
def test_who_waits_for_a_database_that_hangs_is_told_and_who_had_no_thread_never_begins(
    stuck: threading.Event, *, is_refused: bool
) -> None:
    """Its place is taken until the thread ends; then the crew works as before."""

    def look() -> None:
        if is_refused:
            raise OSError("away")
        stuck.wait(30)

    begun: list[int] = []

    def work(number: int) -> None:
        begun.append(number)
        stuck.wait(30)

    async def run() -> tuple[int, int, int]:
        crew, pulse = Crew("test", 2), Pulse(look)
        asked = [crew.run(lambda number=number: work(number), pulse) for number in range(6)]  # type: ignore[misc]  # bound at once
        told = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(one) for one in told] == [GivenUpError] * 6
        held = crew.busy
        stuck.set()
        while crew.busy:  # noqa: ASYNC110 - threads end when they do
            await asyncio.sleep(0.01)
        await crew.run(lambda: begun.append(9))
        return held, crew.busy, crew.waiting

    assert asyncio.run(run()) == (2, 0, 0)
    assert (len(begun), begun[-1]) == (3, 9)


def test_who_leaves_while_waiting_for_a_place_takes_none(stuck: threading.Event) -> None:
    async def run() -> int:
        crew, felt = Crew("test", 1), Pulse(lambda: None)
        first = asyncio.ensure_future(crew.run(lambda: stuck.wait(30)))
        await asyncio.sleep(0)
        others = [asyncio.ensure_future(crew.run(stuck.set, felt)) for _ in range(3)]
        await asyncio.sleep(0.05)
        assert crew.waiting == 3
        for one in others:
            one.cancel()
        await asyncio.wait(others)
        assert (crew.waiting, stuck.is_set()) == (0, False)
        stuck.set()
        await first
        return await crew.run(lambda: crew.busy)

    assert asyncio.run(run()) == 1


def test_what_waits_together_is_given_up_before_anybody_takes_it_up(stuck: threading.Event) -> None:
    taken: list[int] = []

    def work(numbers: Sequence[int]) -> Sequence[int]:
        taken.extend(numbers)
        stuck.wait(30)
        return numbers

    async def run() -> list[object]:
        gathering: Gathering[int, int] = Gathering(work, name="test", threads=1, at_most=8)
        dead = Pulse(lambda: stuck.wait(30) and None)
        first = asyncio.ensure_future(gathering.ask(1))
        await asyncio.sleep(0.05)
        told = await asyncio.gather(
            *(gathering.ask(number, lambda future: wait_patiently(future, dead)) for number in (2, 3)),
            return_exceptions=True,
        )
        assert gathering.queue_length == 0
        stuck.set()
        return [await first, await gathering.ask(4), *map(type, told)]

    assert asyncio.run(run()) == [1, 4, GivenUpError, GivenUpError]
    assert taken == [1, 4]


def test_an_error_of_the_work_is_the_works_own_also_when_it_is_about_time() -> None:
    async def fail() -> None:
        raise TimeoutError

    async def run() -> None:
        await wait_again(fail(), Pulse(lambda: None))

    with pytest.raises(TimeoutError):
        asyncio.run(run())
