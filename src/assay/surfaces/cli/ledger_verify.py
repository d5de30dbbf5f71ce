"""`assay ledger verify`: it reads the database of this folder itself, also beside a running server."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.surfaces.cli.output import Call, NodeCommand, tenant_option

if TYPE_CHECKING:
    from assay.flows.ledger.audit_ledger import Workers
    from assay.flows.ledger.audit_mark import AuditReport

# Below this, one process is done before others have started.
_WORTH_WORKERS = 50_000


@click.command(cls=NodeCommand)
@click.option("--full", is_flag=True, help="Read everything again: all entries, and the rows of all tables.")
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Also compare N rows of each table with their entries, chosen at random.",
)
@tenant_option
@click.pass_context
def verify(context: click.Context, *, full: bool, sample: int | None, tenant: str | None) -> None:
    """Verify a tenant's ledger: every hash, link, column, tile, checkpoint, and the checkpoint kept outside.

    Without --full, entries that an earlier run verified are not read again and no rows are compared; the report lists
    what was skipped, and when everything was last read. Exit 1 when it does not hold; the first bad entry and the last
    good checkpoint are named. A copy on a read-only medium is verified too; there no mark is left from which the next
    verification could go on.
    """
    from assay.flows.ledger.audit_ledger import audit_ledger
    from assay.flows.node_facts import ledger_size

    call: Call = context.obj
    can_write = os.access(call.home, os.W_OK)
    with call.open_node() as (tools, config), call.progress("verifying") as progress:
        tenant_id = call.tenant_of(config, tenant)
        size = ledger_size(tools, tenant_id)
        with _workers(call.home, size if full else 0) as workers:
            report = audit_ledger(
                tools,
                tenant_id,
                full=full,
                leave_mark=can_write,
                progress=progress,
                workers=workers,
                sample=sample or 0,
            )
    call.answer(report, _report_text(report))
    if not report.holds:
        context.exit(1)


@contextmanager
def _workers(home: Path, entries: int) -> "Iterator[Workers | None]":
    """One process for each core; none where starting them takes longer than the work."""
    from assay.adapters.process_pool import ProcessPool
    from assay.flows.ledger.audit_ledger import Workers
    from assay.wiring import FolderReader

    cores = os.cpu_count() or 1
    if cores == 1 or entries < _WORTH_WORKERS:
        yield None
        return
    with ProcessPool(cores) as pool:
        yield Workers(pool, FolderReader(home))


def _when(report: "AuditReport") -> str:
    from assay.kernel.instant import render_instant

    return "never" if report.everything_at is None else render_instant(report.everything_at)


def _report_text(report: "AuditReport") -> str:
    checkpoint = "none" if report.last_good_checkpoint is None else f"over {report.last_good_checkpoint} entries"
    lines = [
        f"tenant                {report.tenant_id}",
        f"holds                 {'yes' if report.holds else 'NO'}",
        f"entries               {report.size}",
        f"checked               {report.entries_checked} from entry {report.verified_from}",
        f"checkpoints checked   {report.checkpoints_checked}",
        f"rows checked          {report.rows_checked}",
        f"not checked           {'; '.join(report.skipped) or 'nothing was left out'}",
        f"all last checked      {_when(report)}",
        f"last good checkpoint  {checkpoint}",
        f"root                  {report.root_hash}",
    ]
    if not report.holds:
        where = "no single entry" if report.first_bad_entry is None else str(report.first_bad_entry)
        lines += [f"first bad entry       {where}", f"what is wrong         {report.message} [{report.code}]"]
        lines += [f"next                  {step}" for step in report.next_steps]
    return "\n".join(lines)
