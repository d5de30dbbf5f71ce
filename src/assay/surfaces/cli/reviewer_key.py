"""The key of a person's own, on the command line: it signs an answer in place of the node's review key."""

from collections.abc import Callable
from pathlib import Path

import click

from assay.adapters.keyfile import load_key_file
from assay.ports.signer import Signer


def load_signer(key_file: Path | None, passphrase: str | None) -> Signer | None:
    """None where no key was named: then the node's review key signs."""
    return None if key_file is None else load_key_file(key_file, passphrase=passphrase)


def key_options(command: Callable[..., None]) -> Callable[..., None]:
    """`--key` and its passphrase, as `key_file` and `key_passphrase`."""
    for option in (
        click.option("--key-passphrase", envvar="ASSAY_REVIEWER_PASSPHRASE", hidden=True),
        click.option(
            "--key",
            "key_file",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Your registered key, which then signs instead of the node's review key.",
        ),
    ):
        command = option(command)
    return command
