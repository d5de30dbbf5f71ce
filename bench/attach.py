"""What a request costs more on an attached service: the layer that counts, beside the same application without it."""

import asyncio
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, cast

from fastapi import FastAPI
from litestar import Litestar, get
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

import assay
from assay.surfaces.forja.reply import App, Message, Scope
from bench._frame import Aim, Figure, load, print_table

__all__ = ["figures"]

_ROUNDS = 9
_REQUESTS = 2000
_ALLOWED = 60e-6
_CODEX = {
    "service": "bench",
    "port": 4080,
    "domain": "bench",
    "version": "1.0.0",
    "can_answer": ["ping"],
    "can_do": [],
}


def figures() -> list[Figure]:
    """Each framework in turn; the rounds of both applications alternate, so that load hits both alike."""
    with tempfile.TemporaryDirectory() as folder:
        codex = Path(folder) / "codex.json"
        codex.write_text(json.dumps(_CODEX))
        return [_figure(name, make, codex) for name, make in _FRAMEWORKS]


def _figure(name: str, make: Callable[[], App], codex: Path) -> Figure:
    bare, attached = make(), make()
    agent = assay.attach(attached, codex, memory=codex.with_name(f"{name}.db"))
    agent.start()
    cpu = time.process_time()
    try:
        pairs = [(_seconds(attached), _seconds(bare)) for _ in range(_ROUNDS)]
    finally:
        agent.stop()
        agent.service.memory.close()
    more = median(with_it - without for with_it, without in pairs)
    return Figure(
        name=f"middleware on {name}, more per request",
        ours=more * 1e6,
        peer=None,
        peer_name=f"{_ALLOWED * 1e6:.0f} us",
        unit="us",
        ratio=more / _ALLOWED,
        target=1.0,
        cpu_seconds=time.process_time() - cpu,
        load=load(),
        aim=Aim.AT_MOST,
        note=f"bare {median(without for _, without in pairs) * 1e6:.0f} us",
    )


def _seconds(app: App) -> float:
    """CPU seconds of one request, on average: ASGI messages without a socket, so that nothing hides the layer.

    Of the thread that serves, since that is what a request waits for; a worker's rounds have a thread of their own.
    """
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/ping",
        "raw_path": b"/ping",
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"bench"), (b"user-agent", b"bench")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(_message: Message) -> None:
        return

    async def run() -> float:
        start = time.thread_time()
        for _ in range(_REQUESTS):
            await app(dict(scope), receive, send)
        return (time.thread_time() - start) / _REQUESTS

    return asyncio.run(run())


def _fastapi() -> App:
    app = FastAPI(openapi_url=None)

    @app.get("/ping", response_class=PlainTextResponse)
    async def ping() -> str:
        return "pong"

    return cast("App", app)


def _starlette() -> App:
    async def ping(_request: Request) -> PlainTextResponse:
        return PlainTextResponse("pong")

    return Starlette(routes=[Route("/ping", ping)])


def _litestar() -> App:
    @get("/ping", media_type="text/plain")
    async def ping() -> str:
        return "pong"

    app: Any = Litestar(route_handlers=[ping], logging_config=None, openapi_config=None)
    return cast("App", app)


_FRAMEWORKS: tuple[tuple[str, Callable[[], App]], ...] = (
    ("FastAPI", _fastapi),
    ("Starlette", _starlette),
    ("Litestar", _litestar),
)

if __name__ == "__main__":
    print_table(figures())
