"""`assay trust`: policies, signals, and the standing of agents."""

import click

from assay.operations.trust import OPERATIONS
from assay.surfaces.cli.derive import add_operations
from assay.surfaces.cli.output import Group
from assay.surfaces.cli.trust_policy import policy
from assay.surfaces.cli.trust_simulate import simulate


@click.group(cls=Group)
def trust() -> None:
    """Trust: signals in, standings out; truth only ever sees a frozen snapshot of it."""


trust.add_command(policy)
trust.add_command(simulate)
add_operations(trust, "trust", OPERATIONS)
