"""`assay permit` and `assay mandate`: approved calls, from issue to report, and standing approvals."""

import click

from assay.operations.permits import OPERATIONS
from assay.surfaces.cli.derive import add_operations
from assay.surfaces.cli.output import Group


@click.group(cls=Group)
def permit() -> None:
    """Permits: an approved call runs once, with the arguments that were approved."""


add_operations(permit, "permit", OPERATIONS)


@click.group(cls=Group)
def mandate() -> None:
    """Mandates: standing approvals for calls within limits, signed on the review desk."""


add_operations(mandate, "mandate", OPERATIONS)
