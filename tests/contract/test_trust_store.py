"""Trust's memory: a log of signals in its order, policies registered once, and marks that may be replaced."""

from itertools import islice

import pytest
from msgspec.structs import replace

from assay.ports.database import Database, Unit
from tests.contract._kit import refused
from tests.contract._records import ACME, ALICE, BOB, GLOBEX
from tests.contract._truth import hash_of, mark, policy, signal
from tests.contract._unchecked import put


@pytest.fixture
def database(unchecked: Database) -> Database:
    """Rows of this store have no entries here."""
    return unchecked


def _log(database: Database, *numbers: int, agent_id: str = ALICE) -> None:
    def work(unit: Unit) -> None:
        for number in numbers:
            put(unit, ACME, signal(number, agent_id))

    database.write(work)


def _numbers(database: Database, *, after: int = 0, through: int | None = None, limit: int | None = None) -> list[int]:
    return database.read(
        lambda unit: [
            one.sequence_number for one in unit.trust.signals(ACME, after=after, through=through, limit=limit)
        ]
    )


def test_a_signal_comes_back_as_it_was_logged_and_its_id_is_used_once(database: Database) -> None:
    _log(database, 1)
    for again in (signal(1), signal(2, signal_id="signal-1"), signal(1, signal_id="other")):
        with refused("store.conflict"):
            database.write(lambda unit, again=again: put(unit, ACME, again))  # type: ignore[misc]  # bound at once
    database.write(lambda unit: put(unit, GLOBEX, signal(1)))
    assert database.read(lambda unit: unit.trust.find_signal(ACME, "signal-1")) == signal(1)
    assert database.read(lambda unit: unit.trust.find_signal(ACME, "signal-2")) is None
    assert database.read(lambda unit: list(unit.trust.signals(ACME))) == [signal(1)]


def test_signals_come_in_the_order_they_were_logged_within_the_bounds_asked_for(database: Database) -> None:
    _log(database, 9, 2, 5, 30, 11)
    database.write(lambda unit: put(unit, GLOBEX, signal(3)))
    assert _numbers(database) == [2, 5, 9, 11, 30]
    assert _numbers(database, after=5) == [9, 11, 30]
    assert _numbers(database, through=9) == [2, 5, 9]
    assert _numbers(database, after=2, through=11) == [5, 9, 11]
    assert _numbers(database, after=2, through=11, limit=2) == [5, 9]
    assert _numbers(database, limit=1) == [2]
    assert _numbers(database, after=30) == _numbers(database, through=1) == []


def test_signals_of_an_agent_are_read_page_by_page(database: Database) -> None:
    _log(database, 1, 4, 6, 8)
    _log(database, 2, 5, agent_id=BOB)

    def numbers(agent_id: str, after: int = 0, limit: int = 100) -> list[int]:
        return database.read(
            lambda unit: [
                one.sequence_number for one in unit.trust.signals_of(ACME, agent_id, after=after, limit=limit)
            ]
        )

    assert numbers(ALICE) == [1, 4, 6, 8]
    assert numbers(ALICE, limit=2) == [1, 4]
    assert numbers(ALICE, after=4, limit=2) == [6, 8]
    assert numbers(BOB) == [2, 5]
    assert numbers("user:nobody") == []
    assert database.read(lambda unit: unit.trust.signals_of(GLOBEX, ALICE)) == ()


def test_a_fold_may_mark_its_way_and_log_more_while_signals_are_coming(database: Database) -> None:
    _log(database, *range(1, 1301))

    def work(unit: Unit) -> int:
        seen = 0
        for one in unit.trust.signals(ACME, through=1300):
            seen += 1
            if one.sequence_number % 300 == 0:
                unit.trust.put_mark(ACME, mark(one.sequence_number))
                put(unit, ACME, signal(2000 + one.sequence_number))
        return seen

    assert database.write(work) == 1300
    assert database.read(lambda unit: unit.trust.find_mark(ACME, hash_of("policy.v1"))) == mark(1200)
    assert _numbers(database, after=1300) == [2300, 2600, 2900, 3200]


def test_signals_are_not_all_fetched_before_the_first_is_handed_out(database: Database) -> None:
    _log(database, *range(1, 1101))

    def work(unit: Unit) -> list[int]:
        coming = unit.trust.signals(ACME)
        first = [one.sequence_number for one in islice(coming, 2)]
        return first + [one.sequence_number for one in islice(unit.trust.signals(ACME), 2)]

    assert database.read(work) == [1, 2, 1, 2]


def test_a_policy_is_registered_once_and_listed_in_the_order_of_registration(database: Database) -> None:
    given = [policy(7, "b"), policy(3, "c"), policy(9, "a")]

    def work(unit: Unit) -> None:
        for one in given:
            put(unit, ACME, one)

    database.write(work)
    for again in (given[0], replace(given[0], policy_hash="other", sequence_number=12), policy(7, "d")):
        with refused("store.conflict"):
            database.write(lambda unit, again=again: put(unit, ACME, again))  # type: ignore[misc]  # bound at once
    assert [one.policy_id for one in database.read(lambda unit: unit.trust.policies(ACME))] == ["c", "b", "a"]
    assert database.read(lambda unit: unit.trust.policies(GLOBEX)) == ()


def test_a_policy_is_found_by_its_hash_as_it_was_first_registered(database: Database) -> None:
    first = policy(2, "first")

    def work(unit: Unit) -> None:
        put(unit, ACME, replace(policy(5, "later"), policy_hash=first.policy_hash))
        put(unit, ACME, first)

    database.write(work)
    assert database.read(lambda unit: unit.trust.find_policy(ACME, first.policy_hash)) == first
    assert database.read(lambda unit: unit.trust.find_policy(ACME, hash_of("none"))) is None
    assert database.read(lambda unit: unit.trust.find_policy(GLOBEX, first.policy_hash)) is None


def test_a_mark_replaces_the_one_of_its_policy_and_no_other(database: Database) -> None:
    """Also by one that is behind it: a mark is a short cut and proves nothing."""

    def find(name: str = "policy.v1") -> object:
        return database.read(lambda unit: unit.trust.find_mark(ACME, hash_of(name)))

    assert find() is None
    for one in (mark(3), mark(9, '{"a":1}'), mark(2)):
        database.write(lambda unit, one=one: unit.trust.put_mark(ACME, one))  # type: ignore[misc]  # bound at once
        database.write(lambda unit: unit.trust.put_mark(ACME, mark(5, name="other")))
        database.write(lambda unit: unit.trust.put_mark(GLOBEX, mark(6)))
        assert find() == one
    assert find("other") == mark(5, name="other")


@pytest.mark.parametrize("text", ["x" * 1025, "é" * 513])
def test_names_too_long_for_an_index_are_refused(database: Database, text: str) -> None:
    for work in (
        lambda unit: put(unit, ACME, signal(1, signal_id=text)),
        lambda unit: put(unit, ACME, signal(1, text)),
        lambda unit: put(unit, ACME, policy(1, text)),
        lambda unit: unit.trust.put_mark(ACME, replace(mark(1), policy_hash=text)),
    ):
        with refused("store.key_length"):
            database.write(work)
    assert _numbers(database) == []


def test_texts_that_no_database_could_keep_are_refused(database: Database) -> None:
    for work in (
        lambda unit: put(unit, ACME, replace(signal(1), text="\0")),
        lambda unit: put(unit, ACME, replace(policy(), document="\ud800")),
        lambda unit: unit.trust.put_mark(ACME, mark(1, "\0")),
    ):
        with refused("store.unstorable_text"):
            database.write(work)
