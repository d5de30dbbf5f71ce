"""One process that serves: a bound socket, an open node, uvicorn, and a thread that signs checkpoints.

SIGTERM -> accept no more -> finish the requests in hand -> stop signing -> close the database (which drains its queue)
"""

import signal
import socket
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Never

import structlog
import uvicorn
from litestar import Litestar

from assay.flows.checkpoint_growth import checkpoint_growth
from assay.kernel.errors import Blame, Error
from assay.surfaces.http.desk import Desk

__all__ = [
    "CannotListenError",
    "address_of",
    "listen",
    "serve_app",
    "sign_grown",
    "sign_while_serving",
    "stop_on_signals",
]

_DRAIN_SECONDS = 60
_BACKLOG = 2048
_log = structlog.get_logger("assay.serve")


class CannotListenError(Error):
    """The address cannot be listened on."""

    code = "serve.cannot_listen"
    blame = Blame.USAGE


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


def listen(host: str, port: int) -> socket.socket:
    """A socket that accepts nothing yet; port 0 lets the system choose."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise CannotListenError(f"expected an address of this machine, got `{host}`: {error}") from error
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise CannotListenError(f"`{host}` port {port} cannot be listened on: {error.strerror}") from error
    return bound


def address_of(bound: socket.socket) -> str:
    """The URL under which it is reached, with the real port."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve_app(app: Litestar, bound: socket.socket, *, ready: Callable[[], None]) -> None:
    """Answer until a signal comes, then finish what was begun."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        backlog=_BACKLOG,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )
    _Server(config, ready).run(sockets=[bound])


@contextmanager
def stop_on_signals() -> Iterator[None]:
    """Signals before and after the server's own time end the process in order, closing what was opened.

    uvicorn raises a signal it handled once more when it is done; the default would kill us before the database closes.
    """
    wanted = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, _leave) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def sign_while_serving(desk: Desk) -> Iterator[None]:
    """A thread that signs a checkpoint of each grown ledger, every `node.checkpoint_seconds`."""
    seconds = desk.config.node.checkpoint_seconds
    stopping = threading.Event()
    thread = threading.Thread(target=_sign_until, args=(desk, stopping, seconds), name="assay-checkpoints", daemon=True)
    if seconds:
        thread.start()
    try:
        yield
    finally:
        stopping.set()
        if seconds:
            thread.join()


def _sign_until(desk: Desk, stopping: threading.Event, seconds: int) -> None:
    while not stopping.wait(seconds):
        try:
            sign_grown(desk)
        except Exception as error:  # noqa: BLE001 - the next round may succeed, and the thread must live to try it
            code = error.code if isinstance(error, Error) else "http.internal"
            desk.metrics.checkpoint_failures.labels(code=code).inc()
            _log.error("checkpoint", code=code, traceback="".join(traceback.format_exception(error)))


def sign_grown(desk: Desk) -> None:
    """One round: sign what has grown, log each attempt, count each failure."""
    for attempt in checkpoint_growth(desk.tools, at=desk.tools.clock.now()):
        if attempt.error is None:
            _log.info("checkpoint", tenant=attempt.tenant_id, size=attempt.size)
        else:
            desk.metrics.checkpoint_failures.labels(code=attempt.error.code).inc()
            _log.error("checkpoint", tenant=attempt.tenant_id, code=attempt.error.code, message=str(attempt.error))


def _leave(_number: int, _frame: FrameType | None) -> Never:
    raise SystemExit(0)
