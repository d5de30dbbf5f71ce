"""The outbox: events in their tenant's order, announced only when they are durable."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from assay.kernel.ids import TenantId
from assay.ports.database import Database, Unit
from tests.contract._kit import AT, Kit
from tests.contract._records import ACME, GLOBEX, note


class _News:
    """Collects what a subscriber is told, and waits for it."""

    def __init__(self) -> None:
        self.told: list[tuple[TenantId, int]] = []
        self._arrived = threading.Condition()

    def __call__(self, tenant_id: TenantId, position: int) -> None:
        with self._arrived:
            self.told.append((tenant_id, position))
            self._arrived.notify_all()

    def wait_for(self, news: tuple[TenantId, int]) -> None:
        with self._arrived:
            assert self._arrived.wait_for(lambda: news in self.told, timeout=20), self.told


@contextmanager
def _subscribed(database: Database) -> Iterator[_News]:
    news = _News()
    unsubscribe = database.subscribe(news)
    yield news
    unsubscribe()


def test_positions_count_up_without_gaps_per_tenant_also_after_reopening(kit: Kit) -> None:
    first = kit.open()
    for one in [first.submit(note(number, events=number % 3)) for number in range(10)]:
        one.result()
    first.append(note(0, GLOBEX, events=2))
    first.close()
    second = kit.open()
    second.append(note(10, events=1))
    mine = second.read(lambda unit: unit.outbox.events(ACME, after=0, limit=100))
    theirs = second.read(lambda unit: unit.outbox.events(GLOBEX, after=0, limit=100))
    second.close()
    assert [event.position for event in mine] == list(range(1, 11))
    assert [event.position for event in theirs] == [1, 2]
    assert [event.ledger_sequence for event in mine] == [2, 3, 3, 5, 6, 6, 8, 9, 9, 11]


def test_an_event_comes_back_as_it_was_written(database: Database) -> None:
    database.append(note(7, events=2))
    first, second = database.read(lambda unit: unit.outbox.events(ACME, after=0, limit=10))
    assert (first.type, first.subject, first.occurred_at) == ("assay.test", "7/0", AT)
    assert bytes(second.body) == b'{"about":"7/1"}'


def test_reading_on_from_a_position_is_limited(database: Database) -> None:
    database.append(note(events=5))
    events = database.read(lambda unit: unit.outbox.events(ACME, after=2, limit=2))
    assert [event.position for event in events] == [3, 4]


def test_a_cursor_moves_forward_and_never_back(database: Database) -> None:
    for position, expected in ((3, 3), (2, 3), (3, 3), (9, 9)):

        def confirm(unit: Unit, position: int = position) -> int:
            unit.outbox.confirm(ACME, "reader", position)
            return unit.outbox.cursor(ACME, "reader")

        assert database.write(confirm) == expected
    assert database.read(lambda unit: unit.outbox.cursor(ACME, "other")) == 0
    assert database.read(lambda unit: unit.outbox.cursor(GLOBEX, "reader")) == 0


def test_subscribers_are_told_after_the_commit_and_can_read_what_they_were_told_of(database: Database) -> None:
    seen: list[int] = []
    done = threading.Event()

    def notify(tenant_id: TenantId, position: int) -> None:
        events = database.read(lambda unit: unit.outbox.events(tenant_id, after=0, limit=100))
        seen.append(len(events) - position)
        done.set()

    unsubscribe = database.subscribe(notify)
    database.append(note(events=3))
    assert done.wait(20)
    unsubscribe()
    assert seen == [0]


def test_entries_without_events_and_failed_units_are_no_news(database: Database) -> None:
    def fail(unit: Unit) -> None:
        unit.record(note(events=5))
        raise ValueError

    with _subscribed(database) as news:
        database.append(note(1))
        with pytest.raises(ValueError):  # noqa: PT011 - the unit's own
            database.write(fail)
        database.append(note(2, events=1))
        news.wait_for((ACME, 1))
        assert news.told == [(ACME, 1)]


def test_whoever_unsubscribed_hears_nothing_more(database: Database) -> None:
    with _subscribed(database) as early:
        database.append(note(events=1))
        early.wait_for((ACME, 1))
    with _subscribed(database) as late:
        database.append(note(events=1))
        late.wait_for((ACME, 2))
    assert early.told == [(ACME, 1)]


def test_a_subscriber_that_fails_stops_neither_the_others_nor_the_writer(database: Database) -> None:
    def fail(_tenant_id: TenantId, _position: int) -> None:
        raise RuntimeError("a subscriber's own mistake")

    unsubscribe = database.subscribe(fail)
    with _subscribed(database) as news:
        database.append(note(1, events=1))
        database.append(note(2, events=1))
        news.wait_for((ACME, 2))
    unsubscribe()
    assert database.append(note(3)).sequence_number == 3
