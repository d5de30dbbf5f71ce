"""Indexes of the ledger in store: stretches in order, and the one page on which a key is found."""

import pytest

from assay.ports.database import Database, Unit
from tests.contract._index import pages, record_segment, segment
from tests.contract._kit import refused
from tests.contract._records import ACME, GLOBEX, note

_SECOND = segment(20, first=9, last=19, previous=9)


@pytest.fixture
def indexed(database: Database) -> Database:
    database.write(lambda unit: [unit.record(note(number)) for number in range(8)])
    assert database.write(lambda unit: record_segment(unit, segment(), pages())) == segment().sequence_number
    database.write(lambda unit: [unit.record(note(number)) for number in range(10)])
    assert database.write(lambda unit: record_segment(unit, _SECOND, pages(20)[:1])) == _SECOND.sequence_number
    return database


def test_segments_come_in_order_and_from_an_entry_on(indexed: Database) -> None:
    def look(unit: Unit) -> None:
        assert unit.index.segments(ACME) == (segment(), _SECOND)
        assert unit.index.segments(ACME, ending_after=8) == (_SECOND,)
        assert unit.index.segments(ACME, ending_after=19) == ()
        assert unit.index.find_latest(ACME) == _SECOND
        assert unit.index.segments(GLOBEX) == ()
        assert unit.index.find_latest(GLOBEX) is None

    indexed.read(look)


def test_a_key_is_looked_for_on_the_page_that_begins_before_it(indexed: Database) -> None:
    """Bytes sort as they are, also above 127; before the first page there is none."""
    first, second, third = pages()

    def look(unit: Unit) -> None:
        found = {key: unit.index.find_page(ACME, 9, bytes([key]) * 16) for key in (1, 16, 31, 32, 200, 255)}
        assert found == {1: None, 16: first, 31: first, 32: second, 200: third, 255: third}
        assert unit.index.find_page(GLOBEX, 9, b"\xff" * 16) is None

    indexed.read(look)


def test_pages_and_their_roots_come_in_order(indexed: Database) -> None:
    def look(unit: Unit) -> None:
        assert unit.index.pages(ACME, 9) == pages()
        assert unit.index.page_roots(ACME, 9) == tuple(page.root for page in pages())
        assert unit.index.get_page(ACME, 9, 1) == pages()[1]
        assert unit.index.pages(GLOBEX, 9) == ()
        with refused("store.damaged_record"):
            unit.index.get_page(ACME, 9, 3)

    indexed.read(look)


def test_no_stretch_is_indexed_twice(indexed: Database) -> None:
    for again in (segment(), segment(21, first=9, last=19, previous=9)):
        with refused("store.conflict"):
            indexed.write(lambda unit, again=again: record_segment(unit, again, ()))  # type: ignore[misc]  # bound at once
    assert indexed.read(lambda unit: len(unit.index.segments(ACME))) == 2
