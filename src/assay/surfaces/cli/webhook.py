"""`assay webhook`: where events are posted, how far each has come, and what could not be delivered."""

import click

from assay.operations.delivery import OPERATIONS
from assay.surfaces.cli.derive import add_operations
from assay.surfaces.cli.output import Group


@click.group(cls=Group)
def webhook() -> None:
    """Webhooks: add, list, remove, dead letters, replay."""


add_operations(webhook, "webhook", OPERATIONS)
