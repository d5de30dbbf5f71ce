"""`assay report`: what was decided in a period, for an auditor."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.surfaces.cli.acting import MOMENT
from assay.surfaces.cli.output import Call, NodeCommand, tenant_option
from assay.surfaces.cli.sink import write_output

if TYPE_CHECKING:
    from assay.flows.ledger.report_period import PeriodReport, ReportScope
    from assay.kernel.instant import Instant


@click.command(cls=NodeCommand)
@click.option("--from", "from_at", required=True, type=MOMENT, metavar="TIME", help="A date (UTC), or an instant.")
@click.option("--to", "until", type=MOMENT, metavar="TIME", help="Before this; else until now.")
@click.option("--rule", metavar="ID", help="Only what was decided under this rule or claim type.")
@click.option("--subject", metavar="NAME", help="Only what is about this: a subject, truth key, bundle, ticket.")
@click.option("--all", "every_kind", is_flag=True, help="Entries of every kind, not only decisions.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "csv", "json"]),
    default="html",
    show_default=True,
    help="json carries the entries, and is what `assay verify` checks.",
)
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Else standard output.")
@click.option("--pdf", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="The page, printed here.")
@click.option("--no-checkpoint", is_flag=True, help="Do not sign a checkpoint when none covers the period yet.")
@tenant_option
@click.pass_obj
def report(
    call: Call,
    /,
    *,
    from_at: "Instant",
    until: "Instant | None",
    rule: str | None,
    subject: str | None,
    every_kind: bool,
    form: str,
    output: Path | None,
    pdf: Path | None,
    no_checkpoint: bool,
    tenant: str | None,
) -> None:
    """Report what was decided from --from on: on what, by whom, why, and the proof of each entry.

    When no checkpoint covers every entry of the period, one is signed first; beside a running server, which signs its
    own, name an end with --to that lies before the newest one. --pdf prints the page through an installed Chromium.
    Personal values are in no report.
    """
    from assay.adapters.clock import SystemClock
    from assay.flows.ledger.report_period import ReportScope

    end = until or SystemClock().now()
    if end <= from_at:
        raise click.UsageError("expected --from before --to")
    scope = ReportScope(from_at=from_at, until=end, every_kind=every_kind, rule=rule, subject=subject)
    made = _made(call, tenant, scope, may_sign=not no_checkpoint)
    if pdf is not None:
        _print(made, pdf)
    content = _rendered(made, "json" if call.as_json and output is None else form)
    if output is None and pdf is None:
        click.echo(content, nl=False)
        return
    if output is not None:
        write_output(output, content)
    written = [str(path) for path in (output, pdf) if path is not None]
    told = {"written": written, "rows": len(made.rows), "entries": made.entries, "tree_size": made.tree_size}
    call.answer(
        told, f"wrote {', '.join(written)}: {len(made.rows)} entries, proven by a checkpoint of {made.tree_size}"
    )


def _made(call: Call, tenant: str | None, scope: "ReportScope", *, may_sign: bool) -> "PeriodReport":
    """Reading first, which also works beside a server; only a missing checkpoint needs the writer's place."""
    from assay.adapters.sql.errors import WriterHeldError
    from assay.flows.errors.ledger import NoCheckpointError
    from assay.flows.ledger.report_period import report_period
    from assay.flows.ledger.sign_checkpoint import sign_checkpoint

    with call.open_node() as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        try:
            return report_period(tools, tenant_id, scope, at=tools.clock.now())
        except NoCheckpointError as error:
            if not may_sign:
                raise
            missing = error
    try:
        with call.open_node(writable=True) as (tools, _):
            sign_checkpoint(tools, tenant_id, at=tools.clock.now())
            return report_period(tools, tenant_id, scope, at=tools.clock.now())
    except WriterHeldError as held:
        advice = "the running server signs the next one; ask again then, or name an earlier end with --to"
        raise NoCheckpointError(f"{missing}: {advice}") from held


def _rendered(made: "PeriodReport", form: str) -> bytes:
    from assay.surfaces.report_form import ReportForm, render_form

    return render_form(made, ReportForm(form))


def _print(made: "PeriodReport", path: Path) -> None:
    from assay.adapters.chromium_pdf import print_pdf
    from assay.surfaces.report_page import render_page

    write_output(path, print_pdf(render_page(made)))
