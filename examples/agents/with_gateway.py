"""The gateway in front of the filesystem server: an agent whose code knows nothing of Assay writes a file.

    pip install "assay[mcp]"; npm install @modelcontextprotocol/server-filesystem
    ASSAY_CREDENTIAL=key python examples/agents/with_gateway.py URL FOLDER FILESYSTEM_SERVER

FILESYSTEM_SERVER is the server's `dist/index.js`. Draft and release its table first:
`assay gateway learn FOLDER/servers.json > table.json`, read it, `assay gateway release table.json`.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp_types import TextContent

__all__ = ["main", "name_servers"]


def name_servers(folder: Path, server: str) -> Path:
    """The file that names the server, as MCP clients have it."""
    file = folder / "servers.json"
    place = {"command": "node", "args": [server, str(folder)]}
    file.write_text(json.dumps({"mcpServers": {"files": place}}))
    return file


async def work(url: str, folder: Path, server: str) -> int:
    servers = name_servers(folder, server)
    # The one line of an agent's configuration that changes: the gateway in the place of the server.
    command = ["-m", "assay.surfaces.cli", "gateway", "serve", str(servers), "--node-url", url]
    environment = {name: os.environ[name] for name in ("ASSAY_CREDENTIAL", "PATH", "PYTHONPATH") if name in os.environ}
    gateway = StdioServerParameters(command=sys.executable, args=command, env=environment)
    async with Client(gateway) as client:
        result = await client.call_tool(
            "files__write_file", {"path": str(folder / "guests.txt"), "content": "ada, grace\n"}
        )
    text = "".join(block.text for block in result.content if isinstance(block, TextContent))
    told = json.loads(text)["error"] if result.is_error else {}
    if told:
        sys.stdout.write(f"waiting {' '.join(told['tickets'])}\n" if "tickets" in told else f"refused {told}\n")
        return 1
    sys.stdout.write(f"done {text}\n")
    return 0


def main() -> int:
    url, folder, server = sys.argv[1:]
    return asyncio.run(work(url, Path(folder), server))


if __name__ == "__main__":
    sys.exit(main())
