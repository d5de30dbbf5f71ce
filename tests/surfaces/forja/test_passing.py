"""What strangers do to a connection says nothing about a service; nor does it matter where it is mounted."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from litestar import Litestar, Request, post
from starlette.applications import Starlette
from starlette.requests import Request as StarletteRequest
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

import assay
from assay.adapters.service_file import ServiceFile
from assay.kernel.errors import Error
from assay.ports.registry_store import ServiceStore
from assay.surfaces.attach import Agent
from assay.surfaces.forja.reply import Message
from tests.registry.codex import codex
from tests.surfaces.forja._service import House, opened_house, run

_FORJA = "/api/v2/forja"
_ENOUGH = 60


def _attached(folder: Path, app: Any, **options: Any) -> Agent:  # noqa: ANN401  any application, and what attach takes
    (folder / "codex.json").write_bytes(codex())
    return assay.attach(app, folder / "codex.json", **options)


def _scope(path: str, method: str = "POST", kind: str = "http") -> dict[str, Any]:
    return {
        "type": kind, "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path,
        "raw_path": path.encode(), "root_path": "", "scheme": "http", "query_string": b"",
        "headers": [(b"content-type", b"text/plain")], "client": ("198.51.100.7", 9), "server": ("service", 80),
    }  # fmt: skip


async def _half_a_request(agent: Agent) -> None:
    """The first byte of a body, and then nobody; whatever comes of it is the server's to log."""
    messages = iter([{"type": "http.request", "body": b"x", "more_body": True}])

    async def receive() -> Message:
        return next(messages, {"type": "http.disconnect"})

    async def send(_message: Message) -> None:
        pass

    try:
        await agent(_scope("/read"), receive, send)
    except Exception:  # noqa: BLE001 - each framework has its own
        return


def _starlette() -> Starlette:
    async def read(request: StarletteRequest) -> PlainTextResponse:
        return PlainTextResponse(await request.body())

    return Starlette(routes=[Route("/read", read, methods=["POST"])])


def _litestar() -> Litestar:
    @post("/read", media_type="text/plain")
    async def read(request: Request[Any, Any, Any]) -> bytes:
        return await request.body()

    return Litestar(route_handlers=[read], logging_config=None, openapi_config=None)


@pytest.mark.clause("forja", "kill-switch")
@pytest.mark.parametrize("make", [_starlette, _litestar])
def test_hanging_up_in_the_middle_of_a_request_fires_no_switch(tmp_path: Path, make: Any) -> None:  # noqa: ANN401  a framework
    agent = _attached(tmp_path, make())

    async def attack() -> None:
        for _ in range(_ENOUGH):
            await _half_a_request(agent)

    run(attack)
    assert not _is_fired(agent)
    assert agent.service.totals().errors == 0
    agent.stop()


@pytest.mark.clause("forja", "kill-switch")
def test_a_request_that_the_server_cancels_fires_no_switch(tmp_path: Path) -> None:
    async def app(_scope: Any, receive: Any, _send: Any) -> None:  # noqa: ANN401  ASGI's own
        await receive()

    async def attack() -> None:
        async def never() -> Message:
            return await asyncio.Future()

        for _ in range(_ENOUGH):
            task = asyncio.ensure_future(agent(_scope("/slow"), never, never))  # type: ignore[arg-type]  # never called
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait({task})

    agent = _attached(tmp_path, app)
    run(attack)
    assert agent.service.totals().requests == 0
    agent.stop()


@pytest.mark.clause("forja", "kill-switch")
def test_an_application_that_answers_nothing_has_failed(tmp_path: Path) -> None:
    async def app(_scope: Any, _receive: Any, _send: Any) -> None:  # noqa: ANN401  ASGI's own
        return

    async def ask() -> None:
        for _ in range(_ENOUGH):
            await agent(_scope("/x"), _silent, _silent)  # type: ignore[arg-type]  # never called

    agent = _attached(tmp_path, app)
    run(ask)
    assert _is_fired(agent)
    agent.stop()


async def _silent() -> Message:
    return {"type": "http.request", "body": b""}


def _ask(app: Any, method: str, path: str, **options: Any) -> httpx.Response:  # noqa: ANN401  any application
    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app=app, **options)
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
            return await client.request(method, path)

    return run(ask)


@pytest.mark.clause("forja", "endpoints")
def test_an_application_that_is_mounted_in_another_has_its_endpoints_below_it(tmp_path: Path) -> None:
    inner = _starlette()
    agent = _attached(tmp_path, inner)
    outer = Starlette(routes=[Mount("/port", inner)])
    assert _ask(outer, "GET", f"/port{_FORJA}/state").status_code == 200
    assert _ask(outer, "GET", "/port/codex.json").json()["service"] == "portwatch-backend"
    assert _ask(inner, "GET", f"{_FORJA}/sense", root_path="/api").status_code == 200
    agent.stop()


@pytest.mark.clause("forja", "endpoints")
def test_head_says_what_get_would_and_sends_nothing(tmp_path: Path) -> None:
    agent = _attached(tmp_path, _starlette())
    asked, got = (_ask(agent, method, "/codex.json") for method in ("HEAD", "GET"))
    assert asked.headers == got.headers
    assert (asked.content, int(asked.headers["content-length"])) == (b"", len(got.content))
    agent.stop()


def _action(house: House) -> Callable[[], None]:
    @house.agent.action("ALERT_ACK")
    def acknowledge() -> None:
        house.done.append("ran")

    return acknowledge


def test_a_refusal_that_the_application_caught_is_its_own_to_answer(tmp_path: Path) -> None:
    """The action did not run; that the application has something else to say is no business of the layer around it."""
    with opened_house(tmp_path, "plain") as house:
        acknowledge = _action(house)

        async def app(_scope: Any, _receive: Any, send: Any) -> None:  # noqa: ANN401  ASGI's own
            try:
                acknowledge()
            except Error as error:
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await send({"type": "http.response.body", "body": f"not now: {error.code}".encode()})

        answer = _ask(house.agent.wrap(app), "POST", "/x")
        assert (answer.status_code, answer.text) == (200, "not now: identity.not_signed_in")
        assert house.done == []


def test_an_action_in_a_websocket_is_ruled_on_by_what_opened_it(tmp_path: Path) -> None:
    with opened_house(tmp_path, "plain") as house:
        acknowledge = _action(house)

        async def app(_scope: Any, _receive: Any, _send: Any) -> None:  # noqa: ANN401  ASGI's own
            acknowledge()

        def talk(*headers: tuple[bytes, bytes]) -> None:
            scope = {**_scope("/ws", kind="websocket"), "headers": list(headers)}
            run(lambda: house.agent.wrap(app)(scope, _silent, _silent))  # type: ignore[arg-type]  # never called

        with pytest.raises(Error) as caught:
            talk()
        assert caught.value.code == "identity.not_signed_in"
        talk((b"x-api-key", house.key.encode()))
        assert house.done == ["ran"]


@pytest.mark.clause("forja", "kill-switch")
@pytest.mark.parametrize("fails", ["raises", "closes"])
def test_websockets_that_fail_fire_the_switch(tmp_path: Path, fails: str) -> None:
    """Also after they were accepted; one that the caller left, or that was closed as it should be, does not."""

    async def app(_scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401  ASGI's own
        await send({"type": "websocket.accept"})
        message = await receive()
        if message["type"] == "websocket.disconnect" or (message["text"] == "fail" and fails == "raises"):
            raise RuntimeError("broken")
        await send({"type": "websocket.close", "code": 1011 if message["text"] == "fail" else 1000})

    agent = _attached(tmp_path, app)

    def talk(message: Message) -> None:
        async def receive() -> Message:
            return message

        with suppress(RuntimeError):
            run(lambda: agent(_scope("/ws", kind="websocket"), receive, _sent))

    for _ in range(_ENOUGH):
        talk({"type": "websocket.receive", "text": "well"})
        talk({"type": "websocket.disconnect", "code": 1001})
    assert not _is_fired(agent)
    for _ in range(_ENOUGH):
        talk({"type": "websocket.receive", "text": "fail"})
    assert _is_fired(agent)
    agent.stop()
    agent.service.memory.close()


def _is_fired(agent: Agent) -> bool:
    return agent.service.switch.is_fired


async def _sent(_message: Message) -> None:
    """Nobody listens."""


def test_a_slow_memory_holds_none_of_the_applications_own_threads(tmp_path: Path) -> None:
    """As many callers as there are threads in the loop's own pool wait for the memory; the application does not."""
    memory = ServiceFile(tmp_path / "m.db")
    begun, go_on = threading.Event(), threading.Event()

    def slow(_store: ServiceStore) -> None:
        begun.set()
        go_on.wait(60)

    async def work(_request: StarletteRequest) -> PlainTextResponse:
        return PlainTextResponse(await asyncio.to_thread(lambda: "done"))

    agent = _attached(tmp_path, Starlette(routes=[Route("/work", work)]), memory=memory)
    other = threading.Thread(target=lambda: memory.write(slow))
    other.start()
    begun.wait(30)

    async def ask() -> str:
        transport = httpx.ASGITransport(app=agent)
        async with httpx.AsyncClient(transport=transport, base_url="http://service", timeout=60) as client:
            wish = {"action_id": "ALERT_ACK", "requested_tier": 3}
            waiting = [asyncio.ensure_future(client.post(f"{_FORJA}/trust", json=wish)) for _ in range(40)]
            answer = await asyncio.wait_for(client.get("/work"), 30)
            assert not any(task.done() for task in waiting)
            go_on.set()
            await asyncio.gather(*waiting)
            return answer.text

    assert run(ask) == "done"
    other.join()
    agent.stop()
    memory.close()
