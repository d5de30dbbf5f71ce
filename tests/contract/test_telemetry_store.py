"""A record is known by its first verdict; windows look back at what is later than the last drop."""

from datetime import timedelta

import pytest

from assay.kernel.instant import Instant
from assay.ports.database import Database
from assay.ports.telemetry_store import BufferEnds, BufferExtent
from assay.ports.verdict_store import VerdictRow
from tests.contract._kit import AT
from tests.contract._records import ACME, GLOBEX
from tests.contract._unchecked import put
from tests.contract._verdicts import drop, judged


def _at(seconds: float) -> Instant:
    return Instant(AT + timedelta(seconds=seconds))


def _add(unchecked: Database, *rows: VerdictRow) -> None:
    unchecked.write(lambda unit: put(unit, ACME, *rows))


def _old(unchecked: Database, until: Instant) -> list[str]:
    rows = unchecked.read(lambda unit: unit.telemetry.old(ACME, "stack", until=until))
    return [row.telemetry_id for row in rows]


def test_the_ends_of_many_subjects_are_those_of_each(unchecked: Database) -> None:
    _add(unchecked, *(judged(n + 1, telemetry_id=f"t-{n}", subject=f"s-{n % 3}", as_of=_at(n)) for n in range(9)))
    unchecked.write(lambda unit: put(unit, ACME, drop(20, until=_at(4), subject="s-1")))
    names = ["s-2", "s-0", "none", "s-1", "s-0"]
    found = unchecked.read(lambda unit: unit.telemetry.find_ends(ACME, names))
    assert found == {
        "s-0": BufferEnds(_at(0), _at(6)),
        "s-1": BufferEnds(_at(7), _at(7), _at(4)),
        "s-2": BufferEnds(_at(2), _at(8)),
        "none": BufferEnds(),
    }
    alone = unchecked.read(lambda unit: {name: unit.telemetry.find_ends(ACME, [name])[name] for name in names})
    assert found == alone
    assert set(unchecked.read(lambda unit: unit.telemetry.find_ends(GLOBEX, names)).values()) == {BufferEnds()}


def test_records_are_kept_that_are_later_than_the_last_drop(unchecked: Database) -> None:
    """By the record's own time; another subject, another tenant and what settled a held verdict are not looked at."""
    times = {"late": 30, "a": 0, "half": 0.5, "b": 10}
    rows = [judged(n, telemetry_id=name, as_of=_at(times[name])) for n, name in enumerate(times, 1)]
    _add(unchecked, *rows, judged(10, telemetry_id="x", subject="other"), judged(11, telemetry_id="f", held_entry=1))
    unchecked.write(lambda unit: put(unit, GLOBEX, judged(1, telemetry_id="y")))
    assert _old(unchecked, _at(10)) == ["a", "half", "b"]
    for one in (drop(20, until=_at(0)), drop(21, until=_at(-5))):
        unchecked.write(lambda unit, one=one: put(unit, ACME, one))  # type: ignore[misc]  # bound at once
    assert unchecked.read(lambda unit: unit.telemetry.dropped_until(ACME, "stack")) == _at(0)
    assert unchecked.read(lambda unit: unit.telemetry.dropped_until(ACME, "other")) is None
    assert _old(unchecked, _at(10)) == ["half", "b"]
    newest = unchecked.read(lambda unit: unit.telemetry.newest(ACME, "stack"))
    assert newest is not None
    assert newest.telemetry_id == "late"
    assert unchecked.read(lambda unit: unit.telemetry.newest(ACME, "none")) is None


@pytest.mark.clause("ski", "9.2")
def test_the_state_of_the_buffer_can_be_told(unchecked: Database) -> None:
    """A record with two rules counts once."""
    _add(
        unchecked,
        judged(1, telemetry_id="a", as_of=_at(0)),
        judged(2, telemetry_id="a", rule_id="second", as_of=_at(0)),
        judged(3, telemetry_id="b", as_of=_at(10)),
        judged(4, telemetry_id="c", subject="old"),
    )
    unchecked.write(lambda unit: put(unit, ACME, drop(9, until=_at(5), subject="old")))
    extent = BufferExtent(subject="stack", records=2, oldest_at=_at(0), newest_at=_at(10))
    assert unchecked.read(lambda unit: unit.telemetry.extents(ACME)) == (extent,)
    assert unchecked.read(lambda unit: unit.telemetry.extents(GLOBEX)) == ()
