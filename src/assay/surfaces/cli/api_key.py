"""`assay principal key`: API keys, each shown once, and public keys that requests are signed with."""

import click

from assay.operations.identity import OPERATIONS
from assay.surfaces.cli.derive import add_operations
from assay.surfaces.cli.output import Group


@click.group(cls=Group)
def key() -> None:
    """API keys: issue, list, rotate, revoke; and public keys for signed requests."""


add_operations(key, "principal key", OPERATIONS)
