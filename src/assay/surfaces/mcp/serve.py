"""Serving the tools: over this process's own streams for one agent, or over HTTP for many.

stdio: one credential for the whole process.  HTTP: each request proves its own caller at the door (`door`).
"""

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio
import uvicorn
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from assay.operations.rate import RateLimit
from assay.surfaces.mcp.call import Tooling
from assay.surfaces.mcp.door import LARGEST_BODY, LOOPBACK, Door, credential_of
from assay.surfaces.mcp.server import Context, Threads, create_server

if TYPE_CHECKING:
    from starlette.types import ASGIApp


def serve_stdio(toolbox: Tooling, credential: str) -> None:
    """Until the other side closes standard input."""
    toolbox.sign_in(credential)  # a key that opens nothing is told at once, and not with the first call
    server = create_server(toolbox, lambda _context: credential)

    async def run() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(run)


def create_app(toolbox: Tooling, *, hosts: tuple[str, ...] = (), rate: RateLimit | None = None) -> "ASGIApp":
    """Streamable HTTP at `/mcp`, without sessions: each request stands alone. Other hosts than loopback are named."""
    # Apart from the threads of the calls: who asks is known also while calls wait.
    server = create_server(toolbox, _credential_of, Threads())
    names = [name for host in (*LOOPBACK, *hosts) for name in (host, f"{host}:*")]
    # A page in some browser must not reach us under a name that it chose itself.
    security = TransportSecuritySettings(
        allowed_hosts=names, allowed_origins=[f"{scheme}://{name}" for scheme in ("http", "https") for name in names]
    )
    app = server.streamable_http_app(
        json_response=True, stateless_http=True, transport_security=security, max_request_body_size=LARGEST_BODY
    )
    return Door(app, toolbox, hosts, rate)


def serve_http(
    toolbox: Tooling,
    bound: socket.socket,
    *,
    hosts: tuple[str, ...] = (),
    rate: RateLimit | None = None,
    ready: Callable[[], None],
) -> None:
    """Until SIGTERM or Ctrl-C."""
    config = uvicorn.Config(
        create_app(toolbox, hosts=hosts, rate=rate),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
    )
    _Server(config, ready).run(sockets=[bound])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


def _credential_of(context: Context) -> str:
    return credential_of(context.request)
