"""What a process answers while another one is the writer: alive, not ready, come again in a second.

one process holds the writer's place -> it serves;   the others -> stand in -> take the place when it is free -> serve

Nothing of the node is open meanwhile: whoever takes over reads everything anew, and remembers nothing that is old.
Requests are not passed on to the writer: to it they would come from this machine, and where somebody asks from decides
what they may.
"""

import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import msgspec
import uvicorn

from assay.kernel.errors import Error
from assay.operations.problem import PROBLEM_TYPE, ProblemDetails, status_of
from assay.surfaces.http.errors import HttpError
from assay.surfaces.http.health import Health

_Message = MutableMapping[str, Any]
_Send = Callable[[_Message], Awaitable[None]]
# Whoever reads slowly does not hold up the one who takes over.
_PATIENCE_SECONDS = 1
_WORDS = "another process is the writer, and this one takes over when it is gone; come again, or ask the other"


@contextmanager
def standing_in(bound: socket.socket) -> Iterator[None]:
    """Answer on the socket from a thread; when it ends the socket still listens, and whoever comes waits."""
    config = uvicorn.Config(
        answer_standing_by,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=_PATIENCE_SECONDS,
    )
    server = uvicorn.Server(config)
    # Whoever was told the address may come before the thread is ready, and then waits.
    bound.listen(config.backlog)
    # uvicorn closes what it was given, and the one who takes over needs it.
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound.dup()]}, name="assay-standby")
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


async def answer_standing_by(scope: _Message, _receive: object, send: _Send) -> None:
    """An ASGI application without a node."""
    if scope["type"] != "http":
        return
    is_alive = scope["path"] == "/healthz" and scope["method"] in {"GET", "HEAD"}
    error = HttpError.standing_by(_WORDS)
    status = 200 if is_alive else status_of(error)
    body = msgspec.json.encode(Health() if is_alive else _problem(error))
    headers = [
        (b"content-type", b"application/json" if is_alive else PROBLEM_TYPE.encode()),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
        # The next request shall find whoever serves by then.
        (b"connection", b"close"),
        *(() if is_alive else ((b"retry-after", b"1"),)),
    ]
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


def _problem(error: Error) -> ProblemDetails:
    status = status_of(error)
    return ProblemDetails(title=status.phrase, status=status, detail=str(error), code=error.code)
