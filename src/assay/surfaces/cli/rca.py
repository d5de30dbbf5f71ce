"""`assay rca` and `assay pairs`: people conclude why a rule fails, and what is learnt from it."""

import click

from assay.operations.delivery import OPERATIONS
from assay.surfaces.cli.derive import add_operations
from assay.surfaces.cli.output import Group


@click.group(cls=Group)
def rca() -> None:
    """Root causes: failing rules that wait for a person's conclusion."""


add_operations(rca, "rca", OPERATIONS)


@click.group(cls=Group)
def pairs() -> None:
    """Training pairs: what people concluded, for models to learn from."""


add_operations(pairs, "pairs", OPERATIONS)
