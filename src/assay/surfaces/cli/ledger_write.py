"""`assay ledger append`: one note, or one for each line of a file."""

from collections import deque
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

import click

from assay.kernel.errors import Error
from assay.surfaces.cli.output import Call, NodeCommand, tenant_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.kernel.json_text import JsonValue
    from assay.kernel.ledger import Receipt
    from assay.ports.database import Pending

# So many writes wait for their commit at once; enough to fill a batch, few enough to keep in memory.
_IN_FLIGHT = 2048


@click.command(cls=NodeCommand)
@click.argument("file", type=click.File("rb"), metavar="FILE|-")
@click.option("--ndjson", is_flag=True, help="One JSON object on each line; receipts come in the same order.")
@click.option(
    "--personal",
    multiple=True,
    metavar="POINTER",
    help="A JSON pointer to a personal value, sealed so that it can be erased; may be repeated.",
)
@tenant_option
@click.option("--credential", envvar="ASSAY_CREDENTIAL", metavar="TOKEN", help="An API key or a session token.")
@click.option("--node", envvar="ASSAY_NODE", metavar="URL", help="A node elsewhere; else the one of the folder.")
@click.pass_obj
def append(
    call: Call,
    file: IO[bytes],
    *,
    ndjson: bool,
    personal: tuple[str, ...],
    tenant: str | None,
    credential: str | None,
    node: str | None,
) -> None:
    """Append the JSON object in FILE to the ledger and print its receipt.

    A receipt is printed only after its entry is on disk. With --ndjson, which writes to the folder itself, a bad line
    stops the reading with exit code 3; the lines before it stay appended, and their receipts are printed.
    """
    from assay.operations.table import BY_NAME
    from assay.surfaces.cli.perform import perform

    if not ndjson:
        given = {"note": _require_object(_read_one(file)), "personal": personal}
        receipt = perform(call, BY_NAME["note.append"], given, tenant=tenant, credential=credential, node=node)
        _print_receipt(call, receipt)
        return
    if credential is not None or node is not None:
        raise click.UsageError("--ndjson is for the node of this folder, as its operator")
    _append_all(call, file, personal, tenant)


def _append_all(call: Call, file: IO[bytes], personal: tuple[str, ...], tenant: str | None) -> None:
    from assay.flows.ledger.entries import AppendNote, submit_note
    from assay.identity.caller import local_caller

    with call.open_node(writable=True) as (tools, config):
        tenant_id = call.tenant_of(config, tenant)

        def submit(body: "JsonValue") -> "Pending[Receipt]":
            caller = local_caller(tenant_id, at=tools.clock.now())
            return submit_note(tools, caller, AppendNote(note=_require_object(body), personal=personal))

        _append_lines(call, file, submit)


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


def _require_object(body: "JsonValue") -> "dict[str, JsonValue]":
    from assay.kernel.ledger import EmptyBodyError

    if not isinstance(body, dict):
        raise EmptyBodyError(f"expected a JSON object as the body of a `note` entry, got `{str(body)[:40]}`")
    return body


def _print_receipt(call: Call, receipt: "Receipt") -> None:
    call.answer_one_of_many(receipt, f"{receipt.sequence_number} {receipt.entry_hash}")
