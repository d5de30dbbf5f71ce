"""`assay ledger export`: the ledger as files on this machine."""

from pathlib import Path

import click

from assay.surfaces.cli.output import Call, NodeCommand, tenant_option


@click.command(cls=NodeCommand)
@click.option(
    "--format",
    "form",
    type=click.Choice(["bundle", "ndjson", "tiles"]),
    default="ndjson",
    show_default=True,
    help="ndjson: entry texts, a line each. tiles: a static C2SP tile log. bundle: a proof for each entry.",
)
@click.option(
    "--output",
    required=True,
    metavar="PATH",
    help="A new file for ndjson (or - for standard output), a new or empty folder for bundle; for tiles a folder or "
    "the URL of a bucket (s3://...), where only what is new is written.",
)
@click.option(
    "--from", "first", type=click.IntRange(min=1), default=1, show_default=True, metavar="SEQ", help="Start here."
)
@click.option("--to", "last", type=click.IntRange(min=1), metavar="SEQ", help="End here; else at the end.")
@tenant_option
@click.pass_obj
def export(call: Call, form: str, output: str, first: int, last: int | None, tenant: str | None) -> None:
    """Write the ledger in a form that others read; personal values are never in it.

    tiles and bundle go up to the newest checkpoint. Tiles are always whole: a log that is there already is continued,
    and `assay monitor` verifies it. Existing files of the other forms are not overwritten.
    """
    if form == "tiles":
        _publish(call, output, tenant)
        return
    from assay.flows.ledger.export_ledger import ExportForm, export_ledger
    from assay.surfaces.cli.sink import FolderSink, open_file_sink

    with call.open_node() as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        if form == ExportForm.NDJSON:
            with open_file_sink(Path(output)) as put:
                exported = export_ledger(tools, tenant_id, ExportForm.NDJSON, put, first=first, last=last)
        else:
            put = FolderSink(Path(output)).put
            exported = export_ledger(tools, tenant_id, ExportForm(form), put, first=first, last=last)
    words = f"wrote {exported.entries} entries to {output}"
    if output == "-":
        call.say(words)
    else:
        call.answer(exported, words)


def _publish(call: Call, output: str, tenant: str | None) -> None:
    from assay.adapters.object_store import open_object_store
    from assay.flows.ledger.publish_log import publish_log

    with call.open_node() as (tools, config):
        published = publish_log(tools, call.tenant_of(config, tenant), open_object_store(output))
    words = f"{output}: {published.size} entries, {published.new_entries} of them new, in {published.files} files"
    call.answer(published, words)
