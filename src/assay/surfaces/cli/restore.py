"""`assay restore`: a node from an archive, verified as a whole before it counts."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.surfaces.cli.keys import read_anchors, trust_option
from assay.surfaces.cli.output import Call, Command

if TYPE_CHECKING:
    from assay.adapters.node_folder import StagedFolder
    from assay.flows.ledger.backup_manifest import Manifest
    from assay.flows.ledger.check_backup import CheckedBackup
    from assay.ports.archive import ArchiveReader


@click.command(cls=Command)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@trust_option
@click.option(
    "--database", default="sqlite:assay.db", show_default=True, metavar="URL", help="Where to; it must be empty."
)
@click.pass_obj
def restore(call: Call, file: Path, folder: Path, trust: tuple[str, ...], database: str) -> None:
    """Make the new or empty folder DIR into the node that was backed up to FILE.

    The archive's signature and every member's hash are checked first, then the whole ledger is verified
    against its checkpoints inside one transaction; if anything does not hold, nothing is left behind (exit 3).
    Give your key with --trust: without it an archive that somebody made up and signed is restored too.
    """
    from assay.adapters.backup_file import BackupReader
    from assay.adapters.node_folder import StagedFolder
    from assay.flows.ledger.check_backup import check_backup
    from assay.flows.ledger.restore_node import restore_node
    from assay.wiring import open_for_restore

    anchors = read_anchors(trust)
    with StagedFolder(folder) as staged, BackupReader(file) as archive:
        with call.progress("checking the archive") as progress:
            checked = check_backup(archive, anchors, progress=progress)
        if not checked.is_trusted:
            call.warn(f"nothing but the archive itself says whose it is: it is signed by {checked.signer}; use --trust")
        _place_files(staged, archive, checked.manifest, database)
        with open_for_restore(staged.path) as tools, call.progress("verifying the ledger") as progress:
            reports = restore_node(tools, archive, checked.manifest, progress=progress)
        staged.publish()
    missing = _missing_keys(folder)
    for place in missing:
        call.warn(f"the key file `{place}` is missing; put it there (mode 0600) before you write")
    _answer(call, folder, checked, {str(report.tenant_id): report.size for report in reports}, missing)


def _place_files(staged: "StagedFolder", archive: "ArchiveReader", manifest: "Manifest", database: str) -> None:
    """Everything but the tables; the manifest's own check has refused any name that leads elsewhere."""
    from assay.adapters.toml_text import set_toml_value
    from assay.wiring import CONFIG_FILE

    for member in manifest.members:
        if member.name.startswith("tables/"):
            continue
        content = b"".join(archive.chunks(member.name))
        if member.name == CONFIG_FILE:
            content = set_toml_value(content.decode(), "database", "url", database).encode()
        staged.put(member.name, content, private=not member.name.endswith(".pub"))


def _missing_keys(folder: Path) -> list[str]:
    from assay.wiring import load_config

    keys = load_config(folder, environment={}).keys
    places = [*keys.places().values(), *([] if keys.credentials is None else [keys.credentials])]
    files = {place: folder / place.removeprefix("hmac:") for place in places if not place.startswith("pkcs11:")}
    return [place for place, path in files.items() if not path.exists()]


def _answer(call: Call, folder: Path, checked: "CheckedBackup", entries: dict[str, int], missing: list[str]) -> None:
    value = {
        "home": str(folder),
        "signed_by": checked.signer,
        "is_trusted": checked.is_trusted,
        "created_at": checked.manifest.created_at,
        "entries": entries,
        "missing_keys": missing,
    }
    shown = ", ".join(f"{count} entries of {tenant}" for tenant, count in entries.items()) or "no entries"
    call.answer(value, f"restored {folder}: {shown}, all verified")
