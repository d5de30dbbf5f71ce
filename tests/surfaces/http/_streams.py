"""A node behind a real server in a thread of this process, and readers of its streams."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
import uvicorn
from litestar import Litestar

from assay.surfaces.http.desk import Desk
from assay.surfaces.http.serve import address_of, listen
from tests.waiting import until

__all__ = ["Heard", "Running", "hearing", "running"]


@dataclass
class Running:
    url: str
    app: Litestar
    server: uvicorn.Server

    @property
    def desk(self) -> Desk:
        found = self.app.state.desk
        assert isinstance(found, Desk)
        return found

    def post(self, path: str, body: Any, key: str | None = None, **headers: str) -> httpx.Response:  # noqa: ANN401
        signed = headers if key is None else {"x-api-key": key, **headers}
        return httpx.post(self.url + path, json=body, headers=signed, timeout=20)

    def get(self, path: str, key: str | None = None) -> httpx.Response:
        return httpx.get(self.url + path, headers={} if key is None else {"x-api-key": key}, timeout=20)


@contextmanager
def running(app: Litestar) -> Iterator[Running]:
    """Until the block ends; streams are ended with it."""
    bound = listen("127.0.0.1", 0)
    server = uvicorn.Server(
        uvicorn.Config(app, log_config=None, access_log=False, proxy_headers=False, timeout_graceful_shutdown=5)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        until(lambda: server.started, what="the server")
        yield Running(address_of(bound), app, server)
    finally:
        app.state.desk.fanout.close()
        server.should_exit = True
        thread.join(20)
        bound.close()


@dataclass
class Heard:
    """What a subscriber has received so far, and the id that it would come back with."""

    events: list[dict[str, Any]] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    last_id: int | None = None
    retry: int = 0
    is_open: bool = False
    is_over: bool = False

    def read(self, response: httpx.Response) -> None:
        """By the rules of the WHATWG: an id without data moves the place and is no event."""
        found: dict[str, str] = {}
        for line in response.iter_lines():
            if line:
                name, _, value = line.partition(":")
                found[name] = value.removeprefix(" ")
                continue
            self.retry = int(found.get("retry", self.retry))
            self.last_id = int(found.get("id", self.last_id or 0))
            self.is_open = True
            if "data" in found:
                self.ids.append(self.last_id)
                self.names.append(found["event"])
                self.events.append(json.loads(found["data"]))
            found = {}


@contextmanager
def hearing(url: str, key: str, **headers: str) -> Iterator[Heard]:
    """A subscriber on a thread of its own, connected when the block begins and gone when it ends."""
    heard = Heard()
    client = httpx.Client(timeout=30)
    taps: list[socket.socket] = []

    def listen_on() -> None:
        try:
            with client.stream("GET", url, headers={"x-api-key": key, **headers}) as response:
                assert response.status_code == 200, response.read()
                assert response.headers["content-type"].startswith("text/event-stream")
                taps.append(response.extensions["network_stream"].get_extra_info("socket"))
                heard.read(response)
        except (httpx.HTTPError, OSError, RuntimeError, ValueError):
            pass
        finally:
            heard.is_over = True

    thread = threading.Thread(target=listen_on)
    thread.start()
    try:
        until(lambda: heard.is_open or heard.is_over, what="the first line")
        yield heard
    finally:
        # To close a socket that another thread reads from tells the other side nothing; to shut it down does.
        for tap in taps:
            with suppress(OSError):
                tap.shutdown(socket.SHUT_RDWR)
        thread.join(20)
        client.close()
