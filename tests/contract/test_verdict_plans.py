"""How the databases find what a verdict asks for: along an index, also on tables they know nothing about yet."""

from collections.abc import Callable

import pytest

from assay.adapters.sql.graph_store import SqlGraphStore
from assay.adapters.sql.row import sortable
from assay.adapters.sql.session import Row
from assay.adapters.sql.telemetry_store import SqlTelemetryStore
from assay.adapters.sql.verdict_store import SqlVerdictStore
from assay.kernel.digest import digest_of
from assay.ports.database import Database
from tests.contract._kit import AT
from tests.contract._plans import fill, plans_of, require_index, require_narrow
from tests.contract._records import ACME
from tests.contract._verdicts import activation, buffered, drop, judged, known, review, version

_Ask = Callable[[SqlGraphStore, SqlTelemetryStore, SqlVerdictStore], object]
_HASH = digest_of(b"any")
_FEW: dict[str, _Ask] = {
    "a graph": lambda graphs, _, __: graphs.find_version(ACME, _HASH),
    "a graph's head": lambda graphs, _, __: graphs.find_head(ACME, _HASH),
    "a content": lambda graphs, _, __: graphs.find_content(ACME, _HASH),
    "reviews": lambda graphs, _, __: graphs.reviews(ACME, _HASH),
    "known telemetry": lambda _, telemetry, __: telemetry.find_known(ACME, "t-7"),
    "a window": lambda _, telemetry, __: telemetry.buffered(ACME, "stack-7", since=AT, until=AT),
    "a whole buffer": lambda _, telemetry, __: telemetry.buffered(ACME, "stack-7", until=AT),
    "an extent": lambda _, telemetry, __: telemetry.extent(ACME, "stack-7"),
    "the oldest and the newest": lambda _, telemetry, __: telemetry.find_ends(ACME, "stack-7"),
    "the latest drop": lambda _, telemetry, __: telemetry.dropped_until(ACME, "stack-7"),
    "a verdict": lambda _, __, verdicts: verdicts.find(ACME, 7),
    "verdicts of a record": lambda _, __, verdicts: verdicts.of_telemetry(ACME, "t-7"),
    "a verdict by ticket": lambda _, __, verdicts: verdicts.find_by_ticket(ACME, "tkt"),
    "a used token": lambda _, __, verdicts: verdicts.has_attestation(ACME, "ab"),
    "a page of a rule": lambda _, __, verdicts: verdicts.page(ACME, rule_id="rule-7", before=70),
    "a page of a subject": lambda _, __, verdicts: verdicts.page(ACME, subject="stack-7", before=70),
    "coverage of a subject": lambda _, __, verdicts: verdicts.find_coverage(ACME, "stack-7"),
    "stability of a rule": lambda _, __, verdicts: verdicts.find_stability(ACME, "rule-7"),
    "a graph added": lambda graphs, _, __: graphs.add_version(ACME, version(number=5000)),
    "a review added": lambda graphs, _, __: graphs.add_review(ACME, review()),
    "an activation added": lambda graphs, _, __: graphs.activate(ACME, activation()),
    "telemetry added": lambda _, telemetry, __: telemetry.add_known(ACME, known("new", number=5000)),
    "a record buffered": lambda _, telemetry, __: telemetry.buffer(ACME, buffered("new")),
    "a drop added": lambda _, telemetry, __: telemetry.add_drop(ACME, drop(5000)),
    "a verdict added": lambda _, __, verdicts: verdicts.add(ACME, judged(5000)),
}
_WHOLE: dict[str, _Ask] = {
    "the graph in use": lambda graphs, _, __: graphs.find_active(ACME),
    "all verdicts": lambda _, __, verdicts: list(verdicts.all(ACME, first=7, last=9)),
    "the newest page": lambda _, __, verdicts: verdicts.page(ACME, before=70, limit=10),
    "held verdicts": lambda _, __, verdicts: verdicts.held(ACME, after=7, limit=10),
    "the window of agreement": lambda _, __, verdicts: verdicts.statuses(ACME, 10),
}


def _verdict_row(number: int, at: str) -> Row:
    name, rest = f"stack-{number % 50}", (None, "h", at, None, None, None)
    return (ACME, number, f"t-{number}", f"rule-{number % 50}", name, at, "final", "CLEAR", "AGREED", "low", *rest)


@pytest.fixture
def filled(database: Database) -> Database:
    """Enough for the size alone to say that a tenant has many rows, since there are no statistics."""
    at, count = sortable(AT), range(1, 3001)
    rows: dict[str, list[Row]] = {
        "graph_version": [(ACME, f"d-{n}", f"c-{n}", "typed", None, "{}", at, "user:a", n) for n in count],
        "telemetry": [(ACME, f"t-{n}", "h", f"stack-{n % 50}", at, n) for n in count],
        "telemetry_buffer": [(ACME, f"stack-{n % 50}", at, f"t-{n}", "{}") for n in count],
        "verdict_index": [_verdict_row(n, at) for n in count],
        "coverage": [(ACME, f"stack-{n}", "{}") for n in count],
        "rule_stability": [(ACME, f"rule-{n}", "p", n) for n in count],
    }
    fill(database, rows)
    return database


def _plans(database: Database, ask: _Ask) -> list[str]:
    return plans_of(
        database, lambda session: ask(SqlGraphStore(session), SqlTelemetryStore(session), SqlVerdictStore(session))
    )


def test_one_thing_is_found_by_what_tells_it_apart(filled: Database) -> None:
    """Never by reading all rows of a tenant."""
    for name, ask in _FEW.items():
        require_narrow(_plans(filled, ask), name)


def test_what_goes_through_a_whole_tenant_follows_an_index(filled: Database) -> None:
    for name, ask in _WHOLE.items():
        require_index(_plans(filled, ask), name)
