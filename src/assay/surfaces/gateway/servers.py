"""The servers behind a gateway: started or connected to, asked for their tools, and called.

A connection that broke is made anew for the next call. Definitions are read again after each connection, when a server
says that they changed, after some seconds, and before each call that is not READ_ONLY: it calls what was hashed.
"""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import msgspec
from anyio.abc import TaskGroup
from mcp import Client, MCPError, StdioServerParameters
from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.errors import CanonicalError
from assay.permits.gateway import hash_definition
from assay.surfaces.gateway.errors import GatewayError

SEPARATOR = "__"
_MOST_AGE = 5.0
_PATIENCE = 30.0
_MOST_PAGES = 100


class ServerPlace(Struct, frozen=True, kw_only=True):
    """Where a server is: a command to start, or the address of one that runs."""

    command: str | None = None
    args: list[str] = []
    env: dict[str, str] | None = None
    cwd: str | None = None
    url: str | None = None


def read_places(file: Path) -> dict[str, ServerPlace]:
    """The servers of a file as MCP clients have it: `{"mcpServers": {"files": {"command": "npx", "args": [...]}}}`."""
    try:
        found = msgspec.convert(json.loads(file.read_text()).get("mcpServers"), dict[str, ServerPlace])
    except (OSError, ValueError, AttributeError, msgspec.ValidationError) as error:
        told = 'expected `{"mcpServers": {NAME: {"command": …, "args": […]} or {"url": …}}}`'
        raise GatewayError.configuration(f"{told} in `{file}`: {error}") from error
    for name, place in found.items():
        if (place.command is None) == (place.url is None):
            raise GatewayError.configuration(f"expected either `command` or `url` of the server `{name}`")
        if not name.replace("-", "").isalnum() or SEPARATOR in name:
            raise GatewayError.configuration(f"expected a name of letters, digits and `-`, got `{name}`")
    if not found:
        raise GatewayError.configuration(f"expected at least one server in `{file}`, got none")
    return found


class Offered(Struct, frozen=True, kw_only=True):
    """A tool as its server describes it now, under its name here; without a hash it cannot be approved."""

    name: str
    tool: types.Tool
    definition: dict[str, Any]
    definition_hash: Digest | None


class Server:
    """One server. Calls may come from many tasks; one task of its own holds the connection."""

    def __init__(self, name: str, place: ServerPlace) -> None:
        self.name = name
        self._place = place
        self._client: Client | None = None
        self._offered: dict[str, Offered] = {}
        self._listed_at = 0.0
        self._lock = anyio.Lock()
        self._broken = anyio.Event()
        self._tasks: TaskGroup | None = None

    def start(self, tasks: TaskGroup) -> None:
        self._tasks = tasks

    async def offered(self, *, most_age: float = _MOST_AGE) -> Mapping[str, Offered]:
        """The tools of the server by their names here, as fresh as asked for and as the last change it told of."""
        client, asked_at = await self._connected(), time.monotonic()
        if asked_at - self._listed_at > most_age:
            async with self._lock:
                if asked_at > self._listed_at:
                    await self._list(client)
        return self._offered

    async def call(self, offered: Offered, arguments: dict[str, Any]) -> types.CallToolResult:
        """Call a tool once; a failure does not say whether it took place."""
        client = await self._connected()
        try:
            return await client.call_tool(offered.tool.name, arguments)
        except MCPError as error:
            if error.code != types.CONNECTION_CLOSED:
                raise
            self._break()
            raise GatewayError.unreachable(f"`{self.name}` broke off: {error}") from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError) as error:
            self._break()
            raise GatewayError.unreachable(f"`{self.name}` broke off: {error}") from error

    async def _connected(self) -> Client:
        client = self._client
        if client is None:
            async with self._lock:
                client = self._client or await self._connect()
        return client

    async def _connect(self) -> Client:
        assert self._tasks is not None  # noqa: S101 - started
        self._broken = anyio.Event()
        try:
            with anyio.fail_after(_PATIENCE):
                client: Client = await self._tasks.start(self._hold)
        except (Exception, BaseExceptionGroup) as error:
            self._client = None
            raise GatewayError.unreachable(f"expected the server `{self.name}`, got {error}") from error
        return client

    async def _hold(self, *, task_status: anyio.abc.TaskStatus[Client]) -> None:
        """Hold the connection until it breaks; its end is nobody else's failure."""
        is_ready = False
        broken = self._broken
        try:
            # By the handshake: then changes of the list are told without being subscribed to.
            async with Client(self._target(), message_handler=self._heard, cache=None, mode="legacy") as client:
                await self._list(client)
                self._client = client
                is_ready = True
                task_status.started(client)
                await broken.wait()
        except (Exception, BaseExceptionGroup):
            if not is_ready:
                raise
        finally:
            if self._broken is broken:
                self._client = None

    def _target(self) -> Any:  # noqa: ANN401 - what the SDK connects to
        place = self._place
        if place.url is not None:
            return place.url
        return StdioServerParameters(command=str(place.command), args=place.args, env=place.env, cwd=place.cwd)

    def _break(self) -> None:
        self._client = None
        self._broken.set()

    async def _heard(self, message: Any) -> None:  # noqa: ANN401 - any message of the protocol
        found = getattr(message, "root", message)
        if isinstance(found, types.ToolListChangedNotification):
            self._listed_at = 0.0

    async def _list(self, client: Client) -> None:
        listed_at, found, cursor = time.monotonic(), {}, None
        for _ in range(_MOST_PAGES):
            try:
                page = await client.list_tools(cursor=cursor)
            except (MCPError, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError) as error:
                self._break()
                raise GatewayError.unreachable(f"`{self.name}` does not list its tools: {error}") from error
            for tool in page.tools:
                offered = _offered(self.name, tool)
                found[offered.name] = offered
            cursor = page.next_cursor
            if cursor is None:
                break
        self._offered, self._listed_at = found, listed_at


def _offered(server: str, tool: types.Tool) -> Offered:
    definition = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    try:
        pinned: Digest | None = hash_definition(definition)
    except (CanonicalError, TypeError, ValueError):
        pinned = None
    return Offered(name=f"{server}{SEPARATOR}{tool.name}", tool=tool, definition=definition, definition_hash=pinned)
