"""SSE fan-out: 500 readers of one tenant, a real server on loopback, and how long an event takes to reach them all.

Readers are raw sockets on one thread of their own, so that what is measured is the server; CPU time is of the whole
process, readers included. Beside it: the append of an entry with an event, with and without the readers.
"""

import asyncio
import resource
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from litestar import Litestar
from msgspec import Raw

from assay.flows.tools import Tools
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.ledger import EntryKind, Event, draft_entry
from assay.surfaces.http.app import create_app
from assay.surfaces.http.serve import listen
from assay.wiring import init_node, load_config, open_node
from bench._frame import Aim, Figure, load, print_table
from tests.acting import add_principal, issue_api_key

__all__ = ["figures"]

_TENANT, _BY = TenantId("default"), PrincipalId("operator:bench")
_READERS = 500
_EVENTS = 40
_MILLISECONDS_TARGET = 250.0
_COST_TARGET = 1.5


def _key(tools: Tools) -> str:
    name, now = PrincipalId("service:reader"), tools.clock.now()
    granted = PrincipalChange(roles=("auditor",))
    add_principal(tools, _TENANT, name, kind=PrincipalKind.SERVICE, name=name, granted=granted, by=_BY, at=now)
    return issue_api_key(tools, _TENANT, name, by=_BY, at=now)[0]


def _tell(tools: Tools, number: int) -> float:
    """Seconds that one append took, with one event."""
    event = Event(type="bench", subject=str(number), body=Raw(b'{"number":%d}' % number))
    draft = draft_entry(_TENANT, EntryKind.NOTE, {"number": number}, at=tools.clock.now(), events=(event,))
    start = time.perf_counter()
    tools.database.append(draft)
    return time.perf_counter() - start


@contextmanager
def _served(app: Litestar) -> Iterator[int]:
    bound = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, backlog=2048))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield bound.getsockname()[1]
    finally:
        app.state.desk.fanout.close()
        server.should_exit = True
        thread.join()
        bound.close()


class _Readers:
    """All of them on one event loop; each counts the events that it was told."""

    def __init__(self, port: int, key: str) -> None:
        self._port, self._key = port, key
        self.heard = [0] * _READERS
        self.open = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        tasks = [self._loop.create_task(self._read(number)) for number in range(_READERS)]
        self._loop.run_forever()
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()

    async def _read(self, number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        request = f"GET /api/v1/events?types=bench HTTP/1.1\r\nHost: b\r\nx-api-key: {self._key}\r\n\r\n"
        writer.write(request.encode())
        await reader.readuntil(b": alive")
        self.open += 1
        while part := await reader.read(65536):
            self.heard[number] += part.count(b"event: bench")


def _until(condition: object, seconds: float = 120.0) -> None:
    deadline = time.perf_counter() + seconds
    while not condition():  # type: ignore[operator]  # a callable of no arguments
        assert time.perf_counter() < deadline, "the readers were not told in time"  # noqa: S101 - else no figure
        time.sleep(0.0005)


def _figure(name: str, value: float, unit: str, target: float, cpu: float, note: str) -> Figure:
    return Figure(
        name=name,
        ours=value,
        peer=None,
        peer_name="target",
        unit=unit,
        ratio=value,
        target=target,
        aim=Aim.AT_MOST,
        cpu_seconds=cpu,
        load=load(),
        note=note,
    )


def _measured(tools: Tools, readers: _Readers) -> list[Figure]:
    quiet = sorted(_tell(tools, number) for number in range(_EVENTS))[_EVENTS // 2]
    told = _EVENTS
    _until(lambda: min(readers.heard) >= told)
    delays, appends, cpu = [], [], time.process_time()
    for number in range(_EVENTS):
        start = time.perf_counter()
        appends.append(_tell(tools, number))
        told += 1
        _until(lambda wanted=told: min(readers.heard) >= wanted)
        delays.append((time.perf_counter() - start) * 1000)
    spent = time.process_time() - cpu
    middle, busy = sorted(delays)[_EVENTS // 2], sorted(appends)[_EVENTS // 2]
    note = f"{spent / (_EVENTS * _READERS) * 1e6:.0f} us of CPU for each event and reader, worst {max(delays):.0f} ms"
    return [
        _figure(f"an event to {_READERS} readers, median", middle, "ms", _MILLISECONDS_TARGET, spent, note),
        _figure("an append beside them", busy / quiet, "times one in a row of appends", _COST_TARGET, spent, ""),
    ]


def figures() -> list[Figure]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        home = Path(folder) / "node"
        init_node(home)
        with open_node(home) as (tools, _):
            key = _key(tools)
            with _served(create_app(tools, load_config(home))) as port:
                readers = _Readers(port, key)
                _until(lambda: readers.open == _READERS)
                try:
                    return _measured(tools, readers)
                finally:
                    readers.close()


if __name__ == "__main__":
    print_table(figures())
