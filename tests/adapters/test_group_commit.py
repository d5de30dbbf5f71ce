"""Group commit: nobody is told yes before the commit that covers the write, and nobody after one has failed."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from assay.adapters.group_commit import BusyError, CommitFailedError, GroupCommit
from assay.adapters.waiting import Waiting
from assay.kernel.errors import StoreError
from tests.adapters._memory_engine import POISON, MemoryEngine
from tests.contract._kit import refused

_SECONDS = 20.0


@pytest.fixture
def engine() -> MemoryEngine:
    return MemoryEngine()


@pytest.fixture
def commits(engine: MemoryEngine) -> Iterator[GroupCommit]:
    """A writer with a small queue; freed at the end whatever the test left blocked."""
    writer = GroupCommit(engine, capacity=3, max_batch=2, patience=0.05)
    yield writer
    engine.may_commit.set()
    writer.close()


def _block(engine: MemoryEngine, commits: GroupCommit) -> Waiting[Any]:
    """One write that is inside its commit, and stays there."""
    engine.may_commit.clear()
    waiting = commits.submit("first")
    assert engine.is_committing.wait(_SECONDS)
    return waiting


def test_nobody_is_told_before_the_commit_returns(engine: MemoryEngine, commits: GroupCommit) -> None:
    waiting = _block(engine, commits)
    with pytest.raises(TimeoutError):
        waiting.result(0.05)
    assert engine.durable == []
    engine.may_commit.set()
    assert waiting.result(_SECONDS) == "first"
    assert engine.durable == ["first"]


def test_whoever_waits_meanwhile_shares_the_next_commit(engine: MemoryEngine, commits: GroupCommit) -> None:
    """In the order of arrival, and never more than a batch holds."""
    _block(engine, commits)
    more = [commits.submit(name) for name in ("a", "b", "c")]
    engine.may_commit.set()
    assert [one.result(_SECONDS) for one in more] == ["a", "b", "c"]
    assert engine.durable == ["first", "a", "b", "c"]
    assert engine.batches == [1, 2, 1]
    assert (commits.commits, commits.writes) == (3, 4)


def test_a_full_queue_refuses_and_keeps_whom_it_accepted(engine: MemoryEngine, commits: GroupCommit) -> None:
    first = _block(engine, commits)
    accepted = [commits.submit(name) for name in ("a", "b", "c")]
    assert commits.queue_length == 3
    with refused("store.busy"):
        commits.submit("d")
    engine.may_commit.set()
    assert [one.result(_SECONDS) for one in (first, *accepted)] == ["first", "a", "b", "c"]
    assert "d" not in engine.durable


def test_a_caller_waiting_for_room_gets_in_when_there_is_some(engine: MemoryEngine) -> None:
    commits = GroupCommit(engine, capacity=1, max_batch=1, patience=_SECONDS)
    _block(engine, commits)
    commits.submit("a")
    answers: list[object] = []
    patient = threading.Thread(target=lambda: answers.append(commits.submit("b").result(_SECONDS)))
    patient.start()
    engine.may_commit.set()
    patient.join(_SECONDS)
    assert answers == ["b"]
    commits.close()


def test_a_job_that_fails_is_its_callers_answer_and_nobody_elses(engine: MemoryEngine, commits: GroupCommit) -> None:
    _block(engine, commits)
    bad, good = commits.submit(ValueError("mine")), commits.submit("good")
    engine.may_commit.set()
    with pytest.raises(ValueError, match="mine"):
        bad.result(_SECONDS)
    assert good.result(_SECONDS) == "good"


def test_a_batch_in_which_every_job_failed_is_rolled_back(engine: MemoryEngine, commits: GroupCommit) -> None:
    with pytest.raises(ValueError, match="mine"):
        commits.submit(ValueError("mine")).result(_SECONDS)
    assert engine.rollbacks == 1
    assert commits.submit("next").result(_SECONDS) == "next"


class _DiskError(StoreError):
    """An engine's own error."""

    code = "store.test_disk"


@pytest.mark.parametrize(
    ("failure", "code"), [(OSError("disk"), "store.commit_failed"), (_DiskError("disk"), "store.test_disk")]
)
def test_after_a_failed_commit_nobody_is_told_yes_ever_again(
    engine: MemoryEngine, commits: GroupCommit, failure: Exception, code: str
) -> None:
    """After a failed flush the system may have dropped what it could not write, so trying again could lie."""
    engine.fail_commit = failure
    first = _block(engine, commits)
    queued = [commits.submit(name) for name in ("a", "b")]
    engine.may_commit.set()
    with refused(code):
        first.result(_SECONDS)
    for one in queued:
        with refused("store.writer_stopped"):
            one.result(_SECONDS)
    engine.fail_commit = None
    with refused("store.writer_stopped"):
        commits.submit("later")
    assert engine.durable == []
    assert engine.rollbacks == 1


def test_the_cause_of_a_failed_commit_is_kept(engine: MemoryEngine, commits: GroupCommit) -> None:
    engine.fail_commit = OSError("no space left")
    with pytest.raises(CommitFailedError, match="no space left") as caught:
        commits.submit("x").result(_SECONDS)
    assert caught.value.__cause__ is engine.fail_commit


def test_a_transaction_that_cannot_begin_stops_the_writer(engine: MemoryEngine, commits: GroupCommit) -> None:
    engine.fail_begin = OSError("connection lost")
    with refused("store.commit_failed"):
        commits.submit("x").result(_SECONDS)
    with refused("store.writer_stopped"):
        commits.submit("y")


def test_a_database_that_others_keep_locked_refuses_the_batch_and_nobody_after_it(
    engine: MemoryEngine, commits: GroupCommit
) -> None:
    """Nothing was begun, so nothing is in doubt."""
    engine.fail_begin = BusyError("locked")
    with refused("store.busy"):
        commits.submit("x").result(_SECONDS)
    engine.fail_begin = None
    assert commits.submit("y").result(_SECONDS) == "y"
    assert engine.durable == ["y"]


def test_values_that_the_database_refuses_are_their_owners_fault_alone(engine: MemoryEngine) -> None:
    commits = GroupCommit(engine, max_batch=9)
    first = _block(engine, commits)
    waiting = [commits.submit(name) for name in ("a", POISON, "b")]
    engine.may_commit.set()
    assert first.result(_SECONDS) == "first"
    assert [waiting[0].result(_SECONDS), waiting[2].result(_SECONDS)] == ["a", "b"]
    with refused("store.row_refused"):
        waiting[1].result(_SECONDS)
    assert commits.submit("later").result(_SECONDS) == "later"
    assert engine.durable == ["first", "a", "b", "later"]
    commits.close()


def test_a_commit_that_fails_while_a_batch_goes_one_by_one_stops_the_writer(engine: MemoryEngine) -> None:
    """Who was told yes before that keeps it; nobody after it is told yes."""
    commits = GroupCommit(engine, max_batch=9)
    first = _block(engine, commits)
    waiting = [commits.submit(name) for name in ("a", POISON, "b")]

    def break_down() -> None:
        engine.fail_commit = OSError("disk")

    waiting[1].add_done_callback(break_down)
    engine.may_commit.set()
    assert (first.result(_SECONDS), waiting[0].result(_SECONDS)) == ("first", "a")
    with refused("store.row_refused"):
        waiting[1].result(_SECONDS)
    with refused("store.commit_failed"):
        waiting[2].result(_SECONDS)
    with refused("store.writer_stopped"):
        commits.submit("later").result(_SECONDS)
    commits.close()


def test_a_queue_is_full_by_its_bytes_too(engine: MemoryEngine) -> None:
    commits = GroupCommit(engine, capacity_bytes=100, patience=0.05)
    _block(engine, commits)
    accepted = [commits.submit("a", size=60), commits.submit("b", size=60)]
    with refused("store.busy"):
        commits.submit("c", size=1)
    engine.may_commit.set()
    assert [one.result(_SECONDS) for one in accepted] == ["a", "b"]
    assert commits.submit("d", size=99).result(_SECONDS) == "d"
    commits.close()


def test_a_rollback_that_fails_too_changes_nothing_for_the_callers(engine: MemoryEngine, commits: GroupCommit) -> None:
    def fail() -> None:
        raise OSError("also gone")

    engine.rollback = fail  # type: ignore[method-assign]  # the fault
    engine.fail_commit = OSError("gone")
    with refused("store.commit_failed"):
        commits.submit("x").result(_SECONDS)


def test_closing_serves_the_queue_and_refuses_the_rest(engine: MemoryEngine, commits: GroupCommit) -> None:
    first = _block(engine, commits)
    queued = commits.submit("a")
    closing = threading.Thread(target=commits.close)
    closing.start()
    engine.may_commit.set()
    closing.join(_SECONDS)
    assert (first.result(0), queued.result(0)) == ("first", "a")
    with refused("store.closed"):
        commits.submit("b")


def test_a_thread_begun_after_the_close_is_told_so(engine: MemoryEngine) -> None:
    """The system gives it the number of the writer's thread, which has ended."""
    commits = GroupCommit(engine)
    commits.close()
    codes: list[str] = []

    def call() -> None:
        try:
            commits.submit("late")
        except StoreError as error:
            codes.append(error.code)

    late = threading.Thread(target=call)
    late.start()
    late.join(_SECONDS)
    assert codes == ["store.closed"]


def test_whoever_waits_for_room_is_told_when_the_writer_closes(engine: MemoryEngine) -> None:
    commits = GroupCommit(engine, capacity=1, max_batch=1, patience=_SECONDS)
    _block(engine, commits)
    commits.submit("a")
    codes: list[str] = []

    def wait() -> None:
        try:
            commits.submit("b").result(_SECONDS)
        except StoreError as error:
            codes.append(error.code)
        else:
            codes.append("served")

    patient = threading.Thread(target=wait)
    patient.start()
    closing = threading.Thread(target=commits.close)
    closing.start()
    engine.may_commit.set()
    patient.join(_SECONDS)
    closing.join(_SECONDS)
    # It was let in before the close, or told that the database is closed: never left waiting, never told busy.
    assert codes in (["store.closed"], ["served"])


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_a_callback_is_called_once_whether_given_before_or_after_the_answer(
    engine: MemoryEngine, commits: GroupCommit, *, late: bool
) -> None:
    called: list[int] = []
    done = threading.Event()

    def callback() -> None:
        called.append(1)
        done.set()

    waiting = _block(engine, commits)
    if late:
        engine.may_commit.set()
        waiting.result(_SECONDS)
    waiting.add_done_callback(callback)
    engine.may_commit.set()
    assert done.wait(_SECONDS)
    commits.submit("next").result(_SECONDS)
    assert called == [1]


def _raise(error: Exception) -> Callable[[], None]:
    def callback() -> None:
        raise error

    return callback


def test_a_callback_that_fails_is_its_owners_problem(engine: MemoryEngine, commits: GroupCommit) -> None:
    waiting = _block(engine, commits)
    waiting.add_done_callback(_raise(RuntimeError("mine")))
    engine.may_commit.set()
    assert waiting.result(_SECONDS) == "first"
    assert commits.submit("next").result(_SECONDS) == "next"


def test_subscribers_are_told_after_each_batch(engine: MemoryEngine, commits: GroupCommit) -> None:
    commits.submit("a").result(_SECONDS)
    commits.submit("b").result(_SECONDS)
    commits.close()
    assert engine.announced == 2
