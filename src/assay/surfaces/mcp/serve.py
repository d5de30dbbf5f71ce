"""Serving the tools: over this process's own streams for one agent, or over HTTP for many.

stdio: one credential for the whole process.  HTTP: each request brings its own, and without a valid one gets 401.
"""

import json
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio
import uvicorn
from anyio import to_thread
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import HTTPConnection

from assay.flows.errors import NotSignedInError
from assay.kernel.errors import Error
from assay.surfaces.mcp.call import Toolbox
from assay.surfaces.mcp.server import Context, create_server

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["create_app", "serve_http", "serve_stdio"]

_BEARER = "bearer "
_LONGEST_CREDENTIAL = 512
_LARGEST_BODY = 4 * 1024 * 1024
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def serve_stdio(toolbox: Toolbox, credential: str) -> None:
    """Until the other side closes standard input."""
    toolbox.sign_in(credential)  # a key that opens nothing is told at once, and not with the first call
    server = create_server(toolbox, lambda _context: credential)

    async def run() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(run)


def create_app(toolbox: Toolbox, *, hosts: tuple[str, ...] = ()) -> "ASGIApp":
    """Streamable HTTP at `/mcp`, without sessions: each request stands alone. Other hosts than loopback are named."""
    server = create_server(toolbox, _credential_of)
    names = [name for host in (*_LOOPBACK, *hosts) for name in (host, f"{host}:*")]
    # A page in some browser must not reach us under a name that it chose itself.
    security = TransportSecuritySettings(
        allowed_hosts=names, allowed_origins=[f"{scheme}://{name}" for scheme in ("http", "https") for name in names]
    )
    app = server.streamable_http_app(
        json_response=True, stateless_http=True, transport_security=security, max_request_body_size=_LARGEST_BODY
    )
    return _signed_in(app, toolbox)


def serve_http(
    toolbox: Toolbox, bound: socket.socket, *, hosts: tuple[str, ...] = (), ready: Callable[[], None]
) -> None:
    """Until SIGTERM or Ctrl-C."""
    config = uvicorn.Config(
        create_app(toolbox, hosts=hosts),
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


def _signed_in(app: "ASGIApp", toolbox: Toolbox) -> "ASGIApp":
    """No request gets further than this without a valid credential, whatever it asks for."""

    async def guarded(scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] == "http":
            try:
                credential = _read_credential(HTTPConnection(scope))
                await to_thread.run_sync(toolbox.sign_in, credential)
            except Error as error:
                await _refuse(send, error)
                return
        await app(scope, receive, send)

    return guarded


async def _refuse(send: "Send", error: Error) -> None:
    body = json.dumps({"error": {"code": error.code, "message": str(error)}}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"www-authenticate", b"Bearer"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _credential_of(context: Context) -> str:
    return _read_credential(context.request)


def _read_credential(request: HTTPConnection | None) -> str:
    """The one credential of a request: `Authorization: Bearer …` or `x-api-key`, and not both."""
    headers = {} if request is None else request.headers
    authorization, key = headers.get("authorization"), headers.get("x-api-key")
    if (authorization is None) == (key is None):
        raise NotSignedInError("expected one of `Authorization: Bearer …` and `x-api-key`")
    if authorization is not None:
        key = authorization[len(_BEARER) :].strip() if authorization.lower().startswith(_BEARER) else ""
    if not key or len(key) > _LONGEST_CREDENTIAL:
        raise NotSignedInError("expected an API key or a session token")
    return key
