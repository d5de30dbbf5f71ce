"""`assay model`: the judge's weights, how good they are, and which of them judge."""

import click

from assay.operations.model import OPERATIONS
from assay.surfaces.cli.derive import add_operations
from assay.surfaces.cli.model_eval import evaluate
from assay.surfaces.cli.model_train import train
from assay.surfaces.cli.output import Group


@click.group(cls=Group)
def model() -> None:
    """Models that judge: the one that ships with the package, and those that were added or trained here."""


add_operations(model, "model", OPERATIONS)
model.add_command(evaluate)
model.add_command(train)
