"""`assay ledger watch`: entries as they are committed, read page by page through `entries.list`."""

import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

import click

from assay.flows.ledger.entries import EntryItem
from assay.operations.table import BY_NAME
from assay.surfaces.cli.derive import common_options
from assay.surfaces.cli.output import Call, NodeCommand
from assay.surfaces.cli.perform import cell, perform

_ENTRIES = BY_NAME["entries.list"]
_SHORT = 100


@click.command(cls=NodeCommand)
@click.option(
    "--from", "first", type=click.IntRange(min=1), metavar="SEQ", help="Start here; else with what comes next."
)
@click.option("--follow/--once", default=True, help="Wait for more, or end at the end of the ledger.")
@click.option("--count", type=click.IntRange(min=1), metavar="N", help="End after so many entries.")
@click.option(
    "--interval", type=click.FloatRange(min=0.01), default=0.5, show_default=True, help="Seconds between queries."
)
@common_options(_ENTRIES)
@click.pass_obj
def watch(
    call: Call,
    /,
    first: int | None,
    *,
    follow: bool,
    count: int | None,
    interval: float,
    **where: str | None,
) -> None:
    """Print new entries as they are committed, in order and none twice; with --json one object a line."""
    for entry in islice(_entries(call, first, interval if follow else None, where), count):
        call.answer_one_of_many(entry, _line(entry))


def _entries(
    call: Call, first: int | None, interval: float | None, where: dict[str, str | None]
) -> Iterator[EntryItem]:
    """Entries from a number on, else from the next one; without an interval up to the newest."""
    following = first or _newest(call, where) + 1
    while True:
        page = perform(call, _ENTRIES, {"first": following, "limit": 500}, **where)
        yield from page.items
        if page.items:
            following = page.items[-1].sequence_number + 1
        elif interval is None:
            return
        else:
            time.sleep(interval)


def _newest(call: Call, where: dict[str, Any]) -> int:
    page = perform(call, _ENTRIES, {"order": "newest", "limit": 1}, **where)
    return page.items[0].sequence_number if page.items else 0


def _line(entry: EntryItem) -> str:
    body = cell(entry.body)
    short = body if len(body) <= _SHORT else body[: _SHORT - 1] + "…"
    return f"{entry.sequence_number:>8}  {entry.timestamp:<27}  {entry.kind:<18}  {short}"
