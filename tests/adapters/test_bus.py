"""Events reach subscribers at least once, in order, and never at the cost of an append."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

import pytest
from msgspec import Raw

from assay.adapters.bus.inprocess import Bus, BusClosedError, SubscriptionTakenError
from assay.adapters.sqlite.database import SqliteDatabase
from assay.facts.table import PROJECTOR
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind, Event, draft_entry
from assay.ports.database import Database
from assay.ports.events import OutboxEvent
from tests.scale import scale
from tests.waiting import until

_AT = Instant(datetime(2026, 3, 1, 12, tzinfo=UTC))
_ACME, _OTHER = TenantId("acme"), TenantId("other")

# Handles one event, and dies before the cursor can be confirmed.
_DYING_SUBSCRIBER = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
from assay.adapters.bus.inprocess import Bus
from assay.adapters.sqlite.database import SqliteDatabase
from assay.facts.table import PROJECTOR

database = SqliteDatabase(Path(sys.argv[1]), PROJECTOR, at=datetime(2026, 3, 1, 12, tzinfo=UTC))

def handler(event):
    print(event.position, flush=True)
    if event.position == int(sys.argv[2]):
        os._exit(9)

Bus(database).subscribe("mailer", "acme", handler)
import threading
threading.Event().wait(20)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def database(path: Path) -> Iterator[SqliteDatabase]:
    opened = SqliteDatabase(path, PROJECTOR, at=_AT)
    yield opened
    opened.close()


class _Heard:
    """A subscriber that remembers, and fails as often as it is told to."""

    def __init__(self, *, failing: dict[int, int] | None = None) -> None:
        self.positions: list[int] = []
        self.calls: list[int] = []
        self._failing = dict(failing or {})

    def __call__(self, event: OutboxEvent) -> None:
        self.calls.append(event.position)
        if self._failing.get(event.position, 0) > 0:
            self._failing[event.position] -= 1
            message = f"not now: {event.position}"
            raise RuntimeError(message)
        self.positions.append(event.position)


def _append(database: Database, count: int, tenant_id: TenantId = _ACME) -> None:
    for number in range(count):
        event = Event(type="note.added", subject=f"note/{number}", body=Raw(b'{"number":%d}' % number))
        database.append(draft_entry(tenant_id, EntryKind.NOTE, {"number": number}, at=_AT, events=[event]))


def _cursor(database: Database, name: str = "mailer", tenant_id: TenantId = _ACME) -> int:
    return database.read(lambda unit: unit.outbox.cursor(tenant_id, name))


def test_a_new_subscriber_catches_up_and_then_hears_what_comes(database: SqliteDatabase) -> None:
    """First what was committed before it subscribed, then the rest, each once and in order."""
    _append(database, 5)
    heard, bus = _Heard(), Bus(database)
    bus.subscribe("mailer", _ACME, heard)
    until(lambda: len(heard.positions) == 5)
    _append(database, 5)
    until(lambda: len(heard.positions) == 10)
    assert heard.positions == list(range(1, 11))
    assert bus.close()
    assert _cursor(database) == 10


def test_an_event_carries_the_entry_it_was_committed_with(database: SqliteDatabase) -> None:
    """Type, subject, body and the ledger's sequence number arrive as they were committed."""
    events: list[OutboxEvent] = []
    bus = Bus(database)
    bus.subscribe("mailer", _ACME, events.append)
    _append(database, 1)
    until(lambda: bool(events))
    bus.close()
    assert (events[0].type, events[0].subject, bytes(events[0].body)) == ("note.added", "note/0", b'{"number":0}')
    assert events[0].ledger_sequence == 1


def test_many_callers_at_once_are_heard_in_the_order_of_their_commits(database: SqliteDatabase) -> None:
    """However appends race, positions arrive without gaps and without repeats."""
    heard, bus = _Heard(), Bus(database)
    bus.subscribe("mailer", _ACME, heard)
    each = scale(20, 500)
    threads = [threading.Thread(target=_append, args=(database, each)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until(lambda: len(heard.positions) == 8 * each)
    bus.close()
    assert heard.positions == list(range(1, 8 * each + 1))


def test_each_subscriber_hears_only_its_tenant_and_has_its_own_cursor(database: SqliteDatabase) -> None:
    """Two names on one tenant both hear everything; another tenant's events reach neither."""
    first, second, other, bus = _Heard(), _Heard(), _Heard(), Bus(database)
    bus.subscribe("first", _ACME, first)
    bus.subscribe("second", _ACME, second)
    bus.subscribe("first", _OTHER, other)
    _append(database, 3)
    _append(database, 2, _OTHER)
    until(lambda: (len(first.positions), len(second.positions), len(other.positions)) == (3, 3, 2))
    bus.close()
    assert [_cursor(database, name) for name in ("first", "second", "third")] == [3, 3, 0]
    assert _cursor(database, "first", _OTHER) == 2


def test_a_failing_handler_is_called_again_and_nothing_overtakes_it(database: SqliteDatabase) -> None:
    """Event 2 fails three times: 1 is confirmed, 2 comes again until it succeeds, 3 waits."""
    _append(database, 4)
    heard, bus = _Heard(failing={2: 3}), Bus(database, first_pause=0.001)
    subscription = bus.subscribe("mailer", _ACME, heard)
    until(lambda: len(heard.positions) == 4)
    bus.close()
    assert heard.positions == [1, 2, 3, 4]
    assert heard.calls == [1, 2, 2, 2, 2, 3, 4]
    facts = subscription.facts()
    assert (facts.failures, facts.last_error, facts.confirmed) == (3, "", 4)


def test_a_handler_that_keeps_failing_says_so_and_confirms_nothing_of_its_own(database: SqliteDatabase) -> None:
    """What succeeded before it is confirmed; the failing event stays due for the next start."""
    _append(database, 3)
    heard, bus = _Heard(failing={2: 10**9}), Bus(database, first_pause=0.001)
    bus.subscribe("mailer", _ACME, heard)
    until(lambda: bus.facts()[0].failures >= 3)
    assert bus.facts()[0].last_error == "RuntimeError: not now: 2"
    assert bus.close()
    assert _cursor(database) == 1


def test_a_slow_subscriber_never_slows_an_append(database: SqliteDatabase) -> None:
    """While a handler is stuck in its first event, appends go on and are acknowledged."""
    stuck, release = threading.Event(), threading.Event()

    def handler(_event: OutboxEvent) -> None:
        stuck.set()
        release.wait(20)

    bus = Bus(database)
    bus.subscribe("mailer", _ACME, handler)
    _append(database, 1)
    assert stuck.wait(10)
    began = monotonic()
    _append(database, 50)
    # A stuck handler would hold an append for its 20 seconds; a busy machine only for much less.
    assert monotonic() - began < 10
    assert database.read(lambda unit: unit.ledger.head(_ACME)).sequence_number == 51
    release.set()
    assert bus.close()


def test_a_process_that_dies_before_confirming_gets_the_event_again(path: Path) -> None:
    """The handler did its work and the process was gone before the cursor moved: delivered again, in order."""
    database = SqliteDatabase(path, PROJECTOR, at=_AT)
    _append(database, 3)
    database.close()
    done = subprocess.run(
        [sys.executable, "-c", _DYING_SUBSCRIBER, str(path), "2"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout.split()) == (9, ["1", "2"])
    database = SqliteDatabase(path, PROJECTOR, at=_AT)
    heard, bus = _Heard(), Bus(database)
    bus.subscribe("mailer", _ACME, heard)
    until(lambda: heard.positions[-1:] == [3])
    bus.close()
    database.close()
    # The first may have been confirmed or not; the second cannot have been.
    assert heard.positions in ([1, 2, 3], [2, 3])


def test_a_restart_goes_on_after_the_cursor(path: Path) -> None:
    """What was confirmed is not delivered again."""
    database = SqliteDatabase(path, PROJECTOR, at=_AT)
    _append(database, 3)
    heard, bus = _Heard(), Bus(database)
    bus.subscribe("mailer", _ACME, heard)
    until(lambda: len(heard.positions) == 3)
    bus.close()
    _append(database, 2)
    database.close()
    database = SqliteDatabase(path, PROJECTOR, at=_AT)
    again, bus = _Heard(), Bus(database)
    bus.subscribe("mailer", _ACME, again)
    until(lambda: len(again.positions) == 2)
    bus.close()
    database.close()
    assert again.positions == [4, 5]


def test_two_subscribers_of_one_name_would_share_a_cursor_and_are_refused(database: SqliteDatabase) -> None:
    """The same name in another tenant is another subscriber."""
    bus = Bus(database)
    bus.subscribe("mailer", _ACME, _Heard())
    with pytest.raises(SubscriptionTakenError, match="`mailer` of `acme`"):
        bus.subscribe("mailer", _ACME, _Heard())
    bus.subscribe("mailer", _OTHER, _Heard())
    assert bus.close()


def test_a_closed_bus_takes_no_subscriber(database: SqliteDatabase) -> None:
    bus = Bus(database)
    bus.close()
    with pytest.raises(BusClosedError):
        bus.subscribe("mailer", _ACME, _Heard())


def test_a_closed_database_ends_the_subscriber(path: Path) -> None:
    """The order should be the other way round, and still nothing hangs."""
    database = SqliteDatabase(path, PROJECTOR, at=_AT)
    heard, bus = _Heard(), Bus(database)
    subscription = bus.subscribe("mailer", _ACME, heard)
    _append(database, 1)
    until(lambda: subscription.facts().confirmed == 1)
    database.close()
    subscription.ring()
    assert subscription.join(20)
