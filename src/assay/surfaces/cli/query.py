"""`assay query`: the registry of questions, and answers that fell short of it."""

import click

from assay.operations.delivery import OPERATIONS
from assay.surfaces.cli.derive import add_operations
from assay.surfaces.cli.output import Group


@click.group(cls=Group)
def query() -> None:
    """The query registry: which query types there are, and the levels that their answers should reach."""


add_operations(query, "query", OPERATIONS)
