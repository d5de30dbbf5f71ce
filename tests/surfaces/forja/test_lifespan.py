"""A service says that it is there when it starts, that it lives, and that it leaves; its own lifespan goes on."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.adapters.service_file import ServiceFile
from assay.registry.health import Outcome
from assay.surfaces.attach import Agent
from assay.surfaces.forja.reply import Message
from assay.surfaces.forja.service import Service
from tests.registry.codex import codex
from tests.surfaces.forja._served import free_port, wait_for
from tests.surfaces.forja._service import FRAMEWORKS, Failing, opened_house


class _Registry(ThreadingHTTPServer):
    """Hears everything; refuses while it is told to."""

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Ear)
        self.heard: list[dict[str, Any]] = []
        self.status = 202

    @property
    def events(self) -> list[str]:
        return [one["event"] for one in self.heard]


class _Ear(BaseHTTPRequestHandler):
    server: _Registry

    def do_POST(self) -> None:
        said = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.heard.append(said)
        self.send_response(self.server.status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def _registry(port: int) -> Iterator[_Registry]:
    server = _Registry(port)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@contextmanager
def _living(agent: Agent) -> Iterator[list[str]]:
    """The application's lifespan, as a server runs it: started now, shut down at the end."""
    said: list[str] = []
    stop, started = threading.Event(), threading.Event()

    async def live() -> None:
        steps = iter(["lifespan.startup", "lifespan.shutdown"])

        async def receive() -> Message:
            if said:
                await asyncio.to_thread(stop.wait)
            return {"type": next(steps)}

        async def send(message: Message) -> None:
            said.append(message["type"])
            started.set()

        await agent({"type": "lifespan", "asgi": {}, "state": {}}, receive, send)

    thread = threading.Thread(target=lambda: asyncio.run(live()))
    thread.start()
    started.wait(30)
    yield said
    stop.set()
    thread.join(30)


@pytest.mark.clause("forja", "announce")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_it_announces_on_start_beats_and_says_offline_on_shutdown(tmp_path: Path, framework: str) -> None:
    port = free_port()
    with _registry(port) as registry:
        options = {"registry": f"http://127.0.0.1:{port}", "heartbeat_seconds": 0.05}
        with opened_house(tmp_path, framework, **options) as house, _living(house.agent) as said:
            wait_for(lambda: registry.events.count("heartbeat") >= 2, "no heartbeats")
        assert said == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert (registry.events[0], registry.events[-1]) == ("announce", "offline")
    numbers = [one["sequence"] for one in registry.heard]
    assert numbers == sorted(set(numbers))
    assert {one["instance_id"] for one in registry.heard} == {house.agent.service.worker_id}


@pytest.mark.clause("forja", "announce")
def test_a_registry_that_is_down_is_waited_for(tmp_path: Path) -> None:
    """The service serves all the while; when the registry comes, it hears an announce first."""
    port = free_port()
    options = {"registry": f"http://127.0.0.1:{port}", "heartbeat_seconds": 0.05}
    with opened_house(tmp_path, "starlette", **options) as house, _living(house.agent):
        assert house.call("GET", "/ping").text == "pong"
        with _registry(port) as registry:
            wait_for(lambda: "heartbeat" in registry.events, "never heard")
            assert registry.events[0] == "announce"
            registry.status = 503
            wait_for(lambda: registry.events.count("announce") >= 2, "never announced anew")
            assert house.call("GET", "/ping").text == "pong"


@pytest.mark.clause("forja", "announce")
def test_a_memory_that_is_busy_ends_no_announcing_and_no_shutdown(tmp_path: Path) -> None:
    port, memory = free_port(), Failing(ServiceFile(tmp_path / "m.db"))
    options = {"registry": f"http://127.0.0.1:{port}", "heartbeat_seconds": 0.05, "memory": memory}
    with _registry(port) as registry, opened_house(tmp_path, "plain", **options) as house:
        memory.is_gone = True
        with _living(house.agent):
            memory.refused.wait(30)
            memory.is_gone = False
            wait_for(lambda: "heartbeat" in registry.events, "never heard again")
            memory.is_gone = True


@pytest.mark.clause("forja", "one-call")
def test_an_application_that_knows_no_lifespan_is_announced_all_the_same(tmp_path: Path) -> None:
    async def app(scope: Any, _receive: Any, _send: Any) -> None:  # noqa: ANN401  ASGI's own
        assert scope["type"] == "http", scope["type"]

    port = free_port()
    (tmp_path / "codex.json").write_bytes(codex())
    with _registry(port) as registry:
        agent = assay.attach(app, tmp_path / "codex.json", registry=f"http://127.0.0.1:{port}")
        with _living(agent) as said:
            wait_for(lambda: registry.events == ["announce"], "never announced")
        assert said == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert registry.events == ["announce", "offline"]


@pytest.mark.clause("forja", "kill-switch")
def test_a_firing_is_stored_though_no_lifespan_began_and_also_by_the_last_round(tmp_path: Path) -> None:
    """A server that runs no lifespan has rounds from its first request on; ending them stores what is left."""
    with opened_house(tmp_path, "plain") as house:
        service = house.agent.service
        house.call("GET", "/ping")
        house.fail(60)
        wait_for(lambda: _stored(service) == 1, "nobody stored the firing")
    (tmp_path / "second").mkdir()
    with opened_house(tmp_path / "second", "plain") as house:
        service = house.agent.service
        for _ in range(60):
            service.observe(Outcome.FAILED, is_agent=False)
        assert _stored(service) == 0
        house.agent.stop()
        assert _stored(service) == 1


def _stored(service: Service) -> int:
    return len(service.memory.read(lambda store: store.facts(service.tenant_id, service.manifest.service)))
