"""`assay permit`: permits for approved calls, from issue to report."""

import click

from assay.operations.permits import OPERATIONS
from assay.surfaces.cli.derive import add_operations
from assay.surfaces.cli.output import Group


@click.group(cls=Group)
def permit() -> None:
    """Permits: an approved call runs once, with the arguments that were approved."""


add_operations(permit, "permit", OPERATIONS)
