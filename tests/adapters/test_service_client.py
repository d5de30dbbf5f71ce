"""A service that answers drop by drop, or without end, holds nobody who asks."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from assay.adapters.outgoing import OutgoingGuard, UnreachableAddressError
from assay.adapters.service_client import HttpServiceClient
from assay.kernel.conformance import Fetched
from tests.receiver import receiving

_TIMEOUT = 0.2


class _Dripping(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        drop = b" " * (1 << 16 if self.path == "/flood" else 1)
        try:
            while not self.server.is_over.wait(0.0 if self.path == "/flood" else _TIMEOUT / 4):  # type: ignore[attr-defined]  # set below
                self.wfile.write(drop)
        except OSError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Dripping)
    server.is_over = threading.Event()  # type: ignore[attr-defined]  # how the handlers end
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.is_over.set()  # type: ignore[attr-defined]  # the same
    server.shutdown()
    thread.join()
    server.server_close()


def test_who_asks_nobody_reads_no_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node watches its services every few seconds, and most have none."""
    monkeypatch.setattr("httpx.Client", lambda **_: pytest.fail("a client was made for nothing"))
    with HttpServiceClient():
        pass


@pytest.mark.parametrize("path", ["/drip", "/flood"])
def test_an_answer_that_never_ends_is_no_answer(url: str, path: str) -> None:
    """Each drop comes within the patience for one; all of them together do not."""
    with HttpServiceClient(timeout=_TIMEOUT) as client:
        assert client.request("GET", url + path) is None


class _Counting(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.hosts.append(self.headers["host"])  # type: ignore[attr-defined]  # set below
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Quiet."""


def test_an_address_that_others_chose_is_asked_only_where_it_is_public_or_listed() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Counting)
    server.hosts = hosts = list[str]()  # type: ignore[attr-defined]  # what was asked
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    port = server.server_address[1]
    urls = [f"http://{host}:{port}/codex.json" for host in ("127.0.0.1", "localhost")]
    try:
        with HttpServiceClient(guard=OutgoingGuard()) as client:
            assert [client.request("GET", url) for url in urls] == [None, None]
            assert hosts == []
        with HttpServiceClient(guard=OutgoingGuard(["127.0.0.0/8", "::1/128"])) as client:
            assert client.request("GET", urls[0]) == Fetched(status=200, content=b"{}")
        assert hosts == [f"127.0.0.1:{port}"]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    "url", ["http://", "http://[::1", "http://169.254.169.254", "http://[fe80::1]", "http://10.0.0.1"]
)
def test_an_address_inside_is_refused_with_its_reason(url: str) -> None:
    with pytest.raises(UnreachableAddressError):
        OutgoingGuard(["127.0.0.0/8"]).find_target(url)
    assert OutgoingGuard(["10.0.0.0/8"]).find_target("http://[::ffff:10.0.0.1]:80/x").address in (
        "::ffff:10.0.0.1",
        "10.0.0.1",
    )


def test_the_next_checked_address_is_tried_where_the_first_cannot_be_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name with two addresses, of which a server listens on one."""
    real = socket.getaddrinfo

    def look_up(host: str, port: int, *args: Any, **more: Any) -> Any:  # noqa: ANN401  as the library has it
        means = ("127.0.0.2", "127.0.0.1")
        return (
            [(2, 1, 6, "", (one, port)) for one in means] if host == "peer.example" else real(host, port, *args, **more)
        )

    with receiving() as receiver:
        url = receiver.url.replace("127.0.0.1", "peer.example")
        with monkeypatch.context() as patch, HttpServiceClient(guard=OutgoingGuard(hosts=["peer.example"])) as client:
            patch.setattr(socket, "getaddrinfo", look_up)
            answer = client.request("POST", url, content=b"{}")
    assert answer is not None
    assert [one.headers["host"] for one in receiver.received] == [url.split("/")[2]]


def test_a_host_that_the_operator_names_may_be_inside_and_never_link_local() -> None:
    """Metadata services of clouds are at link-local addresses, whatever name leads there."""
    assert OutgoingGuard(hosts=["10.0.0.1"]).find_target("http://10.0.0.1:80/x").address == "10.0.0.1"
    for url in ("http://169.254.169.254/latest", "http://[fe80::1]/", "http://[::ffff:169.254.169.254]/"):
        host = url.removeprefix("http://").partition("/")[0].strip("[]")
        with pytest.raises(UnreachableAddressError, match="link-local"):
            OutgoingGuard(hosts=[host]).find_target(url)
    assert OutgoingGuard(["169.254.0.0/16"]).find_target("http://169.254.169.254/").port == 80
