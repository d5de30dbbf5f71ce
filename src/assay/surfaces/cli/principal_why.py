"""`assay principal why`: may they do this, and if not, what would change it."""

import click

from assay.flows.known import get_principal
from assay.kernel.ids import parse_principal_id
from assay.surfaces.cli.acting import columns
from assay.surfaces.cli.output import Call, NodeCommand, tenant_option

__all__ = ["why"]


@click.command(cls=NodeCommand)
@click.argument("principal_id", metavar="ID")
@click.argument("action")
@click.option("--on", help="What it is about: a risk tier such as DELETE, a level such as PRAMANA-2, or this service.")
@tenant_option
@click.pass_context
def why(context: click.Context, principal_id: str, action: str, on: str | None, tenant: str | None) -> None:
    """Show every requirement of an action: met or not, and what would change it.

    ACTION is a route such as `POST /contracts`, or an action that this node declares as a service. The answer is that
    of the server itself, for a credential that narrows nothing; the exit code is 1 where it is no.
    """
    from assay.surfaces.http.app import create_app
    from assay.surfaces.http.why import explain, in_general

    call: Call = context.obj
    known_id = parse_principal_id(principal_id)
    with call.open_node() as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        principal = tools.database.read(lambda unit: get_principal(unit, tenant_id, known_id))
        found = explain(create_app(tools, config), in_general(principal), action, on)
    rows = [("yes" if one.met else "no", one.name.value, one.reason) for one in found.requirements]
    remedies = [f"{one.name.value}: {one.remedy}" for one in found.requirements if one.remedy is not None]
    text = "\n".join([columns(list(rows)), *(["", "what would change it", *remedies] if remedies else [])])
    call.answer(found, text)
    if not found.allowed:
        context.exit(1)
