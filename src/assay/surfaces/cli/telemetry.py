"""`assay telemetry`: the buffer that windows look back at (SKI 9.2)."""

import click

from assay.flows.verdicts.coverage import show_buffers
from assay.kernel.instant import Instant, render_instant
from assay.surfaces.cli.output import Call, Group, ListCommand, tenant_option
from assay.verdicts.window_fact import BufferState

_HEADS = ("SUBJECT", "RECORDS", "OLDEST", "NEWEST", "DROPPED UNTIL", "KEPT FOR")


@click.group(cls=Group)
def telemetry() -> None:
    """Telemetry that is kept for rules which look back."""


@telemetry.command(cls=ListCommand)
@click.argument("subject", required=False)
@tenant_option
@click.pass_obj
def show(call: Call, subject: str | None, tenant: str | None) -> None:
    """The buffer of each subject, or of SUBJECT alone: how many records, from when to when, and what was dropped.

    A window that reaches back before what is kept is in doubt, and its verdict DISCRETIONARY.
    """
    with call.open_node() as (tools, config):
        found = show_buffers(tools, call.tenant_of(config, tenant))
    told = [one for one in found if subject is None or one.subject == subject]
    call.answer_table(told, _HEADS, map(_row, told), nothing="nothing is kept")


def _row(one: BufferState) -> tuple[str, ...]:
    moments = (one.oldest_at, one.newest_at, one.dropped_until)
    return (one.subject, str(one.records), *map(_moment, moments), f"{one.keep_seconds} s")


def _moment(at: Instant | None) -> str:
    return "-" if at is None else render_instant(at)
