"""What a caller may do now: the operations that they are permitted."""

from msgspec import Struct

from assay.flows.request import Page, Paged, cut_named
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.operations.dispatch import Dispatcher


class ListPermitted(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which page of the operations."""


class PermittedOperation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An operation that the caller may perform now, with its doors."""

    name: str
    kind: str
    summary: str
    route: str | None
    command: str | None
    tool: str | None


def permitted_operations(tools: Tools, caller: Caller, request: ListPermitted) -> Page[PermittedOperation]:
    """List the operations that the caller may perform now, by name."""
    from assay.operations.table import TABLE  # noqa: PLC0415 - the table has this operation too

    dispatcher = Dispatcher(tools=tools)
    rows = [
        PermittedOperation(
            name=one.name,
            kind=one.kind,
            summary=one.summary,
            route=None if one.route is None else f"{one.http_method} /api/v1{one.path}",
            command=one.command,
            tool=one.tool,
        )
        for one in sorted(TABLE, key=lambda one: one.name)
        if dispatcher.may(one, caller)
    ]
    return cut_named("operations", rows, request.cursor, request.limit, lambda row: row.name)
