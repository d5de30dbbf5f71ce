"""A served node that is told to end: not ready at once, answering for as long as it was told to, and nothing lost."""

import http.client
import json
import signal
import socket
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from assay.kernel.ledger import EntryKind
from assay.wiring import open_node
from tests.surfaces.http._streams import hearing
from tests.surfaces.http.served import ACME, make_node, serving
from tests.waiting import until


def test_a_node_that_drains_is_not_ready_and_loses_no_acknowledged_write(tmp_path: Path) -> None:
    """While it drains it takes what comes, streams are told to come back, and a second signal ends the waiting."""
    home = tmp_path / "node"
    key = make_node(home)
    config = home / "assay.toml"
    config.write_text(config.read_text().replace("[http]\n", "[http]\ndrain_seconds = 120\n"))
    headers = {"x-api-key": key}
    with (
        serving("--home", str(home), "serve", "--port", "0", folder=tmp_path) as server,
        httpx.Client(base_url=server.url, headers=headers, timeout=30) as client,
        hearing(f"{server.url}/api/v1/events", key) as heard,
    ):
        assert client.get("/readyz").status_code == 200
        server.process.send_signal(signal.SIGTERM)
        until(lambda: client.get("/readyz").status_code == 503)
        until(lambda: heard.is_over)
        assert heard.retry == 1000
        written = client.post("/api/v1/entries", json={"note": {"said": "while draining"}})
        assert written.status_code == 201
        assert client.get("/healthz").status_code == 200
        assert server.stop(signal.SIGTERM) == 0
    number = written.json()["sequence_number"]
    with open_node(home) as (tools, _):
        row = tools.database.read(lambda unit: unit.ledger.find_entry(ACME, number))
    assert row is not None
    assert row.kind == EntryKind.NOTE
    assert json.loads(row.text)["body"]["note"] == {"said": "while draining"}


def _ask(connection: http.client.HTTPConnection, key: str, number: int) -> tuple[int, bool]:
    """The status, and whether the connection goes on after it."""
    body = json.dumps({"note": {"n": number}})
    connection.request("POST", "/api/v1/entries", body, {"x-api-key": key, "content-type": "application/json"})
    response = connection.getresponse()
    response.read()
    return response.status, not response.will_close


def _ask_well(connection: http.client.HTTPConnection, key: str, told: list[str]) -> bool:
    status, goes_on = _ask(connection, key, 0)
    told.append(str(status))
    return goes_on


def _keep_asking(place: str, key: str, begun: threading.Event, told: list[str]) -> None:
    """One request after the other, each on the connection of the last as long as that goes on."""
    connection, number = http.client.HTTPConnection(place, timeout=30), 0
    while True:
        number += 1
        try:
            if connection.sock is None:
                connection.connect()
        except OSError:
            told.append("gone")
            return
        try:
            status, goes_on = _ask(connection, key, number)
        except (OSError, http.client.HTTPException) as error:
            told.append(f"{type(error).__name__} after {number} requests")
            return
        told.append(str(status))
        begun.set()
        if not goes_on:
            connection.close()


def test_a_request_that_was_begun_is_answered_and_each_answer_says_whether_more_will_be_heard(tmp_path: Path) -> None:
    """Callers that never pause meet a server that ends: no connection ends under a request, and none is reset."""
    home = tmp_path / "node"
    key, told, begun = make_node(home), list[str](), threading.Event()
    with serving("--home", str(home), "serve", "--port", "0", folder=tmp_path) as server:
        place = urlsplit(server.url).netloc
        silent = http.client.HTTPConnection(place, timeout=30)
        silent.connect()
        callers = [threading.Thread(target=_keep_asking, args=(place, key, begun, told)) for _ in range(8)]
        for caller in callers:
            caller.start()
        assert begun.wait(30)
        server.process.send_signal(signal.SIGTERM)
        # Who has connected and not asked yet is heard, if they ask at once, until an answer says that it is the last.
        until(lambda: not _ask_well(silent, key, told))
        for caller in callers:
            caller.join(30)
        assert server.process.wait(60) == 0
    silent.close()
    assert set(told) == {"201", "gone"}
    assert told.count("gone") == len(callers)
    with open_node(home) as (tools, _):
        rows = tools.database.read(lambda unit: [one.kind for one in unit.ledger.entries(ACME)])
    assert rows.count(EntryKind.NOTE) == told.count("201")


def test_what_follows_a_request_of_two_lengths_is_no_request(tmp_path: Path) -> None:
    """RFC 9112, 6.1: by the other length it is the end of the first one's body, sent by somebody else."""
    home = tmp_path / "node"
    make_node(home)
    first = b"POST /auth/login HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"
    with serving("--home", str(home), "serve", "--port", "0", folder=tmp_path) as server:
        place = urlsplit(server.url)
        with socket.create_connection((str(place.hostname), place.port or 80), timeout=30) as line:
            line.sendall(first + b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
            heard = b"".join(iter(lambda: line.recv(65536), b""))
    assert heard.startswith(b"HTTP/1.1 415")
    assert heard.count(b"HTTP/1.1") == 1
    assert b"connection: close" in heard.lower()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_the_draining_and_not_the_requests(tmp_path: Path, number: signal.Signals) -> None:
    """Whoever presses Ctrl-C twice is in a hurry, and who was taken is answered all the same."""
    home = tmp_path / "node"
    key = make_node(home)
    body = b'{"note": {"n": 1}}'
    with serving("--home", str(home), "serve", "--port", "0", folder=tmp_path) as server:
        place = urlsplit(server.url)
        with socket.create_connection((place.hostname or "", place.port or 80), timeout=30) as line:
            head = f"POST /api/v1/entries HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\nexpect: 100-continue\r\n"
            typed = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
            line.sendall((head + typed).encode())
            assert line.recv(1000).startswith(b"HTTP/1.1 100 ")
            server.process.send_signal(number)
            until(lambda: "Shutting down" in server.log.read_text(), seconds=30)
            server.process.send_signal(number)
            time.sleep(0.5)
            line.sendall(body)
            assert line.recv(1000).startswith(b"HTTP/1.1 201 ")
        assert server.process.wait(60) == 0
