"""`assay peer`: what was agreed with other organisations."""

from pathlib import Path

import click

from assay.surfaces.cli.acting import credential_option, plain, read_credential
from assay.surfaces.cli.output import Call, Group, tenant_option
from assay.surfaces.cli.text_file import read_text

__all__ = ["peer"]

_KEY_HELP = "A key that seals their annotations: a file, a verifier key, PEM, base64 or hex. May be repeated."
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group(cls=Group)
def peer() -> None:
    """Other organisations: agree on rule ids, strands and keys, show."""


@peer.command("agree")
@click.argument("file", type=_FILE, metavar="FILE")
@click.option("--key", "keys", metavar="KEY", multiple=True, help=_KEY_HELP)
@credential_option
@click.pass_obj
def _agree(call: Call, file: Path, keys: tuple[str, ...], credential: str | None) -> None:
    """Record an agreement, as an operator.

    FILE is JSON with `peer`, `rules` (pairs of theirs and ours), `strands`, and `keys` (their public keys in hex).
    """
    from assay.delivery.federate import add_keys, parse_agreement
    from assay.flows.delivery.peer_agreement import agree_with_peer
    from assay.kernel.key import parse_public_key
    from assay.surfaces.cli.keys import read_key_text

    given = [parse_public_key(read_key_text(one)) for one in keys]
    agreement, token = add_keys(parse_agreement(read_text(file)), given), read_credential(credential)
    with call.open_node(writable=True) as (tools, _):
        agree_with_peer(tools, agreement, credential=token, at=tools.clock.now())
    call.answer(
        agreement, f"agreed with {plain(agreement.peer)}: {len(agreement.rules)} rules, {len(agreement.keys)} keys"
    )


@peer.command("show")
@click.argument("name", metavar="PEER")
@tenant_option
@click.pass_obj
def _show(call: Call, name: str, tenant: str | None) -> None:
    """Show the agreement in force."""
    from assay.flows.delivery.peer_agreement import show_agreement

    with call.open_node() as (tools, config):
        found = show_agreement(tools, call.tenant_of(config, tenant), name)
    lines = [f"{theirs} -> {ours}" for theirs, ours in found.rules]
    call.answer(found, "\n".join([*lines, *found.strands, *found.key_ids]))
