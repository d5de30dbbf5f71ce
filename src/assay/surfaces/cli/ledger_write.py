"""`assay ledger append`: one note, or one for each line of a file."""

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

import click

from assay.flows.request import FieldProblem, FieldsError
from assay.kernel.errors import Error
from assay.operations.table import BY_NAME
from assay.surfaces.cli.derive import common_options
from assay.surfaces.cli.output import Call, NodeCommand
from assay.surfaces.cli.perform import opened, perform

if TYPE_CHECKING:
    from assay.flows.request import BulkLine
    from assay.kernel.json_text import JsonValue

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
