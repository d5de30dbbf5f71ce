"""Serving the tools: over this process's own streams for one agent, or over HTTP for many.

stdio: one credential for the whole process.  HTTP: each request proves its own caller at the door (`door`).
"""

import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
import uvicorn
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import HTTPConnection

from assay.flows.errors.identity import NotSignedInError
from assay.flows.identity.authenticate import render_signed
from assay.identity.signed_request import (
    SIGNATURE_INPUT,
    SignedRequest,
    has_content_digest,
    parse_signed_request,
)
from assay.kernel.errors import Error
from assay.operations.problem import status_of
from assay.operations.rate import RateLimit, TooFastError
from assay.surfaces.credential import asked_path, credential_in, signature_in
from assay.surfaces.http.errors import BodySizeError
from assay.surfaces.mcp.call import Tooling
from assay.surfaces.mcp.server import Context, Threads, create_server

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


# Tenant and principal.
Who = tuple[str, str]


LARGEST_BODY = 4 * 1024 * 1024


LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


# Where the proved credential stands for the tools; no header can put anything there.
_PROVED = "assay.credential"


_UNAUTHORIZED = 401


@dataclass(slots=True, eq=False)
class Door:
    """Around the protocol's application: no request gets further without a valid proof, whatever it asks for.

    `hosts` are the names, besides those of this machine, that the server is reached by: a request that was signed for
    another node is taken by none of them.
    """

    app: "ASGIApp"
    toolbox: Tooling
    hosts: tuple[str, ...] = ()
    rate: RateLimit | None = None
    threads: Threads = field(default_factory=Threads)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        told: list[tuple[bytes, bytes]] = []
        try:
            who, credential, receive = await self._prove(HTTPConnection(scope), receive)
            told += self._take(who)
        except Error as error:
            await _refuse(send, error)
            return
        await self.app({**scope, _PROVED: credential}, receive, _telling(send, told))

    async def _prove(self, connection: HTTPConnection, receive: "Receive") -> "tuple[Who, str, Receive]":
        if SIGNATURE_INPUT in connection.headers:
            return await self._prove_signed(connection, receive)
        credential = credential_in(connection.headers.getlist)
        if credential is None:
            raise NotSignedInError("expected one of `Authorization: Bearer …` and `x-api-key`")
        return await self.threads.run(lambda: self.toolbox.sign_in(credential)), credential, receive

    async def _prove_signed(self, connection: HTTPConnection, receive: "Receive") -> "tuple[Who, str, Receive]":
        """The signature is checked before the body is read: strangers make us read no more than headers."""
        if credential_in(connection.headers.getlist) is not None:
            raise NotSignedInError("expected a signature or another credential, got both")
        asked = list(_signed_of(connection, self.hosts))
        who, request = await self.threads.run(lambda: self._admit(asked))
        # INVARIANT: what the protocol reads is what was signed.
        body = await _whole(receive)
        if not has_content_digest(request.content_digest, body):
            raise NotSignedInError("expected the body that `Content-Digest` is of, got another")
        return who, render_signed(request), _again(body, receive)

    def _admit(self, asked: list[SignedRequest]) -> tuple[Who, SignedRequest]:
        """Under each of the addresses that the sender may have meant; only the right one's signature holds."""
        *others, last = asked
        for one in others:
            try:
                return self.toolbox.admit(one), one
            except NotSignedInError:
                continue
        return self.toolbox.admit(last), last

    def _take(self, who: Who) -> Iterator[tuple[bytes, bytes]]:
        if self.rate is None:
            return
        left = self.rate.take(who)
        yield b"ratelimit-policy", self.rate.policy.encode()
        yield b"ratelimit", left.encode()


def credential_of(request: HTTPConnection | None) -> str:
    """What the door proved this request by."""
    found = None if request is None else request.scope.get(_PROVED)
    if not isinstance(found, str):
        raise NotSignedInError("expected a request that came through the door")
    return found


def _signed_of(connection: HTTPConnection, hosts: tuple[str, ...]) -> Iterator[SignedRequest]:
    scope, given = connection.scope, signature_in(connection.headers.getlist)
    for origin in _origins(connection, hosts):
        yield parse_signed_request(str(scope["method"]), origin + asked_path(scope), given)


def _origins(connection: HTTPConnection, hosts: tuple[str, ...]) -> list[str]:
    """INVARIANT: the host is ours. Under a name of its own the server stands behind something that speaks https."""
    host, scheme = connection.headers.get("host", ""), str(connection.scope.get("scheme", "http"))
    named, port = _place(host)
    if named in {one.strip("[]") for one in LOOPBACK} and port == (connection.scope.get("server") or ("", None))[1]:
        return [f"{scheme}://{host}"]
    if named not in {urlsplit(f"//{one}").hostname for one in hosts}:
        raise NotSignedInError("expected a request signed for this server: `--allow-host` says how it is reached")
    return [f"https://{host}", f"{scheme}://{host}"]


def _place(host: str) -> tuple[str, int | None]:
    parts = urlsplit(f"//{host}")
    try:
        return parts.hostname or "", parts.port
    except ValueError as error:
        raise NotSignedInError("expected `Host` to name a port from 0 to 65535") from error


async def _whole(receive: "Receive") -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise NotSignedInError("expected the whole body, got the end of the connection")
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY:
            raise BodySizeError(f"expected at most {LARGEST_BODY} bytes")
        if not message.get("more_body"):
            return bytes(body)


def _again(body: bytes, receive: "Receive") -> "Receive":
    """The body that was read already, once; then whatever comes."""
    waiting = [body]

    async def read() -> "Message":
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return read


def _telling(send: "Send", told: list[tuple[bytes, bytes]]) -> "Send":
    async def tell(message: "Message") -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *told]}
        await send(message)

    return tell


async def _refuse(send: "Send", error: Error) -> None:
    status = status_of(error)
    body = json.dumps({"error": {"code": error.code, "message": str(error)}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == _UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    if isinstance(error, TooFastError):
        headers.append((b"retry-after", str(error.seconds).encode()))
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": body})


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
