"""Records in lines over HTTP, on a real server and a disk: observations and outcomes, beside one request for each.

One sender streams and reads answers while it sends; the peer is the same node asked by many at once, a record in each
request. Every line is authenticated, judged by itself, durable before it is answered, and none may be refused. A sender
that streams takes none of the node's memory with it: what is resident is looked at before and after.
"""

import http.client
import json
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from bench._frame import Aim, Figure, load, print_table
from bench._served import Running, answering, node_command, resident_megabytes
from tests.node._home import Home, made, report, signal
from tests.scale import scale

__all__ = ["figures"]

_ROUNDS = 3
_LINES = scale(2_000, 100_000)
_CALLERS = 16
_SECONDS = 3.0
_TARGET = 3.0
_GROWTH_TARGET = 1.25
# No reporter has room for more than 64 at one key.
_ROOM = 50
_PART = 64 * 1024

Make = Callable[[int], dict[str, Any]]


def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        home = made(Path(folder) / "node")
        with answering(node_command(home.folder)) as running:
            intakes = [
                _compare(running, home, "observations", "gateway", _observation),
                _compare(running, home, "outcomes", "sensor", _outcome),
            ]
            return [*intakes, _growth(running, home)]


def _observation(number: int) -> dict[str, Any]:
    """Of one of some hundred places."""
    made = report(f"user:r{number // _ROOM}")
    place = {"lat": 4.0 + number % 100 / 10, "lon": 73.5}
    return {**made, "observation_id": f"o-{number}", "geo": place}


def _outcome(number: int) -> dict[str, Any]:
    return signal("success" if number % 3 else "partial", query_context=f"trip {number}")


def _compare(running: Running, home: Home, room: str, by: str, make: Make) -> Figure:
    """In turns, so that load on the machine hits both alike."""
    numbers, cpu = count(), time.process_time()
    pairs = [
        (
            _in_lines(running, home.keys[by], room, make, numbers),
            _one_by_one(running, home.keys[by], room, make, numbers),
        )
        for _ in range(_ROUNDS)
    ]
    return Figure(
        name=f"{room} in lines over HTTP, durable",
        ours=median(ours for ours, _ in pairs),
        peer=median(theirs for _, theirs in pairs),
        peer_name=f"a request each, {_CALLERS} callers",
        unit="records/s",
        ratio=median(ours / theirs for ours, theirs in pairs),
        target=_TARGET,
        cpu_seconds=time.process_time() - cpu,
        load=load(),
        note=f"{_LINES:,} lines, none refused",
    )


def _growth(running: Running, home: Home) -> Figure:
    """The first stream warmed everything up: another may cost nothing that stays."""
    before = resident_megabytes(running)
    _in_lines(running, home.keys["sensor"], "outcomes", _outcome, count(10**9))
    after = resident_megabytes(running)
    return Figure(
        name=f"memory after {_LINES:,} more lines",
        ours=after,
        peer=before,
        peer_name="MB before",
        unit="MB",
        ratio=after / before,
        target=_GROWTH_TARGET,
        cpu_seconds=0.0,
        load=load(),
        aim=Aim.AT_MOST,
    )


def _in_lines(running: Running, key: str, room: str, make: Make, numbers: Iterator[int]) -> float:
    """Lines a second of one sender; a refused one makes the figure worth nothing."""
    body = b"\n".join(json.dumps(make(next(numbers))).encode() for _ in range(_LINES))
    headers = {"x-api-key": key, "content-type": "application/x-ndjson", "content-length": str(len(body))}
    connection = http.client.HTTPConnection(urlsplit(running.url).netloc, timeout=600)
    told: list[bytes] = []
    start = time.perf_counter()
    connection.request("POST", f"/api/v1/{room}:bulk", headers=headers)
    # Beside the sending, somebody has to read: the server answers while it reads.
    reader = threading.Thread(target=lambda: told.append(connection.getresponse().read()))
    reader.start()
    for place in range(0, len(body), _PART):
        connection.send(body[place : place + _PART])
    reader.join()
    seconds = time.perf_counter() - start
    recorded = told[0].count(b'"status":"recorded"')
    assert recorded == _LINES, f"{_LINES - recorded} of {_LINES} were not recorded"  # noqa: S101 - as above
    return _LINES / seconds


def _one_by_one(running: Running, key: str, room: str, make: Make, numbers: Iterator[int]) -> float:
    """Requests a second of many callers, each of which waits for its answer."""
    end, counts, lock = time.perf_counter() + _SECONDS, [0] * _CALLERS, threading.Lock()

    def call(caller: int) -> None:
        connection = _connected(running)
        while time.perf_counter() < end:
            with lock:
                number = next(numbers)
            connection.request(
                "POST",
                f"/api/v1/{room}",
                json.dumps(make(number)).encode(),
                {"x-api-key": key, "content-type": "application/json"},
            )
            response = connection.getresponse()
            told = response.read()
            assert response.status == 201, told  # noqa: S101 - as above
            counts[caller] += 1

    threads = [threading.Thread(target=call, args=(caller,)) for caller in range(_CALLERS)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - start)


def _connected(running: Running) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection(urlsplit(running.url).netloc, timeout=120)
    connection.connect()
    # Header and body are two writes: the second does not wait for what the other side says to the first.
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


if __name__ == "__main__":
    print_table(figures())
