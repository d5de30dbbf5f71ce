"""`assay review`: the review desk."""

import click

from assay.operations.review import OPERATIONS
from assay.surfaces.cli.derive import add_operations
from assay.surfaces.cli.output import Group


@click.group(cls=Group)
def review() -> None:
    """The review desk: every question to a person, bound by hash to what that person was shown."""


@review.group(cls=Group)
def view() -> None:
    """Saved views: filters of the queue under a name, private unless they are shared."""


@review.group(cls=Group)
def draft() -> None:
    """Drafts of your answers; nobody else sees them."""


add_operations(review, "review", OPERATIONS)
add_operations(view, "review view", OPERATIONS)
add_operations(draft, "review draft", OPERATIONS)
