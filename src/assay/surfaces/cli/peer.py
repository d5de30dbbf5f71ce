"""`assay peer`: what was agreed with other organisations."""

from pathlib import Path

import click
import msgspec

from assay.operations.delivery import OPERATIONS, PEER_AGREE
from assay.surfaces.cli.derive import add_operations, common_options
from assay.surfaces.cli.output import Call, Group, NodeCommand
from assay.surfaces.cli.perform import perform, show
from assay.surfaces.cli.text_file import read_text

_KEY_HELP = "A key that seals their annotations: a file, a verifier key, PEM, base64 or hex. May be repeated."
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group(cls=Group)
def peer() -> None:
    """Other organisations: agree on rule ids, strands and keys, show; forward their outcomes."""


add_operations(peer, "peer", OPERATIONS)


@click.command(cls=NodeCommand)
@click.argument("file", type=_FILE, metavar="FILE")
@click.option("--key", "keys", metavar="KEY", multiple=True, help=_KEY_HELP)
@common_options(PEER_AGREE)
@click.pass_obj
def _agree(call: Call, /, file: Path, keys: tuple[str, ...], **where: str | None) -> None:
    """Record an agreement, as an operator.

    FILE is JSON with `peer`, `rules` (pairs of theirs and ours), `strands`, and `keys` (their public keys in hex).
    """
    from assay.delivery.federate import add_keys, parse_agreement
    from assay.kernel.key import parse_public_key
    from assay.surfaces.cli.keys import read_key_text

    given = [parse_public_key(read_key_text(one)) for one in keys]
    agreement = {"agreement": msgspec.json.encode(add_keys(parse_agreement(read_text(file)), given))}
    show(call, PEER_AGREE, agreement, perform(call, PEER_AGREE, agreement, **where))


# The keys may be in files of this machine, so the command reads them; the operation takes the whole agreement.
peer.add_command(_agree, "agree")
