"""Make the audit report of a period, in the form that is asked for."""

from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta, field

from assay.flows.ledger.report_page import MEDIA_TYPES, ReportForm, render_form
from assay.flows.ledger.report_period import ReportScope, report_period
from assay.flows.request import Content, FieldProblem, FieldsError, Option, Request
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.errors import Error
from assay.kernel.instant import Instant, instant_of, parse_instant

# A page of ours, opened by itself: it loads nothing, runs nothing, and stands in no other page.
_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
_HEADERS = {"cache-control": "no-store", "content-security-policy": _POLICY, "x-content-type-options": "nosniff"}


class MakeReport(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    from_at: Annotated[
        str,
        Meta(max_length=40, description="A date (UTC) or an RFC 3339 instant from which entries are reported."),
        Option(form="argument"),
    ] = field(name="from")
    to: Annotated[str | None, Meta(description="Report entries before this date or instant; else until now.")] = None
    rule: Annotated[str | None, Meta(description="Only what was decided under this rule or claim type.")] = None
    subject: Annotated[
        str | None, Meta(description="Only what is about this: a subject, truth key, bundle, ticket.")
    ] = None
    every_kind: Annotated[bool, Meta(description="Entries of every kind, not only decisions.")] = field(
        name="all", default=False
    )
    format: Annotated[
        ReportForm, Meta(description="`json` carries the entries, and is what `assay verify` checks.")
    ] = ReportForm.HTML


def make_report(tools: Tools, caller: Caller, request: MakeReport) -> Content:
    """Report what was decided in a period: on what, by whom, why, and the proof of each entry.

    Refused while no checkpoint covers every entry of the period. Personal values are in no report.
    """
    scope = _scope(request, caller.at)
    report = report_period(tools, caller.tenant_id, scope, at=caller.at, most_bytes=tools.most_report_bytes)
    name = f"report-{caller.tenant_id}-{scope.from_at:%Y%m%d}-{scope.until:%Y%m%d}.{request.format}"
    return Content(
        body=render_form(report, request.format),
        media_type=MEDIA_TYPES[request.format],
        headers={**_HEADERS, "content-disposition": f'inline; filename="{name}"'},
    )


def _scope(request: MakeReport, now: Instant) -> ReportScope:
    from_at = _moment("from", request.from_at)
    until = now if request.to is None else _moment("to", request.to)
    if until <= from_at:
        raise FieldsError([FieldProblem(field="from", message="expected a time before `to`")])
    return ReportScope(
        from_at=from_at, until=until, every_kind=request.every_kind, rule=request.rule, subject=request.subject
    )


def _moment(name: str, text: str) -> Instant:
    try:
        return parse_day(text)
    except Error as error:
        raise FieldsError([FieldProblem(field=name, message=str(error))]) from error


def parse_day(text: str) -> Instant:
    """`2026-01-07T12:00:00Z`, or `2026-01-07` for the beginning of that day in UTC."""
    try:
        return instant_of(datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC))
    except ValueError:
        return parse_instant(text)
