"""`assay claims export`: what the node said, as a bundle that any gate reads."""

from pathlib import Path

import click

from assay.claims.bundle import ClaimBundle
from assay.flows.claims.export_claims import export_answer_claims, export_state_claims, export_verdict_claims
from assay.flows.tools import Tools
from assay.kernel.ids import TenantId
from assay.surfaces.cli.output import Call, NodeCommand, json_text, tenant_option
from assay.surfaces.cli.sink import write_output

_KINDS = ("answer", "state", "verdict")


@click.command(cls=NodeCommand)
@click.argument("what", type=click.Choice(_KINDS))
@click.argument("name", metavar="NAME")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Else standard output.")
@tenant_option
@click.pass_obj
def export(call: Call, what: str, name: str, output: Path | None, tenant: str | None) -> None:
    """Write what the node said as a ClaimBundle of its own, for whoever acts on it to hand to the gates.

    NAME is the id of an answer, the key of a truth state, or the telemetry id of the record whose verdicts they are.
    Nothing is recorded. The proof of the same is another file: `assay ledger prove`, `assay truth prove`.
    """
    with call.open_node() as (tools, config):
        bundle = _bundle(tools, call.tenant_of(config, tenant), what, name)
    content = json_text(bundle) + "\n"
    if output is None:
        click.echo(content, nl=False)
        return
    write_output(output, content.encode())
    call.answer(
        {"output": str(output), "id": bundle.id, "claims": len(bundle.claims)},
        f"wrote {output}: {len(bundle.claims)} claims",
    )


def _bundle(tools: Tools, tenant_id: TenantId, what: str, name: str) -> ClaimBundle:
    now = tools.clock.now()
    if what == "answer":
        return export_answer_claims(tools, tenant_id, name, at=now)
    if what == "state":
        return export_state_claims(tools, tenant_id, name, at=now)
    return export_verdict_claims(tools, tenant_id, name, at=now)
