"""The protocol's own server over a toolbox: it lists what the caller may call, and calls it on a thread.

At most so many threads work at once, and at most so many calls wait for one: a database that hangs holds no more.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import mcp_types as types
from anyio import CapacityLimiter, to_thread
from mcp import MCPError
from mcp.server import Server, ServerRequestContext

from assay import __version__
from assay.kernel.errors import Error
from assay.operations.kinds import Operation
from assay.operations.schema import schema_of
from assay.operations.table import BY_TOOL
from assay.surfaces.mcp.call import Tooling, refused
from assay.surfaces.mcp.errors import BusyError, McpError

T = TypeVar("T")
# In `_meta` of a call: a change is applied once under it, through whichever door it comes again.
KEY_META = "idempotency-key"
_THREADS = 16
_MOST_WAITING = 64
_INSTRUCTIONS = (
    "May I act on this AI output, why, and can anyone prove it later? Every call is made as the principal of its API "
    "key; what is recorded stays in an append-only ledger. A refusal says with a stable code what is missing."
)
Context = ServerRequestContext[Any, Any]
# Whose call it is: from the request's own headers, or the one of this process.
FindCredential = Callable[[Context], str]


class Threads:
    """The threads of one server. A call beyond those that may wait is refused with `mcp.busy`."""

    def __init__(self, threads: int = _THREADS, most_waiting: int = _MOST_WAITING) -> None:
        self._threads = threads
        self._most_waiting = most_waiting
        self._limiter: CapacityLimiter | None = None

    async def run(self, work: Callable[[], T]) -> T:
        # Made on the loop that uses it.
        limiter = self._limiter = self._limiter or CapacityLimiter(self._threads)
        if limiter.statistics().tasks_waiting >= self._most_waiting:
            raise BusyError(f"expected fewer than {self._most_waiting} calls to wait, got as many; try again later")
        return await to_thread.run_sync(work, limiter=limiter)


def create_server(toolbox: Tooling, find_credential: FindCredential, threads: Threads | None = None) -> "Server[Any]":
    """Listing and calling both authenticate the credential anew, so one that was revoked opens nothing any more."""
    crew = threads or Threads()

    async def list_tools(context: Context, _params: object) -> types.ListToolsResult:
        try:
            allowed = await crew.run(lambda: toolbox.allowed(find_credential(context)))
        except Error as error:
            raise MCPError(types.INVALID_REQUEST, f"{error} [{error.code}]") from error
        return types.ListToolsResult(tools=[_tool(one) for one in allowed])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        credential = find_credential(context)
        try:
            key = _key_of(params)
            called = await crew.run(lambda: toolbox.call(credential, params.name, params.arguments, key))
        except McpError as error:
            called = refused(error)
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


def _key_of(params: types.CallToolRequestParams) -> str | None:
    key = (params.meta or {}).get(KEY_META)
    if not isinstance(key, str | None):
        raise McpError.arguments(f"expected a text as `{KEY_META}` in `_meta`, got another value")
    return key


def _input_schema(name: str) -> dict[str, Any] | None:
    return _object_schema(BY_TOOL[name].tool_fields) if name in BY_TOOL else None


def _tool(operation: Operation) -> types.Tool:
    title = operation.summary.partition(";")[0].rstrip(".")
    return types.Tool(
        name=str(operation.tool),
        title=title,
        description=operation.description,
        input_schema=_object_schema(operation.tool_fields),
        output_schema=output_schema(operation),
        annotations=types.ToolAnnotations(
            title=title,
            read_only_hint=not operation.writes,
            # Entries are added, and nothing is ever taken away.
            destructive_hint=False,
            idempotent_hint=not operation.writes or operation.may_repeat,
            open_world_hint=False,
        ),
    )


def output_schema(operation: Operation) -> dict[str, Any]:
    """The schema of a result, or of a refusal: a client that validates may meet either."""
    result = _object_schema(operation.gives)
    return {"type": "object", "anyOf": [result, _REFUSAL]}


_REFUSAL = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
            "required": ["code", "message"],
        }
    },
    "required": ["error"],
}


def _object_schema(kind: Any) -> dict[str, Any]:  # noqa: ANN401 - any type
    """Whole, without references: not every client follows them."""
    found: dict[str, Any] = schema_of(kind)
    return {"type": "object", **{name: value for name, value in found.items() if name not in ("type", "title")}}
