"""Whoever connects and does not ask, or asks byte by byte, holds what is theirs for a while and no longer."""

import http.client
import json
import socket
import time
from pathlib import Path

import httpx
import pytest

from tests.surfaces.http.served import Served, make_node, serving

_IMPATIENT = "tests.surfaces.http._impatient"


def _connect(served: Served, sent: bytes) -> socket.socket:
    url = httpx.URL(served.url)
    line = socket.create_connection((url.host, url.port or 80), timeout=30)
    line.sendall(sent)
    return line


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nhost: x\r\n"], ids=["nothing", "half a head"])
def test_strangers_who_say_nothing_are_let_go(tmp_path: Path, sent: bytes) -> None:
    """Else as many of them as a process may have files would make it deaf for everybody."""
    home = tmp_path / "node"
    make_node(home)
    with serving("serve", "--home", str(home), "--port", "0", folder=tmp_path, module=_IMPATIENT) as served:
        for line in [_connect(served, sent) for _ in range(10)]:
            with line:
                assert line.recv(1) == b""
        assert served.stop() == 0


@pytest.mark.parametrize("path", ["/auth/login", "/api/v2/forja/announce"])
def test_a_body_that_does_not_come_is_waited_for_a_while(tmp_path: Path, path: str) -> None:
    """408, and the connection ends with it: what still comes is not taken for another request."""
    home = tmp_path / "node"
    make_node(home)
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{{"
    with (
        serving("serve", "--home", str(home), "--port", "0", folder=tmp_path, module=_IMPATIENT) as served,
        _connect(served, head.encode()) as line,
    ):
        answer = b"".join(iter(lambda: line.recv(65536), b""))
        told, _, body = answer.partition(b"\r\n\r\n")
        assert told.startswith(b"HTTP/1.1 408 ")
        assert json.loads(body)["code"] == "http.body_time"
        assert served.stop() == 0


def test_a_connection_that_asks_now_and_then_is_kept(tmp_path: Path) -> None:
    """The time begins anew with each answer."""
    home = tmp_path / "node"
    make_node(home)
    with serving("serve", "--home", str(home), "--port", "0", folder=tmp_path, module=_IMPATIENT) as served:
        connection = http.client.HTTPConnection(httpx.URL(served.url).netloc.decode(), timeout=30)
        connection.connect()
        line = connection.sock
        for _ in range(30):
            connection.request("GET", "/healthz")
            assert connection.getresponse().read() == b'{"status":"ok"}'
            time.sleep(0.1)
        assert connection.sock is line
        connection.close()
        assert served.stop() == 0
