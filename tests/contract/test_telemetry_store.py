"""Known telemetry stays known; the buffer gives up what is too old, and only that."""

from datetime import timedelta

import pytest

from assay.kernel.instant import Instant
from assay.ports.database import Database
from assay.ports.telemetry_store import BufferExtent
from tests.contract._kit import AT, refused
from tests.contract._records import ACME, GLOBEX
from tests.contract._verdicts import buffered, drop, known


def _at(seconds: float) -> Instant:
    return Instant(AT + timedelta(seconds=seconds))


def test_an_id_is_known_once(database: Database) -> None:
    database.write(lambda unit: unit.telemetry.add_known(ACME, known()))
    assert database.read(lambda unit: unit.telemetry.find_known(ACME, "t-1")) == known()
    assert database.read(lambda unit: unit.telemetry.find_known(GLOBEX, "t-1")) is None
    with refused("store.conflict"):
        database.write(lambda unit: unit.telemetry.add_known(ACME, known(number=9)))


def test_many_ids_become_known_at_once_or_none_of_them(database: Database) -> None:
    three = [known(f"t-{n}", number=n) for n in (1, 2, 3)]
    database.write(lambda unit: unit.telemetry.add_known_many(ACME, three))
    asked = ["t-3", "t-1", "t-9", "t-1", *(f"x-{n}" for n in range(600))]
    found = database.read(lambda unit: unit.telemetry.find_known_many(ACME, asked))
    assert sorted(one.telemetry_id for one in found) == ["t-1", "t-3"]
    assert three[0] in found
    assert database.read(lambda unit: unit.telemetry.find_known_many(GLOBEX, asked)) == ()
    with refused("store.conflict"):
        database.write(lambda unit: unit.telemetry.add_known_many(ACME, [known("t-4"), *three]))
    with refused("store.key_length"):
        database.write(lambda unit: unit.telemetry.add_known_many(ACME, [known("t-5"), known("x" * 1025)]))
    with refused("store.unstorable_text"):
        database.write(lambda unit: unit.telemetry.add_known_many(ACME, [known("t-6"), known("\0")]))
    assert database.read(lambda unit: len(list(unit.telemetry.known(ACME)))) == 3
    database.write(lambda unit: unit.telemetry.add_known_many(ACME, []))


def test_the_ends_of_many_subjects_are_those_of_each(database: Database) -> None:
    rows = [buffered(f"t-{n}", subject=f"s-{n % 3}", at=_at(n)) for n in range(9)]
    database.write(lambda unit: unit.telemetry.buffer_many(ACME, rows))
    with refused("store.conflict"):
        database.write(lambda unit: unit.telemetry.buffer_many(ACME, rows[-1:]))
    names = ["s-2", "s-0", "none", "s-1", "s-0"]
    found = database.read(lambda unit: unit.telemetry.find_ends_many(ACME, names))
    assert found == {"s-0": (_at(0), _at(6)), "s-1": (_at(1), _at(7)), "s-2": (_at(2), _at(8))}
    alone = database.read(lambda unit: {name: unit.telemetry.find_ends(ACME, name) for name in names})
    assert {name: found.get(name) for name in names} == alone
    assert database.read(lambda unit: unit.telemetry.find_ends_many(GLOBEX, names)) == {}


def test_a_window_is_open_at_its_beginning_and_closed_at_its_end(database: Database) -> None:
    """(since, until], by the record's own time; another subject and another tenant are not looked at."""
    for name, second in (("late", 30), ("a", 0), ("half", 0.5), ("b", 10)):
        database.write(
            lambda unit, name=name, second=second: unit.telemetry.buffer(  # type: ignore[misc]  # bound at once
                ACME, buffered(name, at=_at(second))
            )
        )
    database.write(lambda unit: unit.telemetry.buffer(ACME, buffered("x", subject="other")))
    database.write(lambda unit: unit.telemetry.buffer(GLOBEX, buffered("y")))

    def names(since: Instant | None, until: Instant) -> list[str]:
        rows = database.read(lambda unit: unit.telemetry.buffered(ACME, "stack", since=since, until=until))
        return [row.telemetry_id for row in rows]

    assert names(None, _at(10)) == ["a", "half", "b"]
    assert names(_at(0), _at(10)) == ["half", "b"]
    assert names(_at(0.5), _at(30)) == ["b", "late"]


@pytest.mark.clause("ski", "9.2")
def test_the_state_of_the_buffer_can_be_told(database: Database) -> None:
    for name, second in (("a", 0), ("b", 10)):
        database.write(
            lambda unit, name=name, second=second: unit.telemetry.buffer(  # type: ignore[misc]  # bound at once
                ACME, buffered(name, at=_at(second))
            )
        )
    extent = BufferExtent(subject="stack", records=2, oldest_at=_at(0), newest_at=_at(10))
    assert database.read(lambda unit: unit.telemetry.extent(ACME, "stack")) == extent
    assert database.read(lambda unit: unit.telemetry.extents(ACME)) == (extent,)
    assert database.read(lambda unit: unit.telemetry.find_ends(ACME, "stack")) == (_at(0), _at(10))
    empty = BufferExtent(subject="none", records=0, oldest_at=None, newest_at=None)
    assert database.read(lambda unit: unit.telemetry.extent(ACME, "none")) == empty
    assert database.read(lambda unit: unit.telemetry.find_ends(ACME, "none")) is None


def test_what_is_dropped_leaves_the_buffer_and_the_drop_stays_on_record(database: Database) -> None:
    for name, second in (("a", 0), ("b", 10), ("c", 20)):
        database.write(
            lambda unit, name=name, second=second: unit.telemetry.buffer(  # type: ignore[misc]  # bound at once
                ACME, buffered(name, at=_at(second))
            )
        )
    assert database.write(lambda unit: unit.telemetry.drop(ACME, "stack", until=_at(15))) == (2, _at(10))
    assert database.write(lambda unit: unit.telemetry.drop(ACME, "stack", until=_at(15))) == (0, None)
    assert database.read(lambda unit: unit.telemetry.extent(ACME, "stack")).records == 1
    assert database.read(lambda unit: unit.telemetry.dropped_until(ACME, "stack")) is None
    for one in (drop(5, until=_at(10)), drop(6, until=_at(5))):
        database.write(lambda unit, one=one: unit.telemetry.add_drop(ACME, one))  # type: ignore[misc]  # bound at once
    assert database.read(lambda unit: unit.telemetry.dropped_until(ACME, "stack")) == _at(10)
    assert database.read(lambda unit: unit.telemetry.dropped_until(ACME, "other")) is None
