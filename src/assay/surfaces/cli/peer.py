"""`assay peer`: what was agreed with other organisations."""

from pathlib import Path

import click

from assay.surfaces.cli.acting import credential_option, plain, read_credential
from assay.surfaces.cli.output import Call, Group, tenant_option
from assay.surfaces.cli.text_file import read_text

__all__ = ["peer"]

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group(cls=Group)
def peer() -> None:
    """Other organisations: agree on rule ids and strands, show."""


@peer.command("agree")
@click.argument("file", type=_FILE, metavar="FILE")
@credential_option
@click.pass_obj
def _agree(call: Call, file: Path, credential: str | None) -> None:
    """Record an agreement, as an operator: JSON with `peer`, `rules` (pairs of theirs and ours) and `strands`."""
    from assay.delivery.federate import parse_agreement
    from assay.flows.peer_agreement import agree_with_peer

    agreement, token = parse_agreement(read_text(file)), read_credential(credential)
    with call.open_node(writable=True) as (tools, _):
        agree_with_peer(tools, agreement, credential=token, at=tools.clock.now())
    call.answer(agreement, f"agreed with {plain(agreement.peer)}: {len(agreement.rules)} rules")


@peer.command("show")
@click.argument("name", metavar="PEER")
@tenant_option
@click.pass_obj
def _show(call: Call, name: str, tenant: str | None) -> None:
    """Show the agreement in force."""
    from assay.flows.peer_agreement import show_agreement

    with call.open_node() as (tools, config):
        found = show_agreement(tools, call.tenant_of(config, tenant), name)
    lines = [f"{theirs} -> {ours}" for theirs, ours in found.rules]
    call.answer(found, "\n".join([*lines, *found.strands]))
