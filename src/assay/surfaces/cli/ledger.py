"""`assay ledger`: one chain per tenant, and what can be done with it."""

import click

from assay.operations.ledger import OPERATIONS
from assay.surfaces.cli.derive import add_operations
from assay.surfaces.cli.ledger_export import export
from assay.surfaces.cli.ledger_verify import verify
from assay.surfaces.cli.ledger_watch import watch
from assay.surfaces.cli.ledger_write import append
from assay.surfaces.cli.output import Group


@click.group(cls=Group)
def ledger() -> None:
    """The ledger: append, list, show, search, verify, checkpoint, prove, export, watch."""


for command in (append, verify, export, watch):
    ledger.add_command(command)
add_operations(ledger, "ledger", OPERATIONS)
