"""An MCP server whose tool is described by a file: `FILE LOG`. Each call adds a line to LOG."""

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server


def main(described: Path, log: Path) -> None:
    async def list_tools(_context: Any, _params: object) -> types.ListToolsResult:  # noqa: ANN401 - the SDK's types
        schema = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
        told = await anyio.Path(described).read_text()
        tools = [types.Tool(name=name, description=told, input_schema=schema) for name in ("send", "change")]
        return types.ListToolsResult(tools=tools)

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:  # noqa: ANN401 - as above
        to = str((params.arguments or {})["to"])
        if params.name == "change":
            await anyio.Path(described).write_text(to)
            await context.session.send_tool_list_changed()
        else:
            async with await anyio.open_file(log, "a") as lines:
                await lines.write(f"{to}\n")
        if to == "die":
            os._exit(3)
        return types.CallToolResult(content=[types.TextContent(type="text", text=f"sent to {to}")])

    server: Server[Any] = Server("changing", on_list_tools=list_tools, on_call_tool=call_tool)

    async def run() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(run)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
