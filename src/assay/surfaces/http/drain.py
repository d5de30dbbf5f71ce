"""How a server ends: nobody who has begun to ask is left without an answer, and everybody else is told where they are.

told to end -> each answer is the last on its connection -> `http.drain_seconds` later accept no more, but who has
connected already -> answer what is on its way -> let go of who is idle
"""

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

import uvicorn
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from assay.surfaces.local_socket import is_own_user

if TYPE_CHECKING:
    # Which one uvicorn takes depends on what is installed; they are made alike.
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_TICK_SECONDS = 0.1
_TICKS_A_SECOND = 10
# For the first line and the headers of a request, from the connection or the last answer on.
HEAD_SECONDS = 30.0
# For requests that are on their way over connections that are open already; who is idle for longer is let go.
_LAST_SECONDS = 0.5


def _checking_peers(kind: "type[HttpToolsProtocol]") -> "type[HttpToolsProtocol]":
    """The protocol for a Unix socket: connections of other users are closed before anything is read."""

    class LocalProtocol(kind):  # type: ignore[misc, valid-type]  # whichever class uvicorn uses
        def connection_made(self, transport: asyncio.Transport) -> None:
            peer = transport.get_extra_info("socket")
            if peer is None or not is_own_user(peer):
                transport.abort()
                return
            super().connection_made(transport)

    return LocalProtocol


class DrainingServer(uvicorn.Server):
    """`ready` is called when it answers, `leaving` when it was told to end; `lost` says that the writer stopped."""

    def __init__(
        self,
        config: uvicorn.Config,
        ready: Callable[[], None],
        leaving: Callable[[], None],
        *,
        drain_seconds: float,
        lost: threading.Event,
        local: socket.socket | None = None,
    ) -> None:
        super().__init__(config)
        self._lost = lost
        self._local = local
        self._ready = ready
        self._leaving = leaving
        self._drain_seconds = drain_seconds
        self._is_hurried = False
        self._silent: dict[Any, tuple[object, float]] = {}

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - whichever it was
        """A second signal ends the draining; what is in hand is finished all the same."""
        self._is_hurried = self.should_exit
        # As SIGTERM: of a second SIGINT uvicorn would cut off who waits for an answer.
        super().handle_exit(signal.SIGTERM, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self._local is not None:
            await self._listen_locally(self._local)
        if self.started:
            self._ready()

    async def _listen_locally(self, bound: socket.socket) -> None:
        """Serve the node's own socket too, to processes of this user alone."""
        kind = _checking_peers(cast("type[HttpToolsProtocol]", self.config.http_protocol_class))
        serve = partial(kind, self.config, self.server_state, self.lifespan.state)
        self.servers.append(await asyncio.get_running_loop().create_unix_server(serve, sock=bound))

    async def on_tick(self, counter: int) -> bool:
        """End also when the writer stopped: nothing more can be acknowledged here."""
        if counter % _TICKS_A_SECOND == 0:
            self._let_go_of_silent()
        return await super().on_tick(counter) or self._lost.is_set()

    def _let_go_of_silent(self) -> None:
        """Whoever connects and does not ask holds a connection for so long: strangers can open as many as there are."""
        now, known = asyncio.get_running_loop().time(), self._silent
        self._silent = {}
        for one in self.server_state.connections:
            cycle = getattr(one, "cycle", None)
            if cycle is not None and not cycle.response_complete:
                continue
            last, since = known.get(one, (cycle, now))
            # Another one means that it asked, and was answered, since we looked.
            self._silent[one] = (cycle, since if last is cycle else now)
            if last is cycle and now - since > HEAD_SECONDS:
                one.transport.close()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Streams have no end of their own; without this the server would wait for them until its patience is over.
        self._leaving()
        # Go on accepting until whoever balances the load has heard that we leave.
        await self._wait(self._drain_seconds, lambda: False)
        await self._accept_the_last(sockets or [])
        # Whoever was accepted last has hardly begun to ask, and would be cut off.
        await self._wait(_LAST_SECONDS, lambda: not self.server_state.connections)
        await super().shutdown(sockets)

    async def _accept_the_last(self, sockets: list[socket.socket]) -> None:
        """Who has connected and waits to be accepted would be cut off when the socket is closed."""
        accepted = [one for bound in sockets for one in _waiting_on(bound)]
        for server in self.servers:
            server.close()
        for bound in sockets:
            bound.close()
        loop, state = asyncio.get_running_loop(), self.lifespan.state
        kind = cast("type[HttpToolsProtocol]", self.config.http_protocol_class)
        for one in accepted:
            await loop.connect_accepted_socket(partial(kind, self.config, self.server_state, state), one)

    async def _wait(self, seconds: float, is_over: Callable[[], bool]) -> None:
        """A second signal ends it, and so does the loss of the writer."""
        clock = asyncio.get_running_loop().time
        until = clock() + seconds
        while clock() < until and not (is_over() or self._is_hurried or self._lost.is_set()):  # noqa: ASYNC110 - uvicorn's own signal handler sets a bool
            await asyncio.sleep(min(_TICK_SECONDS, max(0.0, until - clock())))


def parting(app: ASGIApp, draining: threading.Event) -> ASGIApp:
    """Once we leave, every answer is the last on its connection, and says so: who has more to ask goes elsewhere.

    Without this a connection ends after an answer that promised to hear more, and the next request is lost on it.
    So it is with a request of two lengths: what comes after it may be its end, by whoever stands before us.
    """

    async def parted(scope: Scope, receive: Receive, send: Send) -> None:
        has_two = _has_two_lengths(scope)

        async def last(message: Message) -> None:
            if (has_two or draining.is_set()) and message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
            await send(message)

        await app(scope, receive, last)

    return parted


def _has_two_lengths(scope: Scope) -> bool:
    """RFC 9112, 6.1: a connection ends with a request that has both headers, whichever of them was believed."""
    names = {name for name, _ in scope.get("headers", ())}
    return {b"content-length", b"transfer-encoding"} <= names


def _waiting_on(bound: socket.socket) -> Iterator[socket.socket]:
    bound.setblocking(False)
    while True:
        try:
            connected, _ = bound.accept()
        except OSError:
            # Nobody is left, or whoever it was is gone already.
            return
        yield connected
