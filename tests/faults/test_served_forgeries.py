"""A row that was changed in the database is served by no list and no page: readers refuse, or answer as before.

The node is the small sample, with rows of every room. With full rights, one value of one row of each table that is
compared with the ledger is changed; then every operation that reads without naming a thing is performed.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec
import psycopg
import pytest

from assay.adapters.clock import SystemClock
from assay.adapters.postgres.provision import provision
from assay.adapters.sql.table_store import TABLES as SHAPES
from assay.facts.kinds import Projected, Table
from assay.facts.table import TABLES
from assay.flows.identity.authenticate import authenticate
from assay.flows.identity.sessions import check_password
from assay.flows.tools import Tools
from assay.identity.caller import Caller, local_caller
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.operations.dispatch import Dispatcher
from assay.operations.kinds import Listing, Operation, Read
from assay.operations.parse import parse_request
from assay.operations.table import BY_NAME, TABLE
from assay.surfaces.sample import PASSWORD, SMALL, make_sample
from assay.wiring import open_node
from tests.faults.test_row_attacks import Place, _other
from tests.postgres_cluster import PostgresCluster
from tests.scale import LONG

_TENANT = TenantId("default")
_READER = "user:reader"
# What differs between two readings of the same node: an audit says how long ago it ran, a report when it was made.
_UNSTEADY = {"ledger.verify", "report.make", "trust.snapshot"}
# A replay or a check answers with what it finds: that a row was changed is its finding, and not what the row says.
_FINDS = {"trust.check", "verdicts.replay"}
_READS = [
    operation
    for operation in TABLE
    if isinstance(operation, Read | Listing)
    and operation.route is not None
    and operation.name not in _UNSTEADY | _FINDS
    and not any(field.info.required for field in operation.fields)
]
_COMPARED = [
    table for table in TABLES if isinstance(table.form, Projected) and not table.pending and table.name in SHAPES
]


class _Still:
    """A clock that does not move: two readings differ by nothing but the attack."""

    def __init__(self, now: Instant) -> None:
        self._now = now

    def now(self) -> Instant:
        return self._now


class Attacked(NamedTuple):
    place: Place
    home: Any
    now: Instant
    token: str


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def attacked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgres_cluster: PostgresCluster
) -> Iterator[Attacked]:
    home = tmp_path_factory.mktemp("served") / "node"
    if request.param == "sqlite":
        for _ in make_sample(home, size=SMALL):
            pass
        connection: Any = sqlite3.connect(home / "assay.db", isolation_level=None, timeout=30)
        mark = "?"
    else:
        database = postgres_cluster.create_database()
        provision(postgres_cluster.dsn(database), at=SystemClock().now())
        for _ in make_sample(home, size=SMALL, database=postgres_cluster.dsn(database, user="assay_app")):
            pass
        connection = psycopg.connect(postgres_cluster.dsn(database), options="-c search_path=assay", autocommit=True)
        mark = "%s"
    with open_node(home) as (tools, _):
        now = tools.clock.now()
        operation = BY_NAME["principal.add"]
        given = {
            "principal_id": _READER,
            "kind": "person",
            "roles": ["auditor", "operator", "reviewer"],
            "password": PASSWORD,
        }
        Dispatcher(tools=tools)(operation, local_caller(_TENANT, at=now), parse_request(operation, given))
        token, _ = check_password(tools, _TENANT, PrincipalId(_READER), PASSWORD, at=tools.clock.now())
        now = tools.clock.now()
        place = Place(tools, connection, mark)
    if mark == "?":
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
    else:
        for table in SHAPES:
            connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
    yield Attacked(place, home, now, token)
    connection.close()


@pytest.fixture(scope="module")
def before(attacked: Attacked) -> dict[str, Any]:
    """What every reading operation answers on the node as it is."""
    found = _readings(attacked)
    assert sum(answer is not None for answer in found.values()) > len(_READS) // 2
    return found


@pytest.mark.parametrize("table", _COMPARED, ids=lambda table: table.name)
def test_no_operation_serves_a_changed_row(attacked: Attacked, before: dict[str, Any], table: Table) -> None:
    shape = SHAPES[table.name]
    rows = attacked.place.query(
        f"SELECT {', '.join(shape.columns)} FROM {table.name} ORDER BY {', '.join(shape.order)}"
    )
    if not rows:
        pytest.skip("the sample has no such row")
    served = []
    for at, column in _columns(shape.columns):
        changed = [(*rows[-1][:at], _other(column, rows[-1][at]), *rows[-1][at + 1 :])]
        try:
            _put(attacked.place, table, shape.columns, [*rows[:-1], *changed])
        except (sqlite3.Error, psycopg.Error):
            continue
        try:
            served += [f"{column}: {name}" for name in _news(before, _readings(attacked))]
        finally:
            _put(attacked.place, table, shape.columns, rows)
    assert served == []


def _columns(columns: tuple[str, ...]) -> list[tuple[int, str]]:
    """Every column in the long form; in the short one the last two, which are no keys."""
    numbered = [(at, column) for at, column in enumerate(columns) if column != "tenant_id"]
    return numbered if LONG else [one for one in numbered if one[1] != "sequence_number"][-2:]


def _readings(attacked: Attacked) -> dict[str, Any]:
    """Open the node anew, so that nothing is in a cache, and perform every reading operation; None for a refusal."""
    with open_node(attacked.home, writable=False) as (opened, _):
        tools = replace(opened, clock=_Still(attacked.now))
        try:
            caller = authenticate(tools, attacked.token, at=attacked.now)
        except Error:
            return {}
        return {operation.name: _answer(tools, caller, operation) for operation in _READS}


def _answer(tools: Tools, caller: Caller, operation: Operation) -> Any:  # noqa: ANN401 - any JSON
    try:
        value = Dispatcher(tools=tools)(operation, caller, parse_request(operation, {})).value
    except Error:
        return None
    return msgspec.json.decode(msgspec.json.encode(value))


def _news(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Operations that say something that they did not say before: another document, or an item that is new."""
    found = []
    for name, answer in after.items():
        if answer is None or before[name] is None:
            continue
        if isinstance(BY_NAME[name], Listing):
            known = [msgspec.json.encode(item) for item in before[name]["items"]]
            if any(msgspec.json.encode(item) not in known for item in answer["items"]):
                found.append(name)
        elif answer != before[name]:
            found.append(name)
    return found


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
