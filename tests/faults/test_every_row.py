"""Every table, every column, on both databases, with full rights: an audit reports it, and no door returns it.

A node on which every operation was performed -> one attack at a time (change, insert, delete, swap, roll back), undone
afterwards -> a full audit must find it, and every Read and Listing that reads the table, and the stream of events, must
answer as before or refuse. In short form every table is attacked, with a part of its columns.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

import msgspec
import psycopg
import pytest
from psycopg.types.json import Jsonb

from assay.adapters.clock import SystemClock
from assay.adapters.postgres.provision import provision
from assay.adapters.postgres.session import PostgresSession
from assay.adapters.sql.table_store import TABLES as SHAPES
from assay.adapters.sqlite.session import SqliteSession
from assay.facts.kinds import Table, Transient
from assay.facts.model import activated_entry
from assay.facts.table import TABLES
from assay.flows.errors import NotFoundError
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.request import Content
from assay.identity.caller import local_caller
from assay.kernel.digest import digest_of
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.instant import Instant
from assay.node.acting import make_dispatcher
from assay.operations.kinds import Listing, Read
from assay.operations.parse import parse_request
from assay.operations.table import BY_NAME
from assay.surfaces import sample
from assay.surfaces.sample.stage import TENANT
from tests.flows._people import quick_passwords
from tests.operations.chapters import everything_else
from tests.operations.playing import Played, opened_play
from tests.postgres_cluster import PostgresCluster
from tests.scale import LONG

# Columns that no proof covers, with what an attacker gains by changing them.
_UNPROVEN = {
    ("chain", "epoch"): "nothing: it fences writers, who claim the chain anew",
    ("chain", "holder"): "nothing: it names the writer for people",
    ("key_fact", "position"): "nothing: keys are trusted whatever the order of their facts",
    ("checkpoint", "number"): "nothing: the checkpoint outside the database binds the node whatever the order inside",
}
# Tables that no operation fills; each is attacked in the tests of its room, or is transient.
_EMPTY = {
    "request_nonce",
    "login_failure",
    "trust_mark",
    "egress_note",
    "service_entry",
    "webhook_attempt",
    "kept_request",
    "desk_held",
}
# Doors that still use a row of such a table as it is stored; an audit reports each. Nothing is added.
_NOT_COMPARED = {
    "ticket": {"desk.progress", "oversight.measure"},
    "answer": {"desk.progress", "oversight.measure"},
    "settlement": {"desk.progress", "oversight.measure"},
    "ticket_place": {"tickets.list", "desk.next"},
    "transcript": {"verdicts.replay"},
    "graph_version": {"verdicts.replay"},
}
# The newest checkpoint is stored outside the database first, so that its row may be missing after a crash.
_EXCUSED = {("checkpoint", "delete"), ("checkpoint", "roll back")}
# Of each table, in short form.
_COLUMNS_AT_ONCE = 2
_ATTACKED = tuple(
    table
    for table in TABLES
    if not table.pending and not isinstance(table.form, Transient) and table.name not in _EMPTY and table.name in SHAPES
)
_NAMED = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)")
# What these say changes with the machine, or with each question.
_BY_MACHINE = {"search.prove", "report.make", "ledger.verify", "judge.health"}
_Rows = list[tuple[Any, ...]]


@dataclass
class Place:
    """A node with rows in every table, what its doors answer, and a connection with full rights to its database."""

    play: Played
    connection: Any
    mark: str
    reads: dict[str, Callable[[], Any]]
    older: dict[str, _Rows] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)
    readers: dict[str, set[str]] = field(default_factory=dict)

    def query(self, sql: str, parameters: Sequence[object] = ()) -> _Rows:
        return [tuple(row) for row in self.connection.execute(sql.replace("?", self.mark), parameters).fetchall()]

    def run(self, sql: str, parameters: Sequence[object] = ()) -> None:
        given = [Jsonb(value) if isinstance(value, dict) else value for value in parameters]
        self.connection.execute(sql.replace("?", self.mark), given)

    def rows(self, table: str) -> _Rows:
        """Always in the same order: the first one is attacked."""
        shape = SHAPES[table]
        return self.query(f"SELECT {', '.join(shape.columns)} FROM {table} ORDER BY {', '.join(shape.order)}")

    def put(self, table: str, rows: _Rows) -> None:
        columns = SHAPES[table].columns
        marks = ", ".join("?" * len(columns))
        self.run("BEGIN")
        try:
            self.run(f"DELETE FROM {table}")
            for row in rows:
                self.run(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", row)
        except (sqlite3.Error, psycopg.Error):
            self.run("ROLLBACK")
            raise
        self.run("COMMIT")
        self.play.tools.database.inner._cache.clear()  # type: ignore[attr-defined]  # as a process that was started now

    def holds(self) -> bool:
        try:
            return audit_ledger(self.play.tools, TENANT, full=True, leave_mark=False).holds
        except Error:
            return False

    def ask(self, table: str) -> dict[str, Any]:
        """What the doors that read the table answer now; those that refuse are left out."""
        answers = {}
        for name in sorted(self.readers.get(table, ())):
            with suppress(Error):
                answers[name] = self.reads[name]()
        return answers

    def differing(self, table: str, without: dict[str, Any]) -> list[str]:
        """The doors that answer what they did not before, and do not answer as where the row is deleted."""
        return [
            name
            for name, now in self.ask(table).items()
            if not _is_part(now, self.answers[name])
            and now != without.get(name)
            # A replay or a check answers with what it found.
            and not (isinstance(now, dict) and now.get("holds") is False)
            and name not in _NOT_COMPARED.get(table, ())
        ]


def _is_part(now: Any, before: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether an answer says nothing that it did not say before: items may be missing, numbers lower."""
    if isinstance(now, dict) and isinstance(before, dict):
        return now.keys() <= before.keys() and all(_is_part(now[name], before[name]) for name in now)
    if isinstance(now, list) and isinstance(before, list):
        left = iter(before)
        return all(any(_is_part(item, other) for other in left) for item in now)
    if type(now) is int and type(before) is int:
        return now <= before
    return now is None or bool(now == before)


def _reads(play: Played) -> dict[str, Callable[[], Any]]:
    """Every Read and Listing that succeeded in the play, as it was asked last, and the stream of events."""
    dispatcher = make_dispatcher(play.tools)
    found: dict[str, Callable[[], Any]] = {}

    def stream() -> Any:  # noqa: ANN401 - any JSON
        operation = BY_NAME["events.follow"]
        caller = local_caller(TENANT, at=play.clock.now())
        return _plain(dispatcher(operation, caller, parse_request(operation, {"after": 0})).value)

    for step in play.steps:
        operation = BY_NAME[step.name]
        if step.code is not None or not isinstance(operation, Read | Listing) or step.name in _BY_MACHINE:
            continue
        # The operator of the folder may ask for most; what is about the caller is asked as in the play.
        credential = None if step.who == "the operator" else play._credential(step.who)

        def ask(operation: Any = operation, given: Any = step.given, credential: Any = credential) -> Any:  # noqa: ANN401
            return _plain(play.other(operation, given, credential, None))

        found[step.name] = ask
    found["events.follow"] = stream
    return found


def _plain(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, Content):
        return value.body
    if isinstance(value, Iterator):
        value = list(value)
    return msgspec.json.decode(msgspec.json.encode(value))


def _fill(play: Played) -> None:
    """What no operation of the play leaves: an activated model, and an answer under an idempotency key."""
    at, by = play.clock.now(), PrincipalId("user:ada")
    weights = play.tools.database.read(lambda unit: unit.models.models(TENANT))[0].weight_hash
    draft = activated_entry(TENANT, weights, digest_of(b"before"), ticket_id=TicketId("tkt_1"), by=by, at=at)
    play.tools.database.write(lambda unit: unit.record(draft))


def _learn(place: Place, kind: type[Any], patch: pytest.MonkeyPatch) -> None:
    """Ask every door, and note its answer and the tables that it reads; a door that answers differently each time
    is left out.
    """
    read: set[str] = set()
    for method in ("query", "stream"):
        plain = getattr(kind, method)

        def traced(self: Any, sql: str, *rest: Any, plain: Any = plain) -> Any:  # noqa: ANN401 - as the session's
            read.update(_NAMED.findall(sql))
            return plain(self, sql, *rest)

        patch.setattr(kind, method, traced)
    for name, ask in list(place.reads.items()):
        read.clear()
        place.play.tools.database.inner._cache.clear()  # type: ignore[attr-defined]  # the cache of rows
        try:
            answer = ask()
        except NotFoundError:
            # It was there when it was asked for in the play.
            continue
        if ask() == answer:
            place.answers[name] = answer
            for table in read:
                place.readers.setdefault(table, set()).add(name)
    patch.undo()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgres_cluster: PostgresCluster
) -> Iterator[Place]:
    folder, name, database = tmp_path_factory.mktemp("attacked") / "node", "", None
    if request.param == "postgresql":
        name = postgres_cluster.create_database()
        provision(postgres_cluster.dsn(name), at=SystemClock().now())
        database = postgres_cluster.dsn(name, user="assay_app")
    end = Instant(SystemClock().now() + timedelta(minutes=30))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.wiring.Argon2Passwords", quick_passwords)
        with opened_play(folder, ("node",), database=database, end=end) as play:
            for chapter in sample.CHAPTERS:
                chapter(play)
            if database is None:
                connection: Any = sqlite3.connect(folder / "assay.db", isolation_level=None, timeout=30)
                mark = "?"
            else:
                connection = psycopg.connect(
                    postgres_cluster.dsn(name), options="-c search_path=assay", autocommit=True
                )
                mark = "%s"
            made = Place(play, connection, mark, {})
            made.older = {table.name: made.rows(table.name) for table in _ATTACKED}
            everything_else(play)
            _fill(play)
            made.reads = _reads(play)
            _disarm(made)
            with pytest.MonkeyPatch.context() as traced:
                _learn(made, SqliteSession if database is None else PostgresSession, traced)
            yield made
            connection.close()


def _disarm(place: Place) -> None:
    """Full rights: no trigger is in the way."""
    if place.mark == "?":
        place.run("PRAGMA ignore_check_constraints = ON")
        for (name,) in place.query("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            place.run(f"DROP TRIGGER {name}")
        return
    for table in SHAPES:
        place.run(f"ALTER TABLE {table} DISABLE TRIGGER ALL")


def test_every_table_has_rows_and_the_node_holds(place: Place) -> None:
    """No table is passed over for want of rows, and nothing is found where nothing was changed."""
    assert {name for name in SHAPES if not place.rows(name)} <= _EMPTY
    assert place.holds()
    assert len(place.answers) > 80


@pytest.mark.parametrize("table", _ATTACKED, ids=lambda table: table.name)
def test_an_attack_on_a_row_is_reported_and_served_by_no_door(place: Place, table: Table) -> None:
    before = place.rows(table.name)
    unnoticed, served = [], []
    without: dict[str, Any] = {}
    for what, rows in _attacks(place, table, before):
        try:
            place.put(table.name, rows)
        except (sqlite3.Error, psycopg.Error):
            # The database itself refuses it.
            place.put(table.name, before)
            continue
        if place.holds() and (table.name, what) not in _EXCUSED:
            unnoticed.append(what)
        if what == "delete":
            without = place.ask(table.name)
        # An older state of a table is one that it had.
        elif what != "roll back":
            served += [f"{what}: {name}" for name in place.differing(table.name, without)]
        place.put(table.name, before)
    assert not unnoticed, unnoticed
    assert not served, served


def _attacks(place: Place, table: Table, before: _Rows) -> Iterator[tuple[str, _Rows]]:
    """What is done, and the rows that the table has afterwards."""
    columns = SHAPES[table.name].columns
    first, rest, last = before[0], before[1:], before[-1]
    yield "delete", rest
    for at in _chosen(table, columns):
        column = columns[at]
        changed = (*first[:at], _other(column, first[at]), *first[at + 1 :])
        yield f"change {column}", [changed, *rest]
        yield f"insert a copy under another {column}", [*before, changed]
        if last[at] != first[at]:
            swapped = [(*first[:at], last[at], *first[at + 1 :]), (*last[:at], first[at], *last[at + 1 :])]
            yield f"swap {column}", [*swapped, *before[1:-1]]
    if place.older[table.name] != before:
        yield "roll back", place.older[table.name]


def _chosen(table: Table, columns: tuple[str, ...]) -> list[int]:
    """All columns, or some of them: others in each release, as names of tables and columns change, never by chance."""
    proven = [at for at, column in enumerate(columns) if (table.name, column) not in _UNPROVEN]
    if LONG:
        return proven
    ranked = sorted(proven, key=lambda at: sha256(f"{table.name}/{columns[at]}".encode()).digest())
    return ranked[:_COLUMNS_AT_ONCE]


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
