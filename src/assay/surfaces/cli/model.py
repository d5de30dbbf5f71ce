"""`assay model`: the judge's weights, how good they are, and which of them judge."""

from pathlib import Path

import click

from assay.surfaces.cli.acting import credential_option, read_credential, within
from assay.surfaces.cli.model_eval import evaluate
from assay.surfaces.cli.model_train import train
from assay.surfaces.cli.output import Call, Group, ListCommand, tenant_option
from assay.surfaces.cli.text_file import read_bytes

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group(cls=Group)
def model() -> None:
    """Models that judge: the one that ships with the package, and those that were added or trained here."""


model.add_command(evaluate)
model.add_command(train)


@model.command("list", cls=ListCommand)
@tenant_option
@click.pass_obj
def _list(call: Call, tenant: str | None) -> None:
    """List the weights that are known; a star marks those that judge."""
    from assay.flows.model.show_model import list_models
    from assay.surfaces.cli.model_text import models_text

    with call.open_node() as (tools, config):
        found = list_models(tools, call.tenant_of(config, tenant))
    call.answer(found, models_text(found))


@model.command("show")
@click.argument("weights", metavar="[HASH]", required=False)
@tenant_option
@click.pass_obj
def _show(call: Call, weights: str | None, tenant: str | None) -> None:
    """Show the card of a model: what it is, what it came from, what was measured of it, and when it was in use.

    Without HASH, the one that judges now.
    """
    from assay.flows.model.show_model import show_model
    from assay.kernel.digest import parse_digest
    from assay.surfaces.cli.model_text import card_text

    chosen = None if weights is None else parse_digest(weights)
    with call.open_node() as (tools, config):
        found = show_model(tools, call.tenant_of(config, tenant), chosen)
    call.answer(found, card_text(found))


@model.command("add")
@click.argument("file", metavar="FILE", type=_FILE)
@click.option("--name", default="assay-judge", show_default=True, help="What to call it.")
@click.option("--version", required=True, help="Which one it is, such as 1.1.0.")
@click.option("--parent", metavar="HASH", help="The weights it was made from, if they are known here.")
@credential_option
@click.pass_obj
def _add(call: Call, /, *, file: Path, name: str, version: str, parent: str | None, credential: str | None) -> None:
    """Keep the weights in FILE by their hash, as an operator. Nothing is put into use by it."""
    from assay.flows.model.add_model import add_model
    from assay.kernel.digest import parse_digest
    from assay.model.weights import MAX_BYTES

    token, content = read_credential(credential), read_bytes(file, largest=MAX_BYTES)
    with call.open_node(writable=True) as (tools, _):
        done = add_model(
            tools,
            content,
            name=name,
            version=version,
            parent_hash=None if parent is None else parse_digest(parent),
            credential=within(tools, token, "models:write"),
            at=tools.clock.now(),
        )
    call.answer(done, f"{'added' if done.is_new else 'was there'}: {done.manifest.weight_hash}")


@model.command("activate")
@click.argument("weights", metavar="HASH")
@credential_option
@click.pass_obj
def _activate(call: Call, weights: str, credential: str | None) -> None:
    """Ask for the model HASH to judge from now on, as an operator; a reviewer who is somebody else answers.

    A model that is worse than the one in use, on the sealed cases or on the pairs held out when it was trained, is
    refused and nobody is asked. After the answer the node's next start judges by it.
    """
    from assay.flows.model.activate_model import activate_model
    from assay.kernel.digest import parse_digest
    from assay.surfaces.cli.model_text import activation_text

    token, chosen = read_credential(credential), parse_digest(weights)
    with call.open_node(writable=True) as (tools, _):
        asked = activate_model(tools, chosen, credential=within(tools, token, "models:write"), at=tools.clock.now())
    call.answer(asked, activation_text(asked))
