"""The protocol's own server over a toolbox: it lists what the caller may call, and calls it on a thread."""

from collections.abc import Callable
from typing import Any

import mcp_types as types
import msgspec
from anyio import CapacityLimiter, to_thread
from mcp import MCPError
from mcp.server import Server, ServerRequestContext

from assay import __version__
from assay.kernel.errors import Error
from assay.operations.kinds import Operation
from assay.operations.schema import schema_of
from assay.operations.table import BY_TOOL
from assay.surfaces.mcp.call import Toolbox
from assay.surfaces.mcp.catalogue import CATALOGUE, ToolSpec

_THREADS = 16
_INSTRUCTIONS = (
    "May I act on this AI output, why, and can anyone prove it later? Every call is made as the principal of its API "
    "key; what is recorded stays in an append-only ledger. A refusal says with a stable code what is missing."
)
Context = ServerRequestContext[Any, Any]
# Whose call it is: from the request's own headers, or the one of this process.
FindCredential = Callable[[Context], str]


def create_server(toolbox: Toolbox, find_credential: FindCredential) -> "Server[Any]":
    """Listing and calling both prove the credential anew, so that one that was revoked opens nothing any more."""
    limiter = CapacityLimiter(_THREADS)

    async def list_tools(context: Context, _params: object) -> types.ListToolsResult:
        try:
            listed = await to_thread.run_sync(lambda: _listed(toolbox, find_credential(context)), limiter=limiter)
        except Error as error:
            raise MCPError(types.INVALID_REQUEST, f"{error} [{error.code}]") from error
        return types.ListToolsResult(tools=listed)

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        credential = find_credential(context)
        called = await to_thread.run_sync(
            lambda: toolbox.call(credential, params.name, params.arguments), limiter=limiter
        )
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=called.text)],
            structured_content=called.value,
            is_error=called.is_error,
        )

    return Server(
        "assay",
        version=__version__,
        title="Assay",
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=_input_schema,
    )


def _listed(toolbox: Toolbox, credential: str) -> list[types.Tool]:
    operations = [_tool(one) for one in toolbox.allowed_operations(credential)]
    return [*operations, *(_shown(spec) for spec in toolbox.allowed(credential))]


def _input_schema(name: str) -> dict[str, Any] | None:
    if name in BY_TOOL:
        return _object_schema(BY_TOOL[name].tool_fields)
    return _schema(CATALOGUE[name]) if name in CATALOGUE else None


def _tool(operation: Operation) -> types.Tool:
    title = operation.summary.partition(";")[0].rstrip(".")
    return types.Tool(
        name=str(operation.tool),
        title=title,
        description=operation.description,
        input_schema=_object_schema(operation.tool_fields),
        output_schema=_object_schema(operation.gives),
        annotations=types.ToolAnnotations(
            title=title,
            read_only_hint=not operation.writes,
            # Entries are added, and nothing is ever taken away.
            destructive_hint=False,
            idempotent_hint=not operation.writes,
            open_world_hint=False,
        ),
    )


def _object_schema(kind: Any) -> dict[str, Any]:  # noqa: ANN401 - any type
    """Whole, without references: not every client follows them."""
    found: dict[str, Any] = schema_of(kind)
    return {"type": "object", **{name: value for name, value in found.items() if name not in ("type", "title")}}


def _shown(spec: ToolSpec) -> types.Tool:
    return types.Tool(
        name=spec.name,
        title=spec.title,
        description=spec.description,
        input_schema=_schema(spec),
        annotations=types.ToolAnnotations(
            title=spec.title,
            read_only_hint=not spec.writes,
            # What is recorded is added, and nothing is ever taken away.
            destructive_hint=False,
            idempotent_hint=spec.name != "ask",
            open_world_hint=False,
        ),
    )


def _schema(spec: ToolSpec) -> dict[str, Any]:
    """Whole, without references: not every client follows them."""
    (found,), parts = msgspec.json.schema_components([spec.takes])
    schema: dict[str, Any] = parts[found["$ref"].rpartition("/")[2]]
    return {"type": "object", **{name: value for name, value in schema.items() if name not in ("type", "title")}}
