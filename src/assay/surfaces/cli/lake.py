"""`assay lake`: decisions, verdicts, states, outcomes and tickets as Parquet, which other programs read directly."""

from typing import TYPE_CHECKING

import click

from assay.surfaces.cli.keys import read_anchors, trust_option
from assay.surfaces.cli.output import Call, Command, Group, NodeCommand, tenant_option

if TYPE_CHECKING:
    from assay.flows.lake.verify import LakeReport

_REFUSED = 3
_SHOWN = 20


@click.group(cls=Group)
def lake() -> None:
    """Write tables that other programs read, and verify them."""


@lake.command(cls=NodeCommand)
@click.argument("place", metavar="FOLDER|URL")
@tenant_option
@click.pass_obj
def export(call: Call, place: str, tenant: str | None) -> None:
    """Write what is new up to the newest checkpoint to FOLDER or a bucket (s3://…), with a signed manifest.

    Tables: entries, bundles, decisions, verdicts, states, answers, outcomes and tickets, in folders by tenant, kind and
    day. Personal values are never in them.
    """
    from assay.adapters.object_store import open_object_store
    from assay.adapters.parquet import ParquetFormat
    from assay.flows.lake.export import export_lake

    with call.open_node() as (tools, config):
        store, form = open_object_store(place), ParquetFormat()
        done = export_lake(tools, call.tenant_of(config, tenant), store, form, at=tools.clock.now())
    words = f"{place}: {done.last} entries, {done.entries} of them new: {done.rows} rows in {done.files} files"
    call.answer(done, words)


@lake.command(cls=Command)
@click.argument("place", metavar="FOLDER|URL")
@trust_option
@click.pass_context
def verify(context: click.Context, place: str, trust: tuple[str, ...]) -> None:
    """Verify every row in FOLDER or a bucket with its files alone: no node, no database.

    Exit 0: every row is what a signed ledger says. Exit 3: rows or files were changed, added or removed; each is named.
    """
    from assay.adapters.object_store import open_object_store
    from assay.adapters.parquet import ParquetFormat
    from assay.flows.lake.verify import verify_lake

    call: Call = context.obj
    report = verify_lake(open_object_store(place), ParquetFormat(), read_anchors(trust))
    call.answer(report, _text(report))
    if not report.holds:
        context.exit(_REFUSED)


def _text(report: "LakeReport") -> str:
    counted = f"{report.rows} rows in {report.files} files of {report.manifests} exports"
    if report.holds:
        return f"VALID: {counted}"
    lines = [f"INVALID: {len(report.problems)} problems; {counted} were read"]
    for problem in report.problems[:_SHOWN]:
        entry = "" if problem.sequence_number is None else f", entry {problem.sequence_number}"
        lines.append(f"{problem.what}: {problem.path}{entry}: {problem.message}")
    if len(report.problems) > _SHOWN:
        lines.append(f"and {len(report.problems) - _SHOWN} more: --json lists all")
    return "\n".join(lines)
