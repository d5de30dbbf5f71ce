"""The options that narrow the queue, shared by `assay review list`, `bulk` and `view save`."""

from collections.abc import Callable
from typing import TypedDict

import click

from assay.kernel.ids import parse_principal_id
from assay.kernel.instant import Instant
from assay.review.act import Priority
from assay.review.kind import TicketKind
from assay.review.queue import QueueFilter, QueueState
from assay.surfaces.cli.acting import INSTANT

__all__ = ["FilterOptions", "filter_options", "parse_filter"]


class FilterOptions(TypedDict):
    """As click hands them over."""

    kind: str | None
    about: str | None
    priority: str | None
    assignee: str | None
    role: str | None
    holder: str | None
    due_before: Instant | None
    state: str | None


def filter_options(command: Callable[..., None]) -> Callable[..., None]:
    """All that are given must hold."""
    options = (
        click.option("--kind", type=click.Choice([kind.value for kind in TicketKind]), help="Of one kind."),
        click.option("--about", metavar="TEXT", help="About what begins so."),
        click.option("--priority", type=click.Choice([one.value for one in Priority]), help="Of one priority."),
        click.option("--assignee", metavar="PERSON", help="For this person."),
        click.option("--role", metavar="ROLE", help="For this role, or to be answered by it."),
        click.option("--holder", metavar="PERSON", help="That this person works on."),
        click.option("--due-before", type=INSTANT, metavar="TIME", help="Due before then."),
        click.option("--state", type=click.Choice([one.value for one in QueueState]), help="Else every open one."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def parse_filter(options: FilterOptions) -> QueueFilter:
    assignee, holder = options["assignee"], options["holder"]
    return QueueFilter(
        kind=None if options["kind"] is None else TicketKind(options["kind"]),
        about=options["about"],
        priority=None if options["priority"] is None else Priority(options["priority"]),
        assignee=None if assignee is None else parse_principal_id(assignee),
        role=options["role"],
        holder=None if holder is None else parse_principal_id(holder),
        due_before=options["due_before"],
        state=QueueState(options["state"] or QueueState.OPEN),
    )
