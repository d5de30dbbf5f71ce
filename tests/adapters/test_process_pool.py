"""Pools: answers in order, few parts ahead, and errors of workers are ours to hear."""

import os
from collections.abc import Iterator

import pytest

from assay.adapters.process_pool import InlinePool, ProcessPool, WorkerLostError


def _where(part: int) -> tuple[int, int]:
    return part, os.getpid()


def _fail(part: int) -> int:
    raise ValueError(part)


def test_processes_answer_in_the_order_of_the_parts() -> None:
    """Each part in a process that is not ours, and no more than a few parts taken before their answers."""
    taken: list[int] = []

    def parts() -> Iterator[int]:
        for number in range(12):
            taken.append(number)
            yield number

    with ProcessPool(2) as pool:
        answers = pool.run(_where, parts())
        first = next(answers)
        assert len(taken) == 4
        rest = list(answers)
    assert [part for part, _ in (first, *rest)] == list(range(12))
    assert os.getpid() not in {process for _, process in (first, *rest)}


def _die(part: int) -> int:
    if part == 1:
        os._exit(9)
    return part


def test_a_worker_that_is_killed_is_told_with_a_code() -> None:
    """For want of memory, say: nothing that it was given counts as done."""
    with ProcessPool(1) as pool, pytest.raises(WorkerLostError) as lost:
        list(pool.run(_die, iter(range(3))))
    assert lost.value.code == "pool.worker_lost"


def test_without_a_pool_everything_is_done_here() -> None:
    assert list(InlinePool().run(_where, iter(range(3)))) == [(number, os.getpid()) for number in range(3)]


def test_what_fails_in_a_worker_is_raised_here() -> None:
    with ProcessPool(1) as pool, pytest.raises(ValueError, match="7"):
        list(pool.run(_fail, [7]))
