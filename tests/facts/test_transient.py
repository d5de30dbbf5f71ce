"""Events, cursors, kept answers and waiting amendments: what somebody with full rights on the database gains."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from assay.adapters.credential_seal import HmacSeal
from assay.adapters.postgres.database import PostgresDatabase
from assay.adapters.sqlite.database import SqliteDatabase
from assay.facts.table import PROJECTOR
from assay.kernel.digest import digest_of
from assay.kernel.ids import PrincipalId
from assay.kernel.ledger import EntryKind, draft_entry
from assay.kernel.trace import TraceId
from assay.ports.damage import DamagedRecordError
from assay.ports.database import Database
from assay.ports.request_store import KeptRequest
from tests.contract._kit import AT, Kit, PostgresKit, SqliteKit, tamper
from tests.contract._records import ACME, note
from tests.postgres_cluster import PostgresCluster

_SEAL = HmacSeal(b"k" * 32, frozenset())
_OLGA = PrincipalId("person:olga")
_KEPT = KeptRequest(
    principal_id=_OLGA,
    request_key="k-1",
    fingerprint=digest_of(b"asked"),
    entry=3,
    begun_at=AT,
    status=201,
    body='{"decision":"REFUSE"}',
)


@pytest.fixture(params=["sqlite", "postgresql"])
def kit(request: pytest.FixtureRequest, tmp_path: Path, postgres_cluster: PostgresCluster) -> Kit:
    return SqliteKit(tmp_path / "a.db") if request.param == "sqlite" else PostgresKit(postgres_cluster)


@pytest.fixture
def database(kit: Kit) -> Iterator[Database]:
    """With events at positions 1 to 6, two of each entry."""
    if isinstance(kit, SqliteKit):
        opened: Database = SqliteDatabase(kit.path, PROJECTOR, at=AT, seal=_SEAL)
    else:
        assert isinstance(kit, PostgresKit)
        opened = PostgresDatabase(kit.dsn, PROJECTOR, at=AT, seal=_SEAL)
    for number in range(3):
        opened.append(note(number, events=2))
    yield opened
    opened.close()


def _positions(database: Database, after: int = 0) -> list[int]:
    return [one.position for one in database.read(lambda unit: unit.outbox.events(ACME, after=after, limit=10))]


def _insert(position: int, sequence_number: int = 3, body: str = "{}") -> str:
    columns = "tenant_id, position, sequence_number, type, subject, occurred_at, body"
    return (
        f"INSERT INTO outbox ({columns}) SELECT tenant_id, {position}, {sequence_number}, type, subject, occurred_at,"
        f" '{body}' FROM outbox WHERE position = 6"
    )


@pytest.mark.parametrize(
    "forged",
    [
        "UPDATE outbox SET body = '{}' WHERE position = 4",
        "UPDATE outbox SET type = 'switch.fired' WHERE position = 4",
        "UPDATE outbox SET subject = 'other' WHERE position = 4",
        "UPDATE outbox SET occurred_at = '2020-01-01T00:00:00Z' WHERE position = 4",
        "UPDATE outbox SET sequence_number = 1 WHERE position = 4",
        "DELETE FROM outbox WHERE position = 4",
    ],
)
def test_a_changed_event_is_not_streamed_and_not_passed_over(kit: Kit, database: Database, forged: str) -> None:
    """Subscribers get what comes before it, and are refused at it: nobody believes that there was nothing."""
    tamper(kit, forged)
    assert _positions(database) == [1, 2, 3]
    with pytest.raises(DamagedRecordError):
        _positions(database, after=3)


def test_swapped_events_are_not_streamed(kit: Kit, database: Database) -> None:
    tamper(
        kit,
        "UPDATE outbox SET position = 99 WHERE position = 3",
        "UPDATE outbox SET position = 3 WHERE position = 4",
        "UPDATE outbox SET position = 4 WHERE position = 99",
    )
    assert _positions(database) == [1, 2]


@pytest.mark.parametrize("forged", [_insert(1000), _insert(7), _insert(9, 2), _insert(8, 99)])
def test_an_inserted_event_is_not_streamed_and_silences_nobody(kit: Kit, database: Database, forged: str) -> None:
    tamper(kit, forged)
    assert _positions(database) == [1, 2, 3, 4, 5, 6]
    assert database.read(lambda unit: unit.outbox.newest(ACME)) == 6


def test_a_writer_counts_on_from_the_last_event_that_an_entry_records(kit: Kit, database: Database) -> None:
    tamper(kit, _insert(1000))
    database.close()
    with closing(kit.open()) as again:
        again.append(note(9, events=1))
        assert _positions(again) == [1, 2, 3, 4, 5, 6, 7]


def test_an_event_for_an_entry_without_any_is_not_streamed(kit: Kit, database: Database) -> None:
    database.append(note(9))
    tamper(kit, _insert(7, 4))
    assert _positions(database, after=5) == [6]


def test_events_of_entries_that_record_none_are_those_of_the_version_before(kit: Kit) -> None:
    """A node that was upgraded gives its old events as they are stored, up to its first entry of this version."""
    with closing(kit.open()) as old:
        old.append(note(0))
        old.append(note(1))
    tamper(
        kit,
        "INSERT INTO outbox (tenant_id, position, sequence_number, type, subject, occurred_at, body)"
        " VALUES ('acme', 1, 1, 'note', 'n', '2026-01-07T12:00:00Z', '{}')",
    )
    with closing(kit.open()) as database:
        assert _positions(database) == [1]
        database.append(note(2, events=1))
        assert _positions(database) == [1, 2]
        assert database.read(lambda unit: unit.outbox.recorded_since(ACME)) == 3


def test_a_trace_tells_an_entry_of_this_version(kit: Kit) -> None:
    with closing(kit.open()) as database:
        draft = draft_entry(ACME, EntryKind.NOTE, {}, at=AT)
        with_trace = type(draft)(
            **{name: getattr(draft, name) for name in draft.__struct_fields__} | {"trace_id": TraceId("ab" * 16)}
        )
        database.append(with_trace)
        tamper(
            kit,
            "INSERT INTO outbox (tenant_id, position, sequence_number, type, subject, occurred_at, body)"
            " VALUES ('acme', 1, 1, 'note', 'n', '2026-01-07T12:00:00Z', '{}')",
        )
        assert _positions(database) == []
        assert database.read(lambda unit: unit.outbox.newest(ACME)) == 0


@pytest.mark.parametrize(
    "forged",
    [
        "UPDATE outbox_cursor SET position = 6",
        "UPDATE outbox_cursor SET position = 6, mac = NULL",
        "UPDATE outbox_cursor SET subscriber = 'webhook/2', position = 2",
    ],
)
def test_a_forged_cursor_makes_no_subscriber_miss_an_event(kit: Kit, database: Database, forged: str) -> None:
    database.write(lambda unit: unit.outbox.confirm(ACME, "webhook/1", 2))
    assert database.read(lambda unit: unit.outbox.cursor(ACME, "webhook/1")) == 2
    tamper(kit, forged)
    found = database.read(lambda unit: (unit.outbox.cursor(ACME, "webhook/1"), unit.outbox.cursor(ACME, "webhook/2")))
    assert found == (0, 0)
    database.write(lambda unit: unit.outbox.confirm(ACME, "webhook/1", 3))
    assert database.read(lambda unit: unit.outbox.cursor(ACME, "webhook/1")) == 3


def test_an_older_cursor_sends_events_again(kit: Kit, database: Database) -> None:
    """Delivery is at least once: a cursor that is rolled back loses nothing."""
    database.write(lambda unit: unit.outbox.confirm(ACME, "w", 2))
    [(mac,)] = kit.force("SELECT mac FROM outbox_cursor")
    database.write(lambda unit: unit.outbox.confirm(ACME, "w", 5))
    tamper(kit, f"UPDATE outbox_cursor SET position = 2, mac = '{mac}'")
    assert database.read(lambda unit: unit.outbox.cursor(ACME, "w")) == 2


@pytest.mark.parametrize(
    "forged",
    [
        """UPDATE kept_request SET body = '{"decision":"PUBLISH"}'""",
        """UPDATE kept_request SET body = '{"decision":"PUBLISH"}', mac = NULL""",
        "UPDATE kept_request SET status = 200",
        """UPDATE kept_request SET headers = '{"etag":"x"}'""",
        "UPDATE kept_request SET entry = 1",
        "UPDATE kept_request SET mac = repeat('0', 64)",
    ],
)
def test_a_forged_answer_is_not_given_again(kit: Kit, database: Database, forged: str) -> None:
    database.write(lambda unit: unit.requests.answer(ACME, _KEPT))
    assert _kept(database) == _KEPT
    tamper(kit, forged if kit.engine != "sqlite" else forged.replace("repeat('0', 64)", f"'{'0' * 64}'"))
    found = _kept(database)
    assert found is not None
    assert (found.status, found.headers, found.body) == (None, "{}", "")


def test_an_answer_of_somebody_else_is_not_given(kit: Kit, database: Database) -> None:
    """Neither another key's nor another principal's: the MAC covers both."""
    database.write(lambda unit: unit.requests.answer(ACME, _KEPT))
    tamper(kit, "UPDATE kept_request SET request_key = 'k-2'")
    found = database.read(lambda unit: unit.requests.find(ACME, _OLGA, "k-2"))
    assert found is not None
    assert found.status is None
    tamper(kit, "UPDATE kept_request SET request_key = 'k-1', principal_id = 'person:eve'")
    eve = database.read(lambda unit: unit.requests.find(ACME, PrincipalId("person:eve"), "k-1"))
    assert eve is not None
    assert eve.status is None


def test_an_erasure_removes_every_kept_answer_and_no_key(database: Database) -> None:
    database.write(lambda unit: unit.requests.answer(ACME, _KEPT))
    assert database.write(lambda unit: unit.requests.clear_answers(ACME)) == 1
    found = _kept(database)
    assert found is not None
    assert (found.status, found.body) == (None, "")


def test_a_kept_answer_that_is_put_back_after_an_erasure_needs_its_mac(kit: Kit, database: Database) -> None:
    database.write(lambda unit: unit.requests.answer(ACME, _KEPT))
    database.write(lambda unit: unit.requests.clear_answers(ACME))
    tamper(kit, f"UPDATE kept_request SET status = 201, body = '{_KEPT.body}'")
    found = _kept(database)
    assert found is not None
    assert found.status is None


def _kept(database: Database) -> KeptRequest | None:
    return database.read(lambda unit: unit.requests.find(ACME, _OLGA, "k-1"))
