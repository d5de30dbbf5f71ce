"""The audit report of a period: a form, and the file that follows from it."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from litestar import Request, get
from litestar.response import Response
from msgspec import Struct

from assay.flows.errors.ledger import NoCheckpointError
from assay.flows.ledger.report import MakeReport
from assay.flows.ledger.report_page import ReportForm
from assay.flows.request import Content
from assay.flows.show_overview import show_ledger_standing
from assay.kernel.instant import Instant, instant_of, render_instant
from assay.operations.table import BY_NAME
from assay.surfaces.console.errors import ConsoleError
from assay.surfaces.console.page import render_page
from assay.surfaces.console.session import GivenVisit, Visit, needs
from assay.surfaces.http.query import parse_query

_DAYS = 30


class ReportQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Days in UTC, the last one included; without it, up to the newest checkpoint."""

    since: str
    through: str = ""
    rule: str = ""
    subject: str = ""
    every: str = ""
    form: ReportForm = ReportForm.HTML


@get("/report", opt=needs("report.make"))
async def show_report_form(visit: GivenVisit) -> Response[bytes]:
    """The last thirty days, unless somebody says otherwise."""
    desk = visit.desk
    standing = await desk.run(lambda: show_ledger_standing(desk.tools, visit.tenant_id))
    since = (visit.at - timedelta(days=_DAYS)).date().isoformat()
    return render_page("report.html", visit, standing=standing, since=since, forms=list(ReportForm))


@get("/report/file", opt=needs("report.make"))
async def download_report(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """What was decided, on what, by whom and why, each row with its proof; nothing is signed for it."""
    wanted, desk = parse_query(ReportQuery, request), visit.desk
    asked = await desk.run(lambda: _asked(visit, wanted))
    content: Content = (await desk.perform(BY_NAME["report.make"], visit.permitted("report.make"), asked)).value
    name = f"report-{visit.tenant_id}-{wanted.since}.{wanted.form}"
    headers = {"cache-control": "no-store", "content-disposition": f'attachment; filename="{name}"'}
    return Response(content.body, media_type=content.media_type, headers=headers)


def _asked(visit: Visit, wanted: ReportQuery) -> MakeReport:
    from_at = _midnight("since", wanted.since)
    until = _midnight("through", wanted.through, days=1) if wanted.through else _covered_until(visit)
    if until <= from_at:
        raise ConsoleError.form_field(
            f"expected a period that begins before it ends, got one from `{wanted.since[:20]}` on"
        )
    return MakeReport(
        from_at=render_instant(from_at),
        to=render_instant(until),
        every_kind=bool(wanted.every),
        rule=wanted.rule or None,
        subject=wanted.subject or None,
        format=wanted.form,
    )


def _midnight(name: str, text: str, *, days: int = 0) -> Instant:
    try:
        day = date.fromisoformat(text) + timedelta(days=days)
        return instant_of(datetime(day.year, day.month, day.day, tzinfo=UTC))
    except (ValueError, OverflowError) as error:
        raise ConsoleError.form_field(f"expected a date such as 2026-01-07 in `{name}`, got `{text[:20]}`") from error


def _covered_until(visit: Visit) -> Instant:
    """What came after the newest checkpoint is not proven yet."""
    standing = show_ledger_standing(visit.desk.tools, visit.tenant_id)
    if standing.checkpoint is None:
        raise NoCheckpointError(f"expected a checkpoint of `{visit.tenant_id}`, got none")
    return standing.checkpoint.signed_at
