"""`assay backup`: everything the node is made of, in one signed file."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.surfaces.cli.output import Call, NodeCommand

if TYPE_CHECKING:
    from assay.config import Config

_WEIGHT_FILE = re.compile(r"[0-9a-f]{64}\.bin", re.ASCII)
_KEY_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", re.ASCII)


@click.command(cls=NodeCommand)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--with-keys", is_flag=True, help="Also the private keys: whoever has the file can then sign as the node."
)
@click.pass_obj
def backup(call: Call, file: Path, *, with_keys: bool) -> None:
    """Write a backup of the node to FILE: a ZIP archive, private, signed with the ledger key.

    Works beside a running server: all tables are read from one state. Holds the configuration, every table,
    the checkpoints, the weights of models and the public keys; private keys only with --with-keys. Personal values
    are in it as they are now, so erase them in old backups too.
    """
    from assay.adapters.backup_file import BackupWriter
    from assay.flows.ledger.backup_node import backup_node
    from assay.wiring import CONFIG_FILE

    with call.open_node() as (tools, config):
        files = {
            CONFIG_FILE: (call.home / CONFIG_FILE).read_bytes(),
            **_key_files(call.home, with_keys=with_keys),
            **_weight_files(call.home),
        }
        with BackupWriter(file) as archive:
            manifest = backup_node(tools, archive, files=files, at=tools.clock.now())
        signer = tools.ledger_signer.key_id
    for place in _left_out(config, files):
        call.warn(f"the key `{place}` is not in the backup; keep it safe elsewhere")
    entries = {head.tenant_id: head.sequence_number for head in manifest.heads}
    value = {
        "file": str(file),
        "signed_by": signer,
        "created_at": manifest.created_at,
        "entries": entries,
        "members": manifest.members,
        "with_keys": with_keys,
    }
    shown = ", ".join(f"{count} entries of {tenant}" for tenant, count in entries.items()) or "no entries"
    call.answer(value, f"wrote {file}: {shown}; signed by {signer}")


def _key_files(home: Path, *, with_keys: bool) -> dict[str, bytes]:
    """What lies in `keys/`; keys elsewhere, and on tokens, are not ours to copy."""
    folder = home / "keys"
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    return {
        f"keys/{path.name}": path.read_bytes()
        for path in paths
        if path.is_file() and _KEY_FILE.fullmatch(path.name) and (with_keys or path.suffix == ".pub")
    }


def _weight_files(home: Path) -> dict[str, bytes]:
    """Weights by their hash; a training that is not finished stays behind."""
    paths = sorted((home / "models").glob("*.bin"))
    return {f"models/{path.name}": path.read_bytes() for path in paths if _WEIGHT_FILE.fullmatch(path.name)}


def _left_out(config: "Config", files: dict[str, bytes]) -> list[str]:
    return [place for place in dict.fromkeys(config.keys.places().values()) if place.removeprefix("hmac:") not in files]
