"""The witness over HTTP: what comes back is passed on, unverified, and nothing else is believed."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from assay.adapters.witness_client import HttpWitness, WitnessUnreachableError


class _Scripted(HTTPServer):
    """Answers every POST with one status, body and set of headers, and keeps what it was asked."""

    def __init__(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = (status, body, headers)
        self.asked: list[tuple[str, bytes]] = []


class _Handler(BaseHTTPRequestHandler):
    server: _Scripted

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        self.server.asked.append((self.path, self.rfile.read(length)))
        status, body, headers = self.server.answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Quiet."""


@contextmanager
def _served(status: int, body: bytes, headers: dict[str, str] | None = None) -> Iterator[tuple[HttpWitness, _Scripted]]:
    server = _Scripted(status, body, headers or {})
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield HttpWitness(name="w", url=f"http://127.0.0.1:{server.server_port}/prefix/", public_key=bytes(32)), server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(("status", "body"), [(200, b"line\n"), (409, b"17\n"), (422, b"no\n"), (500, b"")])
def test_status_and_body_are_passed_on_as_they_came(status: int, body: bytes) -> None:
    """The request goes to `add-checkpoint` under the witness's prefix, byte for byte."""
    with _served(status, body) as (witness, server):
        reply = witness.add_checkpoint(b"old 0\n\nnote")
        assert (reply.status, reply.body) == (status, body)
        assert server.asked == [("/prefix/add-checkpoint", b"old 0\n\nnote")]


def test_a_redirect_is_not_followed() -> None:
    """Another host's word would not be this witness's."""
    with _served(307, b"", {"location": "http://127.0.0.1:1/"}) as (witness, server):
        assert witness.add_checkpoint(b"x").status == 307
        assert len(server.asked) == 1


def test_an_endless_answer_is_cut() -> None:
    with _served(200, b"x" * 200_000) as (witness, _):
        assert len(witness.add_checkpoint(b"x").body) == 64 * 1024


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with _served(200, b"ok") as (witness, _):
        assert witness.add_checkpoint(b"x").status == 200


def test_a_witness_that_is_not_there_is_unreachable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        witness = HttpWitness(name="w", url=f"http://127.0.0.1:{port}", public_key=bytes(32))
        with pytest.raises(WitnessUnreachableError) as caught:
            witness.add_checkpoint(b"x")
    assert caught.value.code == "witness.unreachable"
