"""`assay telemetry`: the buffer that windows look back at (SKI 9.2)."""

import click

from assay.operations.verdicts import OPERATIONS
from assay.surfaces.cli.derive import add_operations
from assay.surfaces.cli.output import Group


@click.group(cls=Group)
def telemetry() -> None:
    """Telemetry that is kept for rules which look back."""


add_operations(telemetry, "telemetry", OPERATIONS)
