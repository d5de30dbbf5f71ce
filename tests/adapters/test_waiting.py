"""How callers learn what became of their writes: threads wake one another, loops are told once for a batch."""

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import Context
from types import FrameType
from typing import Any, TypeVarTuple

import pytest

from assay.adapters.group_commit import GroupCommit
from assay.adapters.waiting import Waiting, Wave, answer_all
from tests.adapters._memory_engine import MemoryEngine

Ts = TypeVarTuple("Ts")
_SECONDS = 20.0
_MANY = 64


@pytest.fixture
def engine() -> MemoryEngine:
    return MemoryEngine()


@pytest.fixture
def commits(engine: MemoryEngine) -> Iterator[GroupCommit]:
    writer = GroupCommit(engine)
    yield writer
    engine.may_commit.set()
    writer.close()


def _sleepers(waiting: list[Waiting[Any]], answers: list[object]) -> list[threading.Thread]:
    """One thread for each, asleep inside `result`."""

    def wait(one: Waiting[Any]) -> None:
        answers.append(one.result())

    threads = [threading.Thread(target=wait, args=(one,), daemon=True) for one in waiting]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + _SECONDS
    while not all(one._is_asleep for one in waiting):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return threads


def _join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(_SECONDS)
        assert not thread.is_alive()


def test_every_thread_of_a_batch_is_woken() -> None:
    waiting = [Waiting[int](number) for number in range(_MANY)]
    answers: list[object] = []
    threads = _sleepers(waiting, answers)
    wave = answer_all(waiting, [(number, None) for number in range(_MANY)])
    _join(threads)
    assert sorted(map(str, answers)) == sorted(map(str, range(_MANY)))
    assert wave.is_over


def test_two_threads_may_wait_for_one_write() -> None:
    waiting = Waiting[int]("job")
    answers: list[object] = []
    threads = _sleepers([waiting, waiting], answers)
    answer_all([waiting], [(7, None)])
    _join(threads)
    assert answers == [7, 7]


def test_a_wave_goes_on_past_a_thread_that_no_longer_sleeps() -> None:
    """Who was interrupted will not wake the next one, so the one before it wakes two."""
    gone, asleep = Waiting[int]("gone"), Waiting[int]("asleep")
    answers: list[object] = []
    threads = _sleepers([asleep], answers)
    wave = Wave()
    wave.add_thread(gone)
    asleep.resolve(1, None, wave)
    wave.wake_next()
    _join(threads)
    assert answers == [1]
    assert wave.is_over


class _InterruptedError(Exception):
    """What a signal's handler raises in this test."""


def test_an_interrupted_caller_leaves_the_others_their_answers() -> None:
    """A signal reaches the thread that waits; its write is committed all the same, and everybody else is told."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise _InterruptedError

    waiting = [Waiting[int](number) for number in range(_MANY)]
    answers: list[object] = []
    main = threading.main_thread().ident
    assert main is not None
    kept = signal.signal(signal.SIGUSR1, interrupt)
    alarm = threading.Timer(0.05, signal.pthread_kill, (main, signal.SIGUSR1))
    try:
        alarm.start()
        with pytest.raises(_InterruptedError):
            waiting[0].result()
    finally:
        signal.signal(signal.SIGUSR1, kept)
    threads = _sleepers(waiting[1:], answers)
    answer_all(waiting, [(number, None) for number in range(_MANY)])
    _join(threads)
    assert len(answers) == _MANY - 1
    assert waiting[0].result() == 0


def test_awaiting_answers_when_the_write_is_durable(engine: MemoryEngine, commits: GroupCommit) -> None:
    async def work() -> list[object]:
        engine.may_commit.clear()
        first = asyncio.ensure_future(_await(commits.submit("a")))
        await asyncio.sleep(0.05)
        assert not first.done()
        assert engine.durable == []
        engine.may_commit.set()
        return [await first, await commits.submit("b")]

    assert asyncio.run(work()) == ["a", "b"]
    assert engine.durable == ["a", "b"]


def test_awaiting_raises_what_result_would_raise(commits: GroupCommit) -> None:
    async def work() -> None:
        await commits.submit(ValueError("mine"))

    with pytest.raises(ValueError, match="mine"):
        asyncio.run(work())


def test_a_write_that_was_answered_can_be_awaited_again(commits: GroupCommit) -> None:
    async def work() -> tuple[object, object]:
        waiting = commits.submit("a")
        return await waiting, await waiting

    assert asyncio.run(work()) == ("a", "a")


class _CountingLoop(asyncio.SelectorEventLoop):
    """A real loop that knows how often other threads have woken it."""

    woken = 0

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        self.woken += 1
        return super().call_soon_threadsafe(callback, *args, context=context)


def test_a_loop_is_woken_once_for_a_whole_batch() -> None:
    waiting = [Waiting[int](number) for number in range(_MANY)]

    async def work() -> list[object]:
        tasks = [asyncio.ensure_future(_await(one)) for one in waiting]
        await asyncio.sleep(0)
        writer = threading.Thread(target=answer_all, args=(waiting, [(number, None) for number in range(_MANY)]))
        writer.start()
        return [await task for task in tasks]

    loop = _CountingLoop()
    try:
        assert loop.run_until_complete(work()) == list(range(_MANY))
        assert loop.woken == 1
    finally:
        loop.close()


def test_a_cancelled_caller_leaves_the_write_and_the_others_alone(engine: MemoryEngine, commits: GroupCommit) -> None:
    async def work() -> object:
        engine.may_commit.clear()
        waiting = commits.submit("a")
        tasks = [asyncio.ensure_future(_await(waiting)) for _ in range(2)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        engine.may_commit.set()
        answer = await tasks[1]
        assert tasks[0].cancelled()
        return answer

    assert asyncio.run(work()) == "a"
    assert engine.durable == ["a"]


def test_a_loop_that_was_closed_does_not_stop_the_writer(engine: MemoryEngine, commits: GroupCommit) -> None:
    async def give_up() -> None:
        engine.may_commit.clear()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(_await(commits.submit("a")), 0.02)

    asyncio.run(give_up())
    engine.may_commit.set()
    assert commits.submit("b").result(_SECONDS) == "b"
    assert engine.durable == ["a", "b"]


async def _await(waiting: Waiting[Any]) -> Any:  # noqa: ANN401 - whatever the job answers
    return await waiting


@pytest.mark.parametrize("give", [lambda one: one.result(), lambda one: one.result(0)], ids=["waits", "asks"])
def test_an_answer_that_is_there_is_given_at_once(give: Callable[[Waiting[int]], int]) -> None:
    waiting = Waiting[int]("job")
    answer_all([waiting], [(3, None)])
    assert (give(waiting), give(waiting)) == (3, 3)
