"""The table is complete: what doors offer comes from it, and what is generated from it is current."""

import re

import pytest

from assay.operations.table import TABLE
from assay.surfaces.cli.operations import row_of
from assay.surfaces.http.app import every_route
from tests.surfaces.cli.running import ask
from tools import calls, operations

# Routes of `/api/v1` that are still written by hand. Rooms that move to the table take theirs away; nobody adds one.
_BY_HAND = {
    "GET /api/v1/agreement",
    "GET /api/v1/answers",
    "GET /api/v1/answers/{answer_id}",
    "GET /api/v1/answers/{answer_id}/claims",
    "GET /api/v1/answers/{answer_id}/proof",
    "GET /api/v1/checkpoints",
    "GET /api/v1/checkpoints/{size}",
    "GET /api/v1/claims",
    "GET /api/v1/claims/{bundle_hash}",
    "GET /api/v1/contracts",
    "GET /api/v1/contracts/{claim_type}",
    "GET /api/v1/coverage",
    "GET /api/v1/entries",
    "GET /api/v1/entries/{sequence}",
    "GET /api/v1/events",
    "GET /api/v1/graphs",
    "GET /api/v1/graphs/active",
    "GET /api/v1/graphs/{document_hash}",
    "GET /api/v1/indexes",
    "GET /api/v1/observations",
    "GET /api/v1/observations/{observation_id}",
    "GET /api/v1/outcomes",
    "GET /api/v1/proofs/{sequence}",
    "GET /api/v1/reports",
    "GET /api/v1/root-causes",
    "GET /api/v1/root-causes/{item_id}",
    "GET /api/v1/rules",
    "GET /api/v1/rules/{rule_id}",
    "GET /api/v1/search",
    "GET /api/v1/search/proof",
    "GET /api/v1/services",
    "GET /api/v1/services/{service_id}",
    "GET /api/v1/sovereignty",
    "GET /api/v1/states",
    "GET /api/v1/states/{key}",
    "GET /api/v1/states/{key}/claims",
    "GET /api/v1/states/{key}/proof",
    "GET /api/v1/states/{key}/versions",
    "GET /api/v1/telemetry/{telemetry_id}/claims",
    "GET /api/v1/telemetry/{telemetry_id}/verdicts",
    "GET /api/v1/verdicts",
    "GET /api/v1/verdicts/{sequence}",
    "GET /api/v1/why",
    "POST /api/v1/answers",
    "POST /api/v1/answers/{answer_id}/resume",
    "POST /api/v1/checkpoints",
    "POST /api/v1/claims",
    "POST /api/v1/claims/{bundle_hash}/resume",
    "POST /api/v1/contracts",
    "POST /api/v1/entries",
    "POST /api/v1/evidence",
    "POST /api/v1/graphs",
    "POST /api/v1/indexes",
    "POST /api/v1/observations",
    "POST /api/v1/observations:bulk",
    "POST /api/v1/outcomes",
    "POST /api/v1/outcomes:bulk",
    "POST /api/v1/states/{key}/compile",
    "POST /api/v1/telemetry",
    "POST /api/v1/telemetry:bulk",
}


def _served() -> set[str]:
    return {
        f"{method} {re.sub(r':[a-z]+}', '}', path)}"
        for handler in every_route()
        for path in getattr(handler, "paths", ())
        for method in getattr(handler, "http_methods", ())
        if method != "OPTIONS" and path.startswith("/api/v1")
    }


def test_no_route_is_outside_the_table_but_those_that_are_still_to_move() -> None:
    declared = {f"{one.http_method} /api/v1{one.path}" for one in TABLE if one.route is not None}
    assert declared <= _served()
    assert _served() - declared <= _BY_HAND


@pytest.mark.parametrize("is_async", [False, True])
def test_the_methods_of_nodes_and_clients_are_current(*, is_async: bool) -> None:
    """`python tools/calls.py` writes them."""
    path = calls.ASYNC if is_async else calls.SYNC
    assert path.read_text() == calls.formatted(is_async=is_async)


def test_the_page_of_operations_is_current() -> None:
    """`make docs` writes it."""
    assert operations.PAGE.read_text() == operations.render_page()


def test_the_command_lists_every_operation_with_its_doors() -> None:
    told = ask("operations", "--json").json
    assert [one["name"] for one in told["items"]] == [one.name for one in TABLE]
    revoke = next(one for one in told["items"] if one["name"] == "key.revoke")
    assert revoke["route"] == "POST /api/v1/keys/{prefix}/revoke"
    assert (revoke["command"], revoke["roles"], revoke["session"]) == ("assay principal key revoke", ["admin"], True)
    assert "key.revoke" in ask("operations", "key").out


def test_an_operation_that_writes_asks_for_more_than_reading() -> None:
    """A machine that is limited to reading by the node's switch changes nothing; asking a question is reading."""
    reading = [one for one in TABLE if one.writes and one.needs.scope is not None and one.needs.tier < 2]
    assert [one.name for one in reading if not str(one.needs.scope).endswith((":read", ":query"))] == []
    assert all(row_of(one).kind for one in TABLE)
