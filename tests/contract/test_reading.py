"""Many read at once, also within their own reading: as many as there are places, and the others in their turn."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from assay.kernel.errors import Error
from assay.ports.database import Database, Unit
from assay.ports.ledger_store import StoredEntry
from tests.contract._records import ACME, note

_SECONDS = 30.0
# As many as either database has places for, each of which reads once more inside.
_READERS = {"sqlite": 32, "postgresql": 16}


def test_as_many_readers_as_there_are_places_read_within_their_reading(database: Database) -> None:
    """All of them hold a place before any of them asks for more; nobody waits for ever."""
    database.append(note(1))
    count = _READERS[database.facts().engine]
    all_here = threading.Barrier(count)

    def head(unit: Unit) -> int:
        return unit.ledger.head(ACME).sequence_number

    def read(unit: Unit) -> tuple[int, int]:
        all_here.wait(_SECONDS)
        return head(unit), database.read(head)

    with ThreadPoolExecutor(count) as pool:
        told = [one.result(_SECONDS) for one in [pool.submit(database.read, read) for _ in range(count)]]
    assert told == [(1, 1)] * count


def test_what_was_not_read_to_its_end_holds_no_later_reader_back(database: Database) -> None:
    """Whoever stops in the middle may still hold what they read from; the next reader sees what is there by then."""
    for number in (1, 2, 3):
        database.append(note(number))
    held: list[Iterator[StoredEntry]] = []

    def stop_early(unit: Unit) -> int:
        entries = unit.ledger.entries(ACME)
        held.append(entries)
        return next(entries).sequence_number

    assert database.read(stop_early) == 1
    database.append(note(4))
    assert database.read(lambda unit: unit.ledger.head(ACME).sequence_number) == 4
    with pytest.raises((Error, psycopg.Error)):
        list(held[0])


def test_readers_that_have_no_place_have_their_turn(database: Database) -> None:
    database.append(note(1))
    with ThreadPoolExecutor(64) as pool:
        told = list(pool.map(lambda _: database.read(lambda unit: unit.ledger.head(ACME).sequence_number), range(200)))
    assert told == [1] * 200
