"""`assay init`: make a folder into a node."""

from pathlib import Path

import click

from assay.surfaces.cli.output import Call, Command


@click.command(cls=Command)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option("--tenant", default="default", show_default=True, metavar="NAME", help="The node's first tenant.")
@click.option("--origin", metavar="NAME", help="The log's name in checkpoints; else one made from its first key.")
@click.option(
    "--database", metavar="URL", help="sqlite:FILE or postgresql://…; else SQLite in the folder. Provision it first."
)
@click.option(
    "--pkcs11-module",
    "module",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The PKCS#11 library of the token given with --token.",
)
@click.option("--token", metavar="LABEL", help="Make the keys on this token; its PIN is in ASSAY_PKCS11_PIN.")
@click.pass_obj
def init(
    call: Call,
    folder: Path,
    tenant: str,
    origin: str | None,
    database: str | None,
    module: Path | None,
    token: str | None,
) -> None:
    """Make the new or empty folder DIR into a node.

    Creates the node's own keys (files of mode 0600, or key pairs on a token), assay.toml, the database, and the
    first ledger entries, which record the keys. Prints the verifier key: give it to whoever shall verify your proofs.
    """
    from assay.kernel.checkpoint import log_key
    from assay.kernel.note import render_verifier_key
    from assay.wiring import TokenChoice, init_node, load_config, open_keys

    if (module is None) != (token is None):
        raise click.UsageError("--pkcs11-module and --token go together")
    choice = TokenChoice(str(module.absolute()), token) if module and token else None
    init_node(folder, tenant=tenant, origin=origin, database=database, token=choice)
    config = load_config(folder)
    with open_keys(folder, config) as keys:
        signer = keys.load(config.keys.ledger)
    name = f"{config.node.origin}/{config.node.tenant}"
    verifier_key = render_verifier_key(log_key(name, signer.public_key or b""))
    call.say(f"made a node in {folder}; give the verifier key below to whoever shall verify your proofs")
    call.answer(
        {
            "home": str(folder),
            "origin": config.node.origin,
            "tenant": config.node.tenant,
            "key_id": signer.key_id,
            "verifier_key": verifier_key,
        },
        f"key id        {signer.key_id}\nverifier key  {verifier_key}",
    )
    call.say(f"next: `export ASSAY_HOME={folder}`, then `assay ledger append FILE`, `assay serve` or `assay doctor`")
