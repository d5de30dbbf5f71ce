"""`assay operations`: the table of operations with permissions and doors."""

from typing import TYPE_CHECKING

import click
from msgspec import Struct

from assay.surfaces.cli.output import Call, ListCommand

if TYPE_CHECKING:
    from assay.operations.kinds import Local, Operation


class OperationRow(Struct, frozen=True, kw_only=True):
    """One operation: what it needs of a caller, and by which doors it is reached."""

    name: str
    kind: str
    summary: str
    scope: str | None
    roles: tuple[str, ...] | None
    tier: int | None
    session: bool
    route: str | None
    dialects: tuple[str, ...]
    command: str | None
    tool: str | None
    method: str | None


@click.command(cls=ListCommand)
@click.argument("name", required=False, metavar="[NAME]")
@click.pass_obj
def operations(call: Call, name: str | None) -> None:
    """List every operation of a node with its permission and its doors; with NAME those that begin with it."""
    rows = [row for row in every_row() if name is None or row.name.startswith(name)]
    if call.as_json:
        call.answer({"items": rows, "next": None}, "")
        return
    heads = ("OPERATION", "NEEDS", "ROUTE", "COMMAND", "TOOL", "PYTHON")
    cells = [
        (
            row.name,
            needs_text(row),
            "\n".join(routes_of(row)) or "-",
            row.command or "-",
            row.tool or "-",
            row.method or "-",
        )
        for row in rows
    ]
    call.answer_table(rows, heads, cells, nothing="no operation has such a name")


def every_row() -> list[OperationRow]:
    """The whole table: operations, then what is local."""
    from assay.operations.local import LOCAL
    from assay.operations.table import TABLE

    return [*map(row_of, TABLE), *map(_local_row, LOCAL)]


def _local_row(local: "Local") -> OperationRow:
    return OperationRow(
        name=local.name,
        kind=local.kind,
        summary=local.summary,
        scope=None,
        roles=None,
        tier=None,
        session=False,
        route=None,
        dialects=(),
        command=None if local.command is None else f"assay {local.command}",
        tool=None,
        method=local.method,
    )


def row_of(operation: "Operation") -> OperationRow:
    needs = operation.needs
    return OperationRow(
        name=operation.name,
        kind=operation.kind,
        summary=operation.summary,
        scope=needs.scope,
        roles=needs.roles,
        tier=needs.tier,
        session=needs.session,
        route=operation.full_route,
        dialects=tuple(operation.dialects),
        command=None if operation.command is None else f"assay {operation.command}",
        tool=operation.tool,
        method=operation.python_name,
    )


def routes_of(row: OperationRow) -> tuple[str, ...]:
    """The route below `/api/v1`, then those of specifications."""
    return row.dialects if row.route is None else (row.route, *row.dialects)


def needs_text(row: OperationRow) -> str:
    """The permission in one phrase."""
    if row.tier is None:
        return "local"
    if row.tier == 0 and row.scope is None:
        return "anybody"
    who = "any signed-in principal" if row.roles is None else " or ".join(row.roles)
    scope = "" if row.scope is None else f", scope {row.scope}"
    return f"{who}{' in a session' if row.session else ''}{scope}"
