"""A service on each kind of framework, attached to a real node with people and agents."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
from fastapi import FastAPI
from litestar import Litestar, get, post
from litestar.params import FromPath
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

import assay
from assay.adapters.group_commit import BusyError
from assay.adapters.service_file import ServiceFile
from assay.flows.registry.service_desk import NodeDesk
from assay.identity.principal import PrincipalKind
from assay.kernel.ids import PrincipalId
from assay.ports.registry_store import ServiceStore
from assay.registry.permission import mask_of
from assay.surfaces.attach import Agent
from assay.surfaces.forja.reply import Receive, Scope, Send
from tests.acting import issue_api_key
from tests.flows._people import ADMIN, TENANT, Desk, opened_desk
from tests.registry.codex import codex

__all__ = ["AGENT", "BREAK", "FRAMEWORKS", "Failing", "House", "make_app", "opened_house", "run"]

T = TypeVar("T")
AGENT = "ai:planner"
BREAK = "/break"
FRAMEWORKS = ("fastapi", "starlette", "litestar", "plain")
_MASK = mask_of(["READ", "WRITE", "ALERT_ACK"])


def run(work: Callable[[], Awaitable[T]]) -> T:
    async def main() -> T:
        return await work()

    return asyncio.run(main())


class Failing:
    """A memory that can stop answering after it was opened."""

    def __init__(self, inner: ServiceFile) -> None:
        self.inner = inner
        self.is_gone = False
        self.refused = threading.Event()

    def write(self, work: Callable[[ServiceStore], T]) -> T:
        self._look()
        return self.inner.write(work)

    def read(self, work: Callable[[ServiceStore], T]) -> T:
        self._look()
        return self.inner.read(work)

    def close(self) -> None:
        self.inner.close()

    def _look(self) -> None:
        if self.is_gone:
            self.refused.set()
            raise BusyError("another worker keeps the service's memory locked; nothing was written")


@dataclass
class House:
    """An attached service, and who knows it."""

    agent: Agent
    desk: Desk
    key: str
    done: list[str]
    mask: int = _MASK

    def call(self, method: str, path: str, **options: Any) -> httpx.Response:  # noqa: ANN401  httpx's own
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.agent, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
                return await client.request(method, path, **options)

        return run(ask)

    def as_agent(self, method: str, path: str, **headers: str) -> httpx.Response:
        wishes = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.call(method, path, headers={"x-api-key": self.key, **wishes})

    def sense(self) -> dict[str, Any]:
        found: dict[str, Any] = self.call("GET", "/api/v2/forja/sense").json()
        return found

    def fail(self, times: int) -> None:
        async def ask() -> None:
            transport = httpx.ASGITransport(app=self.agent, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
                for _ in range(times):
                    await client.get(BREAK)

        run(ask)


def make_app(framework: str, done: list[str]) -> tuple[Any, Callable[[Agent], None]]:
    """The application before it is attached, and what decorates its action afterwards."""
    table: dict[str, Callable[..., Any]] = {}

    def bind(agent: Agent) -> None:
        @agent.action("ALERT_ACK", tier=2, rollback=lambda log: done.append(f"undone {log.action_id}"))
        def acknowledge(alert: str) -> str:
            done.append(alert)
            return alert

        table["ack"] = acknowledge

    makers = {"fastapi": _fastapi, "starlette": _starlette, "litestar": _litestar, "plain": _plain}
    return makers[framework](table), bind


def _fastapi(table: dict[str, Callable[..., Any]]) -> FastAPI:
    app = FastAPI(openapi_url=None)

    @app.get("/ping", response_class=PlainTextResponse)
    async def ping() -> str:
        return "pong"

    @app.get(BREAK)
    async def broken() -> None:
        raise ValueError

    @app.post("/ack/{alert}")
    def ack(alert: str) -> dict[str, str]:
        return {"acked": table["ack"](alert)}

    return app


def _starlette(table: dict[str, Callable[..., Any]]) -> Starlette:
    async def ping(_request: Request) -> PlainTextResponse:
        return PlainTextResponse("pong")

    async def broken(_request: Request) -> PlainTextResponse:
        raise ValueError

    def ack(request: Request) -> JSONResponse:
        return JSONResponse({"acked": table["ack"](request.path_params["alert"])})

    routes = [Route("/ping", ping), Route(BREAK, broken), Route("/ack/{alert}", ack, methods=["POST"])]
    return Starlette(routes=routes)


def _litestar(table: dict[str, Callable[..., Any]]) -> Litestar:
    @get("/ping", media_type="text/plain")
    async def ping() -> str:
        return "pong"

    @get(BREAK)
    async def broken() -> None:
        raise ValueError

    @post("/ack/{alert:str}", status_code=200, sync_to_thread=True)
    def ack(alert: FromPath[str]) -> dict[str, str]:
        return {"acked": table["ack"](alert)}

    return Litestar(route_handlers=[ping, broken, ack], logging_config=None, openapi_config=None)


def _plain(table: dict[str, Callable[..., Any]]) -> Any:  # noqa: ANN401  an ASGI application
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        if scope["path"] == BREAK:
            raise ValueError
        body = b"pong"
        if scope["path"].startswith("/ack/"):
            body = json.dumps({"acked": table["ack"](scope["path"].removeprefix("/ack/"))}).encode()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    return app


@contextmanager
def opened_house(folder: Path, framework: str = "starlette", **options: Any) -> Iterator[House]:  # noqa: ANN401  of attach
    done: list[str] = []
    (folder / "codex.json").write_bytes(options.pop("codex", None) or codex())
    with opened_desk(folder) as desk:
        desk.add("user:olga", roles=("operator",))
        desk.add(AGENT, kind=PrincipalKind.AGENT, roles=(), trust_mask=_MASK, action_tier=2)
        key, _ = issue_api_key(desk.tools, TENANT, PrincipalId(AGENT), by=ADMIN, at=desk.start)
        app, bind = make_app(framework, done)
        node = NodeDesk(tools=desk.tools, tenant_id=TENANT)
        agent = assay.attach(app, folder / "codex.json", node=node, **options)
        bind(agent)
        yield House(agent, desk, key, done)
        agent.stop()
        agent.service.memory.close()
