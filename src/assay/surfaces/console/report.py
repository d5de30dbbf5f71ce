"""The audit report of a period: a form, and the file that follows from it."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from litestar import Request, get
from litestar.response import Response
from msgspec import Struct

from assay.flows.errors.ledger import NoCheckpointError
from assay.flows.ledger.report_period import SERVED_BYTES, ReportScope, report_period
from assay.flows.show_overview import show_ledger_standing
from assay.kernel.instant import Instant, instant_of
from assay.surfaces.console.errors import FormFieldError
from assay.surfaces.console.page import render_page
from assay.surfaces.console.session import READERS, GivenVisit, Visit
from assay.surfaces.http.query import parse_query
from assay.surfaces.report_form import MEDIA_TYPES, ReportForm, render_form

_DAYS = 30


class ReportQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Days in UTC, the last one included; without it, up to the newest checkpoint."""

    since: str
    through: str = ""
    rule: str = ""
    subject: str = ""
    every: str = ""
    form: ReportForm = ReportForm.HTML


@get("/report", opt=READERS)
async def show_report_form(visit: GivenVisit) -> Response[bytes]:
    """The last thirty days, unless somebody says otherwise."""
    desk = visit.desk
    standing = await desk.run(lambda: show_ledger_standing(desk.tools, visit.tenant_id))
    since = (visit.at - timedelta(days=_DAYS)).date().isoformat()
    return render_page("report.html", visit, standing=standing, since=since, forms=list(ReportForm))


@get("/report/file", opt=READERS)
async def download_report(request: Request[Any, Any, Any], visit: GivenVisit) -> Response[bytes]:
    """What was decided, on what, by whom and why, each row with its proof; nothing is signed for it."""
    wanted, desk = parse_query(ReportQuery, request), visit.desk

    def make() -> bytes:
        scope = _scope(visit, wanted)
        now = desk.tools.clock.now()
        return render_form(
            report_period(desk.tools, visit.tenant_id, scope, at=now, most_bytes=SERVED_BYTES), wanted.form
        )

    content = await desk.draw_up(make)
    name = f"report-{visit.tenant_id}-{wanted.since}.{wanted.form}"
    headers = {"cache-control": "no-store", "content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=MEDIA_TYPES[wanted.form], headers=headers)


def _scope(visit: Visit, wanted: ReportQuery) -> ReportScope:
    from_at = _midnight("since", wanted.since)
    until = _midnight("through", wanted.through, days=1) if wanted.through else _covered_until(visit)
    if until <= from_at:
        raise FormFieldError(f"expected a period that begins before it ends, got one from `{wanted.since[:20]}` on")
    return ReportScope(
        from_at=from_at,
        until=until,
        every_kind=bool(wanted.every),
        rule=wanted.rule or None,
        subject=wanted.subject or None,
    )


def _midnight(name: str, text: str, *, days: int = 0) -> Instant:
    try:
        day = date.fromisoformat(text) + timedelta(days=days)
        return instant_of(datetime(day.year, day.month, day.day, tzinfo=UTC))
    except (ValueError, OverflowError) as error:
        raise FormFieldError(f"expected a date such as 2026-01-07 in `{name}`, got `{text[:20]}`") from error


def _covered_until(visit: Visit) -> Instant:
    """What came after the newest checkpoint is not proven yet."""
    standing = show_ledger_standing(visit.desk.tools, visit.tenant_id)
    if standing.checkpoint is None:
        raise NoCheckpointError(f"expected a checkpoint of `{visit.tenant_id}`, got none")
    return standing.checkpoint.signed_at
