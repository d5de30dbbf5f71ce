"""Many read at once, also within their own reading: as many as there are places, and the others in their turn."""

import threading
from concurrent.futures import ThreadPoolExecutor

from assay.ports.database import Database, Unit
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


def test_readers_that_have_no_place_have_their_turn(database: Database) -> None:
    database.append(note(1))
    with ThreadPoolExecutor(64) as pool:
        told = list(pool.map(lambda _: database.read(lambda unit: unit.ledger.head(ACME).sequence_number), range(200)))
    assert told == [1] * 200
