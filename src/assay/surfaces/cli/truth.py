"""`assay truth`: from observations to signed states, and back from a state to everything it was compiled from."""

import click

from assay.operations.trust import OPERATIONS as TRUST_OPERATIONS
from assay.operations.truth import OPERATIONS
from assay.surfaces.cli.derive import add_operations
from assay.surfaces.cli.output import Group
from assay.surfaces.cli.truth_check import replay, verify
from assay.surfaces.cli.truth_key import key
from assay.surfaces.cli.truth_write import map_, observe, score


@click.group(cls=Group)
def truth() -> None:
    """Truth: observations in, signed states out, each of which can be compiled again by anyone."""


add_operations(truth, "truth", (*OPERATIONS, *TRUST_OPERATIONS))
# These read or write files of this machine around their operations; `key` needs no node.
for _command in (key, observe, score, map_, replay, verify):
    truth.add_command(_command)
