"""`assay ledger prove` and `assay ledger export`: what is given to others."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.surfaces.cli.output import Call, NodeCommand, tenant_option
from assay.surfaces.cli.sink import write_output

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.flows.tools import Tools
    from assay.kernel.bundle import Bundle
    from assay.kernel.ids import TenantId

__all__ = ["export", "prove"]


@click.command(cls=NodeCommand)
@click.argument("sequence_number", metavar="[SEQ]", type=click.IntRange(min=1), required=False)
@click.option("--answer", "answer_id", metavar="ID", help="The entry of this answer, with its output unless withheld.")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Else standard output.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["bundle", "dsse", "scitt", "receipt"]),
    default="bundle",
    show_default=True,
    help="dsse: an in-toto statement. scitt: a COSE statement with its receipt. receipt: that alone (RFC 9942).",
)
@click.option("--text", "as_text", is_flag=True, help="A C2SP tlog-proof text, to verify with `show --text` beside it.")
@click.option("--disclose", is_flag=True, help="Show personal values that still exist to whoever gets the bundle.")
@click.option("--no-checkpoint", is_flag=True, help="Do not sign a checkpoint when none covers the entry yet.")
@tenant_option
@click.pass_obj
def prove(
    call: Call,
    sequence_number: int | None,
    answer_id: str | None,
    output: Path | None,
    form: str,
    tenant: str | None,
    *,
    as_text: bool,
    disclose: bool,
    no_checkpoint: bool,
) -> None:
    """Make the proof of entry SEQ, or of an answer, for `assay verify`: entry, path, checkpoint, keys.

    When no checkpoint covers the entry yet, one is signed first. The proof holds the node's public keys, but
    whoever verifies must know from elsewhere which of them to trust. The forms other than a bundle are signed by
    the ledger's key when they are made, and never hold personal values.
    """
    if form != "bundle" and (as_text or disclose):
        raise click.UsageError(f"--text and --disclose are for bundles, not for {form}")
    make = _maker(sequence_number, answer_id, disclose=disclose)
    bundle, content = _proof(call, make, tenant, "text" if as_text else form, may_sign=not no_checkpoint)
    if output is None:
        click.echo(content, nl=False)
        return
    write_output(output, content)
    call.answer(
        {
            "output": str(output),
            "sequence_number": bundle.leaf_index + 1,
            "entry_hash": bundle.entry_hash,
            "tree_size": bundle.tree_size,
        },
        f"wrote {output}: entry {bundle.leaf_index + 1} of {bundle.tree_size}",
    )


def _maker(
    sequence_number: int | None, answer_id: str | None, *, disclose: bool
) -> "Callable[[Tools, TenantId], Bundle]":
    from assay.flows.delivery.prove_answer import prove_answer
    from assay.flows.verdicts.prove_verdict import prove_entry

    if answer_id is not None and sequence_number is None and not disclose:
        return lambda tools, tenant_id: prove_answer(tools, tenant_id, answer_id)
    if sequence_number is None or answer_id is not None:
        raise click.UsageError("expected SEQ, or --answer alone, without --disclose")
    return lambda tools, tenant_id: prove_entry(tools, tenant_id, sequence_number, disclose=disclose)


def _proof(
    call: Call, make: "Callable[[Tools, TenantId], Bundle]", tenant: str | None, form: str, *, may_sign: bool
) -> "tuple[Bundle, bytes]":
    """Reading first, which also works beside a server; only a missing checkpoint needs the writer's place."""
    from assay.flows.errors.ledger import NoCheckpointError
    from assay.flows.ledger.sign_checkpoint import sign_checkpoint

    with call.open_node() as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        try:
            bundle = make(tools, tenant_id)
            return bundle, _rendered(tools, bundle, form)
        except NoCheckpointError:
            if not may_sign:
                raise
    with call.open_node(writable=True) as (tools, _):
        sign_checkpoint(tools, tenant_id, at=tools.clock.now())
        bundle = make(tools, tenant_id)
        return bundle, _rendered(tools, bundle, form)


def _rendered(tools: "Tools", bundle: "Bundle", form: str) -> bytes:
    from assay.flows.ledger.export_proof import ProofForm, render_proof
    from assay.flows.ledger.prove_record import tlog_proof_of
    from assay.kernel.proof import render_tlog_proof

    if form == "text":
        return render_tlog_proof(tlog_proof_of(bundle))
    return render_proof(tools, bundle, ProofForm(form), at=tools.clock.now())


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
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="PATH",
    help="A new file for ndjson (or - for standard output), a new or empty folder for the others.",
)
@click.option(
    "--from", "first", type=click.IntRange(min=1), default=1, show_default=True, metavar="SEQ", help="Start here."
)
@click.option("--to", "last", type=click.IntRange(min=1), metavar="SEQ", help="End here; else at the end.")
@tenant_option
@click.pass_obj
def export(call: Call, form: str, output: Path, first: int, last: int | None, tenant: str | None) -> None:
    """Write the ledger in a form that others read; personal values are never in it.

    tiles and bundle go up to the newest checkpoint; tiles are always whole. Existing files are not overwritten.
    """
    from assay.flows.ledger.export_ledger import ExportForm, export_ledger
    from assay.surfaces.cli.sink import FolderSink, open_file_sink

    with call.open_node() as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        if form == ExportForm.NDJSON:
            with open_file_sink(output) as put:
                exported = export_ledger(tools, tenant_id, ExportForm.NDJSON, put, first=first, last=last)
        else:
            put = FolderSink(output).put
            exported = export_ledger(tools, tenant_id, ExportForm(form), put, first=first, last=last)
    words = f"wrote {exported.entries} entries to {output}"
    if str(output) == "-":
        call.say(words)
    else:
        call.answer(exported, words)
