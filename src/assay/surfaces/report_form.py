"""An audit report in the form that is asked for: the same bytes by every door, and how its period is written."""

from datetime import UTC, datetime
from enum import StrEnum

from assay.flows.ledger.check_report import render_report
from assay.flows.ledger.report_period import PeriodReport
from assay.kernel.instant import Instant, instant_of, parse_instant
from assay.surfaces.csv_text import CSV
from assay.surfaces.report_page import render_csv, render_page


class ReportForm(StrEnum):
    """`json` carries the entries, and is what `assay verify` checks."""

    HTML = "html"
    CSV = "csv"
    JSON = "json"


MEDIA_TYPES = {
    ReportForm.HTML: "text/html",
    ReportForm.CSV: CSV,
    ReportForm.JSON: "application/json",
}


def render_form(report: PeriodReport, form: ReportForm) -> bytes:
    """With the same report always the same bytes."""
    if form is ReportForm.JSON:
        return render_report(report)
    return (render_csv(report) if form is ReportForm.CSV else render_page(report)).encode()


def parse_day(text: str) -> Instant:
    """`2026-01-07T12:00:00Z`, or `2026-01-07` for the beginning of that day in UTC."""
    try:
        return instant_of(datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC))
    except ValueError:
        return parse_instant(text)
