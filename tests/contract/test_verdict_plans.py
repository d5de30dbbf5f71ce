"""How the databases find what a verdict asks for: along an index, also on tables they know nothing about yet."""

from collections.abc import Callable

import pytest

from assay.adapters.sql.graph_store import SqlGraphStore
from assay.adapters.sql.row import sortable
from assay.adapters.sql.session import Row, SqlSession
from assay.adapters.sql.telemetry_store import SqlTelemetryStore
from assay.adapters.sql.verdict_store import SqlVerdictStore
from assay.kernel.digest import digest_of
from assay.ports.database import Database
from tests.contract._kit import AT
from tests.contract._plans import fill, plans_of, require_index, require_narrow
from tests.contract._records import ACME
from tests.contract._unchecked import unchecked_rows

_Ask = Callable[[SqlGraphStore, SqlTelemetryStore, SqlVerdictStore], object]
_HASH = digest_of(b"any")
_FEW: dict[str, _Ask] = {
    "a graph": lambda graphs, _, __: graphs.find_version(ACME, _HASH),
    "a graph's head": lambda graphs, _, __: graphs.find_head(ACME, _HASH),
    "a content": lambda graphs, _, __: graphs.find_content(ACME, _HASH),
    "reviews": lambda graphs, _, __: graphs.reviews(ACME, _HASH),
    "known telemetry": lambda _, telemetry, __: telemetry.find_known(ACME, "none"),
    "a window": lambda _, telemetry, __: telemetry.buffered(ACME, "none", since=AT, until=AT),
    "a whole buffer": lambda _, telemetry, __: telemetry.buffered(ACME, "none", until=AT),
    "the oldest and the newest": lambda _, telemetry, __: telemetry.find_ends(ACME, ["stack-7"]),
    "the newest": lambda _, telemetry, __: telemetry.newest(ACME, "stack-7"),
    "old records": lambda _, telemetry, __: telemetry.old(ACME, "stack-7", until=AT),
    "the latest drop": lambda _, telemetry, __: telemetry.dropped_until(ACME, "stack-7"),
    "a verdict": lambda _, __, verdicts: verdicts.find(ACME, 7),
    "verdicts of a record": lambda _, __, verdicts: verdicts.of_telemetry(ACME, "t-7"),
    "a verdict by ticket": lambda _, __, verdicts: verdicts.find_by_ticket(ACME, "tkt"),
    "verdicts of a rule": lambda _, __, verdicts: verdicts.of_rule(ACME, "rule-7", after=3, before=70, limit=5),
    "a used token": lambda _, __, verdicts: verdicts.has_attestation(ACME, "ab"),
    "a page of a rule": lambda _, __, verdicts: verdicts.page(ACME, rule_id="rule-7", before=70),
    "a page of a subject": lambda _, __, verdicts: verdicts.page(ACME, subject="stack-7", before=70),
}
_WHOLE: dict[str, _Ask] = {
    "the graph in use": lambda graphs, _, __: graphs.find_active(ACME),
    "all verdicts": lambda _, __, verdicts: list(verdicts.all(ACME, first=7, last=9)),
    "the newest page": lambda _, __, verdicts: verdicts.page(ACME, before=70, limit=10),
    "held verdicts": lambda _, __, verdicts: verdicts.held(ACME, after=7, limit=10),
    "the window of agreement": lambda _, __, verdicts: verdicts.statuses(ACME, 10),
}


def _verdict_row(number: int, at: str) -> Row:
    name, rest = f"stack-{number % 50}", (None, "h", at, None, None, None, None)
    return (ACME, number, f"t-{number}", f"rule-{number % 50}", name, at, "final", "CLEAR", "AGREED", "low", *rest)


@pytest.fixture
def filled(database: Database) -> Database:
    """Enough for the size alone to say that a tenant has many rows, since there are no statistics."""
    at, count = sortable(AT), range(1, 3001)
    rows: dict[str, list[Row]] = {
        "graph_version": [(ACME, f"d-{n}", f"c-{n}", "typed", None, "{}", at, "user:a", n) for n in count],
        "telemetry_drop": [(ACME, f"stack-{n % 50}", at, 1, at, n) for n in count],
        "verdict_index": [_verdict_row(n, at) for n in count],
    }
    fill(database, rows)
    return database


def _plans(database: Database, ask: _Ask) -> list[str]:
    def look(session: SqlSession) -> object:
        rows = unchecked_rows(session)
        return ask(SqlGraphStore(rows, None), SqlTelemetryStore(rows), SqlVerdictStore(rows))

    return plans_of(database, look)


def test_one_thing_is_found_by_what_tells_it_apart(filled: Database) -> None:
    """Never by reading all rows of a tenant."""
    for name, ask in _FEW.items():
        require_narrow(_plans(filled, ask), name)


def test_what_goes_through_a_whole_tenant_follows_an_index(filled: Database) -> None:
    for name, ask in _WHOLE.items():
        require_index(_plans(filled, ask), name)
