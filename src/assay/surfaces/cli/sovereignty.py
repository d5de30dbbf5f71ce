"""`assay sovereignty`: what evaluates here, on whose ground, and how an outsider makes sure."""

from pathlib import Path

import click
import msgspec

from assay.operations.verdicts import OPERATIONS, SOVEREIGNTY
from assay.surfaces.cli.derive import add_operations, common_options
from assay.surfaces.cli.output import Call, Group, NodeCommand
from assay.surfaces.cli.perform import perform
from assay.surfaces.cli.sink import write_output
from assay.surfaces.cli.sovereignty_verify import verify

_HONEST_NO = 1


@click.group(cls=Group)
def sovereignty() -> None:
    """What evaluates here and on whose ground: show it, quote the TPM, verify the build, clear attempts to leave."""


sovereignty.add_command(verify)
add_operations(sovereignty, "sovereignty", OPERATIONS)


@sovereignty.command("show", cls=NodeCommand)
@common_options(SOVEREIGNTY)
@click.pass_context
def _show(context: click.Context, /, output: Path | None, **where: str | None) -> None:
    """Show the signed document that GET /api/sovereignty gives; exit 1 if a check of strict mode is unmet.

    With --json it is exactly that document, which `assay sovereignty verify --document` verifies elsewhere.
    """
    call: Call = context.obj
    body = perform(call, SOVEREIGNTY, {}, **where).body
    if output is not None:
        write_output(output, body)
    document = msgspec.json.decode(body)
    lines = [
        f"mode: {document['mode']}",
        f"weights: {document['model_weight_hash']}",
        f"graph: {document['kg_version_hash']}",
        f"commit: {document['codebase_commit_hash']}",
        f"build: {'stated' if document['build_provenance_attestation'] else 'none: this code was not built'}",
        *(f"{'ok' if one['is_met'] else 'NOT MET'} {one['check']}: {one['detail']}" for one in document["findings"]),
        f"receipts: {document['receipts']}",
        f"signed by {document['key_id']}",
    ]
    call.answer(document, "\n".join(lines))
    if not all(one["is_met"] for one in document["findings"]):
        context.exit(_HONEST_NO)
