"""`assay ledger append` and `assay ledger checkpoint`: what adds to the ledger."""

from collections import deque
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

import click

from assay.kernel.errors import Error
from assay.surfaces.cli.output import Call, NodeCommand, tenant_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.flows.tools import Tools
    from assay.kernel.checkpoint import SignedCheckpoint
    from assay.kernel.ids import TenantId
    from assay.kernel.json_text import JsonValue
    from assay.kernel.ledger import Receipt
    from assay.ports.database import Pending

__all__ = ["append", "checkpoint"]

# So many writes wait for their commit at once; enough to fill a batch, few enough to keep in memory.
_IN_FLIGHT = 2048


@click.command(cls=NodeCommand)
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@click.option("--ndjson", is_flag=True, help="One JSON object on each line; receipts come in the same order.")
@click.option(
    "--kind",
    type=click.Choice(["note"]),
    default="note",
    show_default=True,
    help="The kind of entry; the others are written by the commands that make them.",
)
@click.option(
    "--personal",
    multiple=True,
    metavar="POINTER",
    help="A JSON pointer to a personal value, sealed so that it can be erased; may be repeated.",
)
@tenant_option
@click.pass_obj
def append(
    call: Call, file: IO[bytes], *, ndjson: bool, kind: str, personal: tuple[str, ...], tenant: str | None
) -> None:
    """Append the JSON object in FILE to the ledger and print its receipt.

    A receipt is printed only after its entry is on disk. With --ndjson, a bad line stops the reading with
    exit code 3; the lines before it stay appended, and their receipts are printed.
    """
    from assay.flows.ledger.append_record import append_record
    from assay.kernel.ledger import EntryKind

    with call.open_node(writable=True) as (tools, config):
        tenant_id = call.tenant_of(config, tenant)

        def submit(body: "JsonValue") -> "Pending[Receipt]":
            now = tools.clock.now()
            return append_record(tools, tenant_id, body, personal=personal, kind=EntryKind(kind), at=now)

        if ndjson:
            _append_lines(call, file, submit)
        else:
            _print_receipt(call, submit(_read_one(file)).result())


def _append_lines(call: Call, file: IO[bytes], submit: "Callable[[JsonValue], Pending[Receipt]]") -> None:
    """Several at once are on their way to the disk; receipts are printed in the order of the lines."""
    waiting: deque[Pending[Receipt]] = deque()
    try:
        for body in _read_lines(file):
            waiting.append(submit(body))
            if len(waiting) >= _IN_FLIGHT:
                _print_receipt(call, waiting.popleft().result())
    finally:
        # Also after a bad line: what was accepted before it is told.
        while waiting:
            _print_receipt(call, waiting.popleft().result())


@click.command(cls=NodeCommand)
@click.option("--latest", is_flag=True, help="Print the newest checkpoint without signing; works beside a server.")
@tenant_option
@click.pass_obj
def checkpoint(call: Call, *, latest: bool, tenant: str | None) -> None:
    """Sign a checkpoint: the log's name, its size and the root of its tree, as a C2SP signed note.

    Never signs a smaller or inconsistent tree. Witnesses of assay.toml are asked to cosign. Keep checkpoints
    elsewhere: they show a rewrite by somebody with full rights.
    """
    from assay.flows.ledger.sign_checkpoint import sign_checkpoint

    with call.open_node(writable=not latest) as (tools, config):
        tenant_id = call.tenant_of(config, tenant)
        signed = _newest(tools, tenant_id) if latest else sign_checkpoint(tools, tenant_id, at=tools.clock.now())
    from assay.kernel.digest import digest_from_raw

    head = signed.checkpoint
    note = signed.note.received.decode()
    value = {
        "origin": head.origin,
        "size": head.size,
        "root_hash": digest_from_raw(head.root),
        "signed_at": head.signed_at,
        "note": note,
    }
    call.answer(value, note.rstrip("\n"))


def _newest(tools: "Tools", tenant_id: "TenantId") -> "SignedCheckpoint":
    from assay.flows.errors.ledger import NoCheckpointError
    from assay.kernel.checkpoint import parse_checkpoint

    kept = tools.database.read(lambda unit: unit.ledger.find_checkpoint(tenant_id))
    if kept is None:
        raise NoCheckpointError(f"`{tenant_id}` has no checkpoint yet")
    return parse_checkpoint(kept.note.encode())


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
                raise type(error)(f"line {number}: {error}") from error
            yield value


def _print_receipt(call: Call, receipt: "Receipt") -> None:
    call.answer_one_of_many(receipt, f"{receipt.sequence_number} {receipt.entry_hash}")
