"""Callers at the same time share a unit of work, and none of them pays for what another sent."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from assay.flows.shared_unit import SharedUnit
from assay.kernel.errors import Error
from assay.ports.database import Database, Unit
from tests.contract._kit import SqliteKit
from tests.contract._records import ACME, note
from tests.contract.test_append import entries_of
from tests.flows._together import held, together, wait_until


class _OddError(Error):
    """What this test's journey refuses."""

    code = "test.odd"


class _BrokenError(Exception):
    """What makes a whole unit fail."""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = SqliteKit(tmp_path / "assay.db").open()
    yield opened
    opened.close()


class _Even:
    """Notes even numbers, refuses odd ones, and remembers who came together."""

    def __init__(self, broken: int | None = None) -> None:
        self.calls: list[list[int]] = []
        self._broken = broken

    def __call__(self, unit: Unit, numbers: Sequence[int]) -> list[int | Error]:
        self.calls.append(list(numbers))
        answers: list[int | Error] = []
        for number in numbers:
            if number % 2:
                answers.append(_OddError(f"expected an even number, got {number}"))
                continue
            answers.append(unit.record(note(number)).sequence_number)
        if self._broken in numbers:
            raise _BrokenError
        return answers


def test_those_who_wait_share_one_unit_and_each_has_its_own_answer(database: Database) -> None:
    shared, run = SharedUnit(), _Even()
    jobs: list[Callable[[], object]] = [lambda n=n: shared.write(database, n, run) for n in range(6)]  # type: ignore[misc]  # bound at once
    done = together(database, shared, jobs)
    assert sorted(run.calls[0]) == list(range(6))
    assert len(run.calls) == 1
    assert [isinstance(one, _OddError) for one in done] == [False, True] * 3
    assert sorted(one for one in done if isinstance(one, int)) == [1, 2, 3]
    assert len(entries_of(database)) == 3


def test_a_unit_that_fails_is_given_up_and_each_goes_alone(database: Database) -> None:
    """Nothing of the first try remains, and only the guilty one is told."""
    shared, run = SharedUnit(), _Even(broken=4)
    jobs: list[Callable[[], object]] = [lambda n=n: shared.write(database, n, run) for n in (0, 2)]  # type: ignore[misc]  # bound at once

    def guilty() -> object:
        with pytest.raises(_BrokenError):
            shared.write(database, 4, run)
        return "told"

    done = together(database, shared, [*jobs, guilty])
    assert done[2] == "told"
    assert sorted(one for one in done[:2] if isinstance(one, int)) == [1, 2]
    assert sorted(run.calls[0]) == [0, 2, 4]
    assert sorted(run.calls[1:]) == [[0], [2], [4]]
    assert len(entries_of(database)) == 2


def test_who_brings_several_jobs_has_the_answer_to_each_beside_others(database: Database) -> None:
    """A refused one costs neither its neighbours nor those who came meanwhile anything."""
    shared, run = SharedUnit(), _Even()

    told: dict[str, Sequence[int | Error]] = {}

    def several(name: str, *numbers: int) -> Callable[[], object]:
        return lambda: told.update({name: shared.write_all(database, numbers, run, weight=len(numbers))})

    together(database, shared, [several("amira", 0, 1, 2), several("sam", 4), several("olga", 6)])
    assert len(run.calls) == 1
    first, odd, third = told["amira"]
    assert isinstance(odd, _OddError)
    # Those of one caller are answered in the order in which they were brought.
    assert isinstance(first, int)
    assert third == first + 1
    assert {first, third, *told["sam"], *told["olga"]} == {1, 2, 3, 4}


def test_the_jobs_of_one_caller_stay_together_where_the_unit_is_given_up(database: Database) -> None:
    shared, run = SharedUnit(), _Even(broken=4)

    def guilty() -> object:
        with pytest.raises(_BrokenError):
            shared.write_all(database, [2, 4], run, weight=2)
        return "told"

    told = together(database, shared, [lambda: shared.write_all(database, [0, 6], run, weight=2), guilty])
    assert told == [[1, 2], "told"]
    assert sorted(run.calls[1:]) == [[0, 6], [2, 4]]
    assert len(entries_of(database)) == 2


def test_who_is_alone_is_told_at_once_what_went_wrong(database: Database) -> None:
    shared, run = SharedUnit(), _Even(broken=4)
    with pytest.raises(_BrokenError):
        shared.write(database, 4, run)
    assert run.calls == [[4]]
    assert shared.write(database, 2, run) == 1


def test_other_journeys_and_more_than_fits_begin_a_unit_of_their_own(database: Database) -> None:
    shared, first, second = SharedUnit(at_most=2), _Even(), _Even()
    callers = [(0, first, (1, 1)), (2, first, (1, 2)), (4, first, (2, 1)), (6, second, (3, 1))]
    threads: list[threading.Thread] = []
    with held(database):
        for number, run, waiting in callers:
            threads.append(threading.Thread(target=shared.write, args=(database, number, run)))
            threads[-1].start()
            # Units in the writer's queue, and callers who have joined the last of them.
            wait_until(lambda waiting=waiting: (database.facts().queue_length, shared.queue_length) == waiting)  # type: ignore[misc]  # bound at once
    for thread in threads:
        thread.join()
    assert (first.calls, second.calls) == ([[0, 2], [4]], [[6]])
    assert database.read(lambda unit: unit.ledger.head(ACME)).sequence_number == 4


def test_who_is_interrupted_while_asleep_holds_up_nobody(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sleepers wake one another, two at a time: those behind one who is gone are woken all the same."""
    monkeypatch.setattr("assay.flows.shared_unit._WOKEN_AT_ONCE", 1)
    shared, run = SharedUnit(), _Even()
    done: list[int] = []

    def write(number: int) -> None:
        done.append(shared.write(database, number, run))

    threads = [threading.Thread(target=write, args=(number,)) for number in (0, 4, 6)]

    def interrupt() -> None:
        wait_until(lambda: shared.queue_length == 2)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    with held(database):
        threads[0].start()
        wait_until(lambda: shared.queue_length == 1)
        killer = threading.Thread(target=interrupt)
        killer.start()
        with pytest.raises(KeyboardInterrupt):
            shared.write(database, 2, run)
        killer.join()
        for thread in threads[1:]:
            thread.start()
        wait_until(lambda: shared.queue_length == 4)
    for thread in threads:
        thread.join(timeout=30)
    assert not any(thread.is_alive() for thread in threads)
    assert len(done) == 3
    assert [sorted(call) for call in run.calls] == [[0, 2, 4, 6]]
