"""A row that is not what its entry records is never returned, whichever column was changed and however it is read."""

from pathlib import Path

import pytest

from assay.adapters.sql import rows as sql_rows
from assay.kernel.canonical import canonicalize
from assay.kernel.ledger import EntryKind, draft_entry
from assay.ports.database import Database, Unit
from assay.ports.desk_store import StoredAct
from tests.contract._desk import TICKET, record_act, record_escalation
from tests.contract._kit import AT, Kit, PostgresKit, SqliteKit, refused, tamper
from tests.contract._records import ACME, BOB, GLOBEX, note
from tests.postgres_cluster import PostgresCluster


@pytest.fixture(params=["sqlite", "postgresql"])
def kit(request: pytest.FixtureRequest, tmp_path: Path, postgres_cluster: PostgresCluster) -> Kit:
    return SqliteKit(tmp_path / "a.db") if request.param == "sqlite" else PostgresKit(postgres_cluster)


@pytest.fixture
def database(kit: Kit) -> Database:
    database = kit.open()
    database.write(
        lambda unit: [unit.record(note(1)), record_act(unit), record_act(unit, BOB), record_escalation(unit)]
    )
    return database


_CHANGES = (
    "UPDATE desk_act SET made_by = 'user:mallory'",
    "UPDATE desk_act SET text = replace(text, 'release', 'RELEASE')",
    "UPDATE desk_act SET kind = 'comment'",
    "UPDATE desk_act SET sequence_number = 1 WHERE sequence_number = 2",
    "UPDATE desk_act SET sequence_number = 4 WHERE sequence_number = 2",
    "UPDATE desk_act SET sequence_number = 9 WHERE sequence_number = 2",
    "UPDATE ledger SET entry_hash = previous_hash WHERE sequence_number = 2",
    "UPDATE ledger SET text = (SELECT l.text FROM ledger AS l WHERE l.sequence_number = 3) WHERE sequence_number = 2",
    (
        "INSERT INTO desk_act (tenant_id, ticket_id, sequence_number, kind, made_by, text)"
        " SELECT tenant_id, ticket_id, 4, kind, made_by, text FROM desk_act WHERE sequence_number = 2"
    ),
)


@pytest.mark.parametrize("change", _CHANGES)
def test_a_changed_row_is_refused_by_every_reader(kit: Kit, database: Database, change: str) -> None:
    database.close()
    tamper(kit, change)
    again = kit.open()
    with refused("store.damaged_record"):
        again.read(lambda unit: unit.desk.acts(ACME, TICKET))
    with refused("store.damaged_record"):
        again.write(lambda unit: unit.desk.acts_on(ACME, [TICKET]))
    again.close()


def test_a_row_that_was_read_before_is_compared_again(kit: Kit, database: Database) -> None:
    """What the cache holds is the projection, so a row that changes afterwards differs from it."""
    assert len(database.read(lambda unit: unit.desk.acts(ACME, TICKET))) == 2
    tamper(kit, "UPDATE desk_act SET made_by = 'user:mallory' WHERE sequence_number = 3")
    with refused("store.damaged_record"):
        database.read(lambda unit: unit.desk.acts(ACME, TICKET))
    database.close()


def test_a_row_of_another_tenant_is_refused(kit: Kit, database: Database) -> None:
    database.append(note(1, GLOBEX))
    database.append(note(2, GLOBEX))
    tamper(kit, f"UPDATE desk_act SET tenant_id = '{GLOBEX}'")
    with refused("store.damaged_record"):
        database.read(lambda unit: unit.desk.acts(GLOBEX, TICKET))
    database.close()


def test_a_unit_sees_the_rows_that_it_has_just_recorded_and_a_number_is_reused_after_a_rollback(kit: Kit) -> None:
    """Entries that were never committed are not in the cache: their numbers belong to others afterwards."""
    database = kit.open()

    def fails(unit: Unit) -> None:
        mine = record_act(unit)
        assert unit.desk.acts(ACME, TICKET) == (mine,)
        raise _UndoneError

    for _ in range(2):
        with pytest.raises(_UndoneError):
            database.write(fails)
    recorded: StoredAct = database.write(lambda unit: record_act(unit, BOB))
    assert recorded.sequence_number == 1
    assert database.read(lambda unit: unit.desk.acts(ACME, TICKET)) == (recorded,)
    database.close()


def test_an_entry_without_its_body_is_refused_when_it_is_recorded(kit: Kit) -> None:
    """What cannot be projected is not appended, by any way in."""
    database = kit.open()
    broken = draft_entry(ACME, EntryKind.TICKET_ESCALATED, {"stage": "near"}, at=AT)
    with refused("store.damaged_record"):
        database.write(lambda unit: unit.record(broken))
    with refused("store.damaged_record"):
        database.append(broken)
    assert database.read(lambda unit: unit.ledger.head(ACME)).sequence_number == 0
    assert canonicalize({"stage": "near"}) == broken.body
    database.close()


def test_a_small_cache_forgets_and_reads_again(database: Database) -> None:
    small = sql_rows.RowCache(limit=1)
    assert small.find((ACME, 1)) is None
    assert len(database.read(lambda unit: unit.desk.acts(ACME, TICKET))) == 2
    database.close()


class _UndoneError(Exception):
    """Ends a unit of work."""
