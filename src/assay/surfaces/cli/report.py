"""`assay report`: what was decided in a period, for an auditor."""

from pathlib import Path

import click

from assay.flows.ledger.check_report import parse_report
from assay.flows.ledger.report_page import ReportForm, render_form, render_page
from assay.operations.table import BY_NAME
from assay.surfaces.cli.derive import common_options
from assay.surfaces.cli.output import Call, NodeCommand
from assay.surfaces.cli.perform import perform, perform_only
from assay.surfaces.cli.sink import write_output

_REPORT = BY_NAME["report.make"]
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(cls=NodeCommand)
@click.option("--from", "from_at", required=True, metavar="TIME", help="A date (UTC) or an instant; begins there.")
@click.option("--to", metavar="TIME", help="Ends before this date or instant; else now.")
@click.option("--rule", metavar="ID", help="Only what was decided under this rule or claim type.")
@click.option("--subject", metavar="NAME", help="Only what is about this: a subject, truth key, bundle, ticket.")
@click.option("--all", "every_kind", is_flag=True, help="Entries of every kind, not only decisions.")
@click.option(
    "--format",
    "form",
    type=click.Choice([str(form) for form in ReportForm]),
    default=str(ReportForm.HTML),
    show_default=True,
    help="json carries the entries, and is what `assay verify` checks.",
)
@click.option("--pdf", type=_FILE, metavar="FILE", help="The page, printed here through an installed Chromium.")
@click.option("--no-checkpoint", is_flag=True, help="Do not sign a checkpoint when none covers the period yet.")
@common_options(_REPORT)
@click.pass_obj
def report(
    call: Call,
    /,
    *,
    form: str,
    output: Path | None,
    pdf: Path | None,
    no_checkpoint: bool,
    tenant: str | None,
    credential: str | None,
    node: str | None,
    idempotency_key: str | None,
    **wanted: object,
) -> None:
    """Report what was decided from --from on: on what, by whom, why, and the proof of each entry.

    When no checkpoint covers every entry of the period, one is signed first. Personal values are in no report.
    """
    where = {"tenant": tenant, "credential": credential, "node": node, "idempotency_key": idempotency_key}
    asked = {name: value for name, value in wanted.items() if value is not None}
    given = {**asked, "format": ReportForm.JSON}
    made = parse_report((perform_only if no_checkpoint else perform)(call, _REPORT, given, **where).body)
    if pdf is not None:
        from assay.adapters.chromium_pdf import print_pdf

        write_output(pdf, print_pdf(render_page(made)))
    content = render_form(made, ReportForm.JSON if call.as_json and output is None else ReportForm(form))
    if output is None and pdf is None:
        click.echo(content, nl=False)
        return
    if output is not None:
        write_output(output, content)
    written = [str(path) for path in (output, pdf) if path is not None]
    counted = {"written": written, "rows": len(made.rows), "entries": made.entries, "tree_size": made.tree_size}
    call.answer(
        counted, f"wrote {', '.join(written)}: {len(made.rows)} entries, proven by a checkpoint of {made.tree_size}"
    )
