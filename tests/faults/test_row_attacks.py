"""Every table that is declared with a proof, every column, with full rights: an audit reports what was changed.

The node is the recorded one, with rows of every room. Each attack is undone before the next: change a value, insert a
copy of a row under another key, delete a row, swap a value of two rows.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import psycopg
import pytest
from psycopg.types.json import Jsonb

from assay.adapters.clock import SystemClock
from assay.adapters.postgres.provision import provision
from assay.adapters.sql.table_store import TABLES as SHAPES
from assay.facts.kinds import Chain, Projected, Table, Transient
from assay.facts.projector import row_of
from assay.facts.table import TABLES
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.tools import Tools
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.wiring import open_node
from tests.postgres_cluster import PostgresCluster
from tests.recorded.record import BACKUP, FOUNDER, answered, unpack_node
from tests.scale import LONG

# Columns that no proof covers, with what an attacker gains by changing them.
_UNPROVEN = {
    ("chain", "epoch"): "nothing: it fences writers, who claim the chain anew",
    ("chain", "holder"): "nothing: it names the writer for people",
    ("key_fact", "position"): "nothing: keys are trusted whatever the order of their facts",
    ("checkpoint", "number"): "nothing: the checkpoint outside the database binds the node whatever the order inside",
}
# Columns of rows of version 0.1.0 whose entries do not record them; rows of this version are compared in full.
_OF_OLD_ENTRIES = {
    ("outcome_signal", "session"),
    ("outcome_signal", "text"),
    ("rule_outcome", "session"),
    ("rule_outcome", "occurred_at"),
    ("root_cause", "text"),
    ("root_cause_ticket", "text"),
    ("root_cause_conclusion", "pair_id"),
    ("rule_proposal", "ticket_id"),
    ("training_pair", "item_id"),
    ("peer_agreement", "made_by"),
    ("verdict_index", "ticket_id"),
    ("verdict_index", "held_entry"),
}
# Entries of 0.1.0 record no events: `tests/facts/test_transient.py` attacks those of this version.
_ATTACKED = tuple(
    table for table in TABLES if not table.pending and not isinstance(table.form, Transient) and table.name != "outbox"
)


class Place(NamedTuple):
    """A node, and a connection with full rights to its database."""

    tools: Tools
    connection: Any
    mark: str

    def query(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.connection.execute(sql.replace("?", self.mark), parameters).fetchall()]

    def run(self, sql: str, parameters: Sequence[object] = ()) -> None:
        given = [Jsonb(value) if isinstance(value, dict) else value for value in parameters]
        self.connection.execute(sql.replace("?", self.mark), given)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgres_cluster: PostgresCluster
) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("attacked")
    if request.param == "sqlite":
        home = unpack_node(folder)
        with open_node(home):
            pass
        connection: Any = sqlite3.connect(home / "assay.db", isolation_level=None)
        connection.execute("PRAGMA ignore_check_constraints = ON")
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        mark = "?"
    else:
        database, home = postgres_cluster.create_database(), folder / "node"
        provision(postgres_cluster.dsn(database), at=SystemClock().now())
        dsn = postgres_cluster.dsn(database, user="assay_app")
        answered("restore", BACKUP, home, "--trust", FOUNDER, "--database", dsn)
        with open_node(home):
            pass
        connection = psycopg.connect(postgres_cluster.dsn(database), options="-c search_path=assay", autocommit=True)
        for table in SHAPES:
            connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
        mark = "%s"
    with open_node(home, writable=False) as (tools, _):
        yield Place(tools, connection, mark)
    connection.close()


@pytest.mark.parametrize("table", _ATTACKED, ids=lambda table: table.name)
def test_an_audit_reports_every_change_of_a_table(place: Place, table: Table) -> None:
    if table.name not in SHAPES:
        pytest.skip("compared when the database is opened")
    columns = SHAPES[table.name].columns
    before = _rows(place, table)
    if not before:
        pytest.skip("the recorded node has no such row")
    unnoticed = [
        what for what, rows in _attacks(table, columns, before) if not _is_noticed(place, table, columns, rows)
    ]
    _put(place, table, columns, before)
    assert unnoticed == []
    assert all(audit_ledger(place.tools, one, full=True, leave_mark=False).holds for one in _tenants(before, columns))


def _attacks(
    table: Table, columns: tuple[str, ...], before: list[tuple[Any, ...]]
) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    """What is done, and the rows that the table has afterwards."""
    first, rest = before[0], before[1:]
    yield "delete", rest
    for at, column in enumerate(columns):
        if (table.name, column) in _UNPROVEN or (table.name, column) in _OF_OLD_ENTRIES:
            continue
        changed = (*first[:at], _other(column, first[at]), *first[at + 1 :])
        yield f"change {column}", [changed, *rest]
        if LONG or at == 0 or column in SHAPES[table.name].order:
            yield f"insert a copy under another {column}", [*before, changed]
        last = before[-1]
        if LONG and last[at] != first[at]:
            swapped = [(*first[:at], last[at], *first[at + 1 :]), (*last[:at], first[at], *last[at + 1 :])]
            yield f"swap {column}", [*swapped, *before[1:-1]]


def _other(column: str, value: object) -> object:
    """Another value of the same type that a database takes."""
    if column == "is_open":
        return 1 - int(str(value))
    if isinstance(value, bool | int | float):
        return value + 1
    if isinstance(value, bytes):
        return value[:-1] + bytes([value[-1] ^ 1])
    if isinstance(value, datetime):
        return value + timedelta(hours=1)
    if isinstance(value, dict):
        return None
    text = "x" if value is None else str(value)
    at = max((place for place, letter in enumerate(text) if letter.isalnum()), default=-1)
    return f"{text[:at]}{'1' if text[at] != '1' else '2'}{text[at + 1 :]}" if at >= 0 else f"{text}x"


def _is_noticed(place: Place, table: Table, columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> bool:
    """By the database itself, which refuses the row, or by an audit of a tenant that is concerned."""
    before = _rows(place, table)
    try:
        _put(place, table, columns, rows)
    except (sqlite3.Error, psycopg.Error):
        _put(place, table, columns, before)
        return True
    try:
        return any(not _holds(place, one) for one in _tenants(before, columns))
    finally:
        _put(place, table, columns, before)


def _holds(place: Place, tenant_id: TenantId) -> bool:
    try:
        return audit_ledger(place.tools, tenant_id, full=True, leave_mark=False).holds
    except Error:
        return False


def _tenants(rows: list[tuple[Any, ...]], columns: tuple[str, ...]) -> list[TenantId]:
    """That of the first row, which is attacked, and of the last."""
    if "tenant_id" not in columns:
        return [TenantId("claims")]
    at = columns.index("tenant_id")
    return list(dict.fromkeys((TenantId(rows[0][at]), TenantId(rows[-1][at]))))


def _rows(place: Place, table: Table) -> list[tuple[Any, ...]]:
    """Always in the same order: the first one is attacked."""
    shape = SHAPES[table.name]
    return place.query(f"SELECT {', '.join(shape.columns)} FROM {table.name} ORDER BY {', '.join(shape.order)}")


def _put(place: Place, table: Table, columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    marks = ", ".join("?" * len(columns))
    place.run("BEGIN")
    try:
        place.run(f"DELETE FROM {table.name}")
        for row in rows:
            place.run(f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({marks})", row)
    except (sqlite3.Error, psycopg.Error):
        place.run("ROLLBACK")
        raise
    place.run("COMMIT")


@pytest.mark.parametrize(
    "table",
    [table for table in _ATTACKED if isinstance(table.form, Projected)],
    ids=lambda table: table.name,
)
def test_no_reader_returns_a_changed_row(place: Place, table: Table) -> None:
    """The stores read every row of a projected table by the one function that is used here."""
    columns, kind = SHAPES[table.name].columns, row_of(table)
    assert kind is not None
    before = _rows(place, table)
    if not before:
        pytest.skip("the recorded node has no such row")
    returned = []
    for what, rows in _attacks(table, columns, before):
        if what == "delete":
            continue
        try:
            _put(place, table, columns, rows)
            place.tools.database.read(lambda unit: unit._rows.all(kind, "", ()))  # type: ignore[attr-defined]  # the one function
            returned.append(what)
        except (Error, sqlite3.Error, psycopg.Error):
            pass
        finally:
            _put(place, table, columns, before)
    assert returned == []


def test_tables_of_the_ledger_are_attacked_too() -> None:
    assert {table.name for table in _ATTACKED if isinstance(table.form, Chain)} >= {
        "ledger",
        "chain",
        "tile",
        "checkpoint",
    }
