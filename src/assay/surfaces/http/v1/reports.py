"""`/api/v1/reports`: what was decided in a period, for an auditor; the same bytes as `assay report` writes."""

from collections.abc import AsyncGenerator, Callable
from typing import Any

from litestar import Request, get
from litestar.di import NamedDependency
from litestar.response import Stream
from msgspec import Struct, field

from assay.flows.identity.authenticate import Authenticated
from assay.flows.ledger.report_period import SERVED_BYTES, ReportScope, report_period
from assay.flows.request import FieldProblem, FieldsError
from assay.identity.authorise import require_same_tenant
from assay.identity.principal import BuiltInRole
from assay.kernel.errors import Error
from assay.kernel.ids import parse_tenant_id
from assay.kernel.instant import Instant
from assay.surfaces.credential import VARY
from assay.surfaces.http.describe import described, operation, problems
from assay.surfaces.http.desk import GivenDesk
from assay.surfaces.http.guard import allow
from assay.surfaces.http.query import parse_query
from assay.surfaces.http.v1.common import PREFIX
from assay.surfaces.report_form import MEDIA_TYPES, ReportForm, parse_day, render_form

_PIECE = 64 * 1024
# A page of ours, opened by itself: it loads nothing, runs nothing, and stands in no other page.
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "vary": VARY,
    "x-content-type-options": "nosniff",
}


class ReportQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From a date (UTC) or an instant on, and before another, else until now.

    Only what was decided under a rule or claim type, or is about a subject; `all` takes entries of every kind.
    """

    from_at: str = field(name="from")
    to: str | None = None
    tenant: str | None = None
    rule: str | None = None
    subject: str | None = None
    every_kind: bool = field(name="all", default=False)
    format: ReportForm = ReportForm.HTML


@get(
    f"{PREFIX}/reports",
    opt=allow(scope="log:read", roles=[BuiltInRole.AUDITOR, BuiltInRole.OPERATOR]),
    operation_class=operation(query=ReportQuery, also=["application/json", "text/csv"]),
    responses={
        200: described(
            "the report, and the proof of each entry", kind=str, media_type="text/html", example="<!doctype html>…"
        ),
        **problems(400, 401, 403, 404, 409, 413, 422, 429),
    },
)
async def show_report(
    request: Request[Any, Any, Any], desk: GivenDesk, caller: NamedDependency[Authenticated]
) -> Stream:
    """What was decided, on what, by whom, and why; 409 while no checkpoint covers every entry.

    `json` carries the entries, and is what `assay verify` checks. Personal values are in no report.
    """
    wanted, now, principal = parse_query(ReportQuery, request), desk.tools.clock.now(), caller.principal
    require_same_tenant(principal, parse_tenant_id(wanted.tenant or principal.tenant_id))
    scope = _scope(wanted, now)

    def make() -> bytes:
        made = report_period(desk.tools, principal.tenant_id, scope, at=now, most_bytes=SERVED_BYTES)
        return render_form(made, wanted.format)

    content = await desk.draw_up(make)
    name = f"report-{principal.tenant_id}-{scope.from_at:%Y%m%d}-{scope.until:%Y%m%d}.{wanted.format}"
    shown = {**_HEADERS, "content-disposition": f'inline; filename="{name}"'}
    return Stream(_pieces(content), media_type=MEDIA_TYPES[wanted.format], headers=shown)


def _pieces(content: bytes) -> Callable[[], AsyncGenerator[bytes, None]]:
    """A slow reader holds the report itself, and no second copy of it in a socket's buffer."""

    async def send() -> AsyncGenerator[bytes, None]:
        for start in range(0, len(content), _PIECE):
            yield content[start : start + _PIECE]

    return send


def _scope(wanted: ReportQuery, now: Instant) -> ReportScope:
    from_at, until = _moment("from", wanted.from_at), now if wanted.to is None else _moment("to", wanted.to)
    if until <= from_at:
        raise FieldsError([FieldProblem(field="from", message="expected a time before `to`")])
    return ReportScope(
        from_at=from_at, until=until, every_kind=wanted.every_kind, rule=wanted.rule, subject=wanted.subject
    )


def _moment(name: str, text: str) -> Instant:
    try:
        return parse_day(text)
    except Error as error:
        raise FieldsError([FieldProblem(field=name, message=str(error))]) from error
