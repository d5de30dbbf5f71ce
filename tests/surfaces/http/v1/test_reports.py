"""The auditor's report over HTTP: for whoever may read the ledger, and byte for byte what the command writes."""

from dataclasses import replace

import msgspec
import pytest

from assay.flows.errors.ledger import LedgerFlowError
from assay.flows.ledger.check_report import check_report, parse_report
from assay.flows.ledger.report import MakeReport, parse_day
from assay.flows.ledger.report_page import MEDIA_TYPES, ReportForm, render_form
from assay.flows.ledger.report_period import SERVED_BYTES, ReportScope, report_period
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.identity.caller import local_caller
from assay.kernel.instant import Instant, parse_instant, render_instant
from assay.kernel.key import parse_anchors
from assay.operations.dispatch import Dispatcher
from assay.operations.problem import status_of
from assay.operations.table import BY_NAME
from assay.surfaces.client import Client
from assay.surfaces.http.desk import Desk
from tests.flows._node import TENANT
from tests.raising import raises
from tests.surfaces.http._house import refused
from tests.surfaces.http.v1._whole import Whole

_REPORTS = "/api/v1/reports"


def _covered(whole: Whole) -> tuple[Instant, Instant]:
    """A period that all of it is in, and a checkpoint over it."""
    whole.post("/api/v1/telemetry", whole.record("reported"), "sensor")
    sign_checkpoint(whole.tools, TENANT, at=whole.clock.now())
    return whole.desk.at(hours=-1), whole.desk.at(hours=1)


@pytest.mark.parametrize("form", list(ReportForm))
def test_the_bytes_are_those_of_the_command(whole: Whole, form: ReportForm) -> None:
    start, end = _covered(whole)
    told = whole.get(f"{_REPORTS}?from={render_instant(start)}&to={render_instant(end)}&format={form}")
    scope = ReportScope(from_at=start, until=end)
    made = report_period(whole.tools, TENANT, scope, at=whole.clock.now())
    assert (told.status_code, told.headers["content-type"].split(";")[0]) == (200, MEDIA_TYPES[form]), told.text
    assert told.content == render_form(made, form)
    assert len(made.rows) > 0
    assert f".{form}" in told.headers["content-disposition"]
    assert told.headers["content-security-policy"].startswith("sandbox")


def test_the_json_of_it_is_verified_with_nothing_but_a_key(whole: Whole) -> None:
    start, end = _covered(whole)
    client = Client("http://testserver.local", key=whole.keys["operator"], http=whole.client)
    content = client.report(render_instant(start), to=render_instant(end), format="json")
    finding = check_report(parse_report(content), parse_anchors([whole.tools.founder]))
    assert finding.holds, finding


def test_a_rule_and_a_subject_narrow_it(whole: Whole) -> None:
    start, end = _covered(whole)
    asked = f"{_REPORTS}?from={render_instant(start)}&to={render_instant(end)}&format=json"
    every, one, none = (
        msgspec.json.decode(whole.get(asked + more).content)["rows"] for more in ("&all=true", "&rule=r1", "&rule=no")
    )
    assert len(every) > len(one) > 0 == len(none)
    assert all("r1" in row["rules"] for row in one)


def test_one_that_is_longer_than_a_server_makes_is_refused(whole: Whole) -> None:
    start, end = _covered(whole)
    desk: Desk = whole.client.app.state.desk
    assert desk.tools.most_report_bytes == SERVED_BYTES
    small = Dispatcher(tools=replace(whole.tools, most_report_bytes=100))
    caller = local_caller(TENANT, at=whole.clock.now())
    request = MakeReport(from_at=render_instant(start), to=render_instant(end))
    with raises(LedgerFlowError.report_size) as caught:
        small(BY_NAME["report.make"], caller, request)
    assert status_of(caught.value) == 413


def test_it_is_for_auditors_and_operators_of_the_tenant(whole: Whole) -> None:
    asked = f"{_REPORTS}?from=2026-01-01"
    refused(whole.get(asked, "rita"), 403, "identity.role")
    refused(whole.get(asked, "narrow"), 403, "identity.scope")
    refused(whole.client.get(asked), 401, "identity.not_signed_in")
    _covered(whole)
    assert whole.get(asked).status_code == 200


def test_what_no_checkpoint_covers_is_not_reported(whole: Whole) -> None:
    """Reading signs nothing: `POST /api/v1/checkpoints` does, for whoever may."""
    whole.post("/api/v1/entries", {"note": {"not": "covered"}})
    before = whole.entries()
    told = whole.get(f"{_REPORTS}?from=2026-01-01&to={whole.later(hours=1)}")
    refused(told, 409, "proof.no_checkpoint")
    assert whole.entries() == before


@pytest.mark.parametrize(
    "query",
    [
        "",
        "from=yesterday",
        "from=2026-01-01T00:00",
        "from=2026-01-02&to=2026-01-01",
        "from=2026-01-01&format=pdf",
    ],
)
def test_a_period_that_is_none_is_named(whole: Whole, query: str) -> None:
    refused(whole.get(f"{_REPORTS}?{query}"), 422, "http.fields")


def test_a_day_begins_in_utc() -> None:
    assert parse_day("2026-01-07") == parse_instant("2026-01-07T00:00:00Z")
