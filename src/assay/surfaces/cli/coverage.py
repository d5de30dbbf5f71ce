"""`assay coverage`: the Coverage Register (SKI 9.2)."""

import click

from assay.flows.verdicts.coverage import CoverageReport, show_coverage
from assay.kernel.instant import render_instant
from assay.surfaces.cli.output import Call, ListCommand, tenant_option
from assay.verdicts.cover import CoverageEntry

_HEADS = ("SUBJECT", "RECORDS", "FIRST", "LAST", "METRICS", "JURISDICTIONS", "RULES SINCE")


@click.command(cls=ListCommand)
@click.option("--gaps", is_flag=True, help="Only subjects that no rule speaks about today.")
@tenant_option
@click.pass_obj
def coverage(call: Call, tenant: str | None, *, gaps: bool) -> None:
    """Subjects that received NULL_UNMAPPED: gaps first, the busiest first; then those that a later graph closed.

    A gap is telemetry that nobody wrote a rule for. Exit 0, gaps or not: the register is the answer.
    """
    with call.open_node() as (tools, config):
        found = show_coverage(tools, call.tenant_of(config, tenant))
    report = CoverageReport(gaps=found.gaps, closed=() if gaps else found.closed)
    rows = [_row(one) for one in (*report.gaps, *report.closed)]
    call.answer_table(report, _HEADS, rows, nothing="every subject so far has a rule")


def _row(one: CoverageEntry) -> tuple[str, ...]:
    return (
        one.subject,
        str(one.records),
        render_instant(one.first_seen_at),
        render_instant(one.last_seen_at),
        ", ".join(one.metrics) or "-",
        ", ".join(one.jurisdictions) or "-",
        one.mapped_by or "-",
    )
