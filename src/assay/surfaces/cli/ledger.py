"""`assay ledger`: one chain per tenant, and what can be done with it."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from assay.flows.ledger.entries import EntryItem
from assay.flows.request import FieldProblem, FieldsError
from assay.kernel.errors import Error
from assay.operations.ledger import OPERATIONS
from assay.operations.table import BY_NAME
from assay.surfaces.cli.derive import add_operations, common_options
from assay.surfaces.cli.output import Call, Group, NodeCommand, tenant_option
from assay.surfaces.cli.perform import cell, opened, perform

if TYPE_CHECKING:
    from assay.flows.ledger.audit_ledger import Workers
    from assay.flows.ledger.audit_mark import AuditReport
    from assay.flows.request import BulkLine
    from assay.kernel.json_text import JsonValue

_ENTRIES = BY_NAME["entries.list"]
_SHORT = 100
# Below this, one process is done before others have started.
_WORTH_WORKERS = 50_000


_APPEND = BY_NAME["note.append"]


@click.command(cls=NodeCommand)
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@click.option("--ndjson", is_flag=True, help="One JSON object on each line; receipts come in the same order.")
@click.option(
    "--personal",
    multiple=True,
    metavar="POINTER",
    help="A JSON pointer to a personal value, sealed so that it can be erased; may be repeated.",
)
@common_options(_APPEND)
@click.pass_obj
def append(
    call: Call,
    /,
    file: IO[bytes],
    *,
    ndjson: bool,
    personal: tuple[str, ...],
    tenant: str | None,
    credential: str | None,
    node: str | None,
    idempotency_key: str | None,
) -> None:
    """Append the JSON object in FILE to the ledger and print its receipt.

    A receipt is printed only after its entry is on disk. With --ndjson a bad line stops the reading with exit code 3;
    the lines before it stay appended, and their receipts are printed.
    """
    if not ndjson:
        given = {"note": _require_object(_read_one(file)), "personal": personal}
        where = {"tenant": tenant, "credential": credential, "node": node, "idempotency_key": idempotency_key}
        receipt = perform(call, _APPEND, given, **where)
        call.answer_one_of_many(receipt, f"{receipt.sequence_number} {receipt.entry_hash}")
        return
    if idempotency_key is not None:
        raise click.UsageError("--idempotency-key is for one note, and not for --ndjson")
    lines = _Lines(file, personal)
    with opened(call, tenant=tenant, credential=credential, node=node, writable=True) as calls:
        for line in calls.append_many(lines):
            _print_line(call, line)
    if lines.wrong is not None:
        raise lines.wrong


class _Lines:
    """The notes of a file up to the first bad line, whose error is `wrong`."""

    def __init__(self, file: IO[bytes], personal: tuple[str, ...]) -> None:
        self.wrong: Error | None = None
        self._file = file
        self._personal = personal

    def __iter__(self) -> "Iterator[dict[str, JsonValue]]":
        try:
            for body in _read_lines(self._file):
                yield {"note": _require_object(body), "personal": list(self._personal)}
        except Error as error:
            self.wrong = error


def _print_line(call: Call, line: "BulkLine") -> None:
    if line.receipt is None:
        raise FieldsError([FieldProblem(field=f"line {line.line}", message=f"{line.problem} [{line.code}]")])
    call.answer_one_of_many(line.receipt, f"{line.receipt['sequence_number']} {line.receipt['entry_hash']}")


def _read_one(file: IO[bytes]) -> "JsonValue":
    from assay.kernel.json_text import Limits, parse_json

    return parse_json(file.read(Limits().max_bytes + 1))


def _read_lines(file: IO[bytes]) -> Iterator["JsonValue"]:
    from assay.kernel.json_text import Limits, parse_json

    number = 0
    while line := file.readline(Limits().max_bytes + 1):
        number += 1
        if line.strip():
            try:
                value = parse_json(line)
            except Error as error:
                located = type(error)(f"line {number}: {error}")
                located.code, located.blame = error.code, error.blame  # as a `Code` of its family made them
                raise located from error
            yield value


def _require_object(body: "JsonValue") -> "dict[str, JsonValue]":
    from assay.kernel.ledger import EmptyBodyError

    if not isinstance(body, dict):
        raise EmptyBodyError(f"expected a JSON object as the body of a `note` entry, got `{str(body)[:40]}`")
    return body


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


@click.command(cls=NodeCommand)
@click.option(
    "--format",
    "form",
    type=click.Choice(["bundle", "ndjson", "tiles"]),
    default="ndjson",
    show_default=True,
    help="ndjson: entry texts, a line each. tiles: a static C2SP tile log. bundle: a proof for each entry.",
)
@click.option(
    "--output",
    required=True,
    metavar="PATH",
    help="A new file for ndjson (or - for standard output), a new or empty folder for bundle; for tiles a folder or "
    "the URL of a bucket (s3://...), where only what is new is written.",
)
@click.option(
    "--from", "first", type=click.IntRange(min=1), default=1, show_default=True, metavar="SEQ", help="Start here."
)
@click.option("--to", "last", type=click.IntRange(min=1), metavar="SEQ", help="End here; else at the end.")
@tenant_option
@click.pass_obj
def export(call: Call, form: str, output: str, first: int, last: int | None, tenant: str | None) -> None:
    """Write the ledger in a form that others read; personal values are never in it.

    tiles and bundle go up to the newest checkpoint. Tiles are always whole: a log that is there already is continued,
    and `assay monitor` verifies it. Existing files of the other forms are not overwritten.
    """
    if form == "tiles":
        _publish(call, output, tenant)
        return
    from assay.flows.ledger.export_ledger import ExportForm, export_ledger
    from assay.surfaces.cli.sink import FolderSink, open_file_sink

    with call.open_node() as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        if form == ExportForm.NDJSON:
            with open_file_sink(Path(output)) as put:
                exported = export_ledger(tools, tenant_id, ExportForm.NDJSON, put, first=first, last=last)
        else:
            put = FolderSink(Path(output)).put
            exported = export_ledger(tools, tenant_id, ExportForm(form), put, first=first, last=last)
    words = f"wrote {exported.entries} entries to {output}"
    if output == "-":
        call.say(words)
    else:
        call.answer(exported, words)


def _publish(call: Call, output: str, tenant: str | None) -> None:
    from assay.adapters.object_store import open_object_store
    from assay.flows.ledger.publish_log import publish_log

    with call.open_node() as (tools, config):
        published = publish_log(tools, call.tenant_of(config, tenant), open_object_store(output))
    words = f"{output}: {published.size} entries, {published.new_entries} of them new, in {published.files} files"
    call.answer(published, words)


@click.group(cls=Group)
def ledger() -> None:
    """The ledger: append, list, show, search, verify, checkpoint, prove, export, watch."""


for command in (append, verify, export, watch):
    ledger.add_command(command)


add_operations(ledger, "ledger", OPERATIONS)
