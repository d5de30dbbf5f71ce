"""`assay principal`: people, agents and services, their keys, and sessions."""

import click

from assay.operations.identity import OPERATIONS
from assay.surfaces.cli.derive import add_operations
from assay.surfaces.cli.output import Group


@click.group(cls=Group)
def key() -> None:
    """API keys: issue, list, rotate, revoke; and public keys for signed requests."""


add_operations(key, "principal key", OPERATIONS)


@click.group(cls=Group)
def principal() -> None:
    """People, agents and services of a tenant, and what proves them.

    Without a session these commands act as `operator:local`: whoever can write to the node's folder holds its keys.
    With one (ASSAY_SESSION or --session) they act as that person, who must hold the role `admin`.
    """


principal.add_command(key)


@click.group(cls=Group)
def tier() -> None:
    """Ask that a principal's tier changes, and list the changes so far (FRJ-015)."""


principal.add_command(tier)


add_operations(principal, "principal", OPERATIONS)


add_operations(tier, "principal tier", OPERATIONS)
