"""A service that answers drop by drop, or without end, holds nobody who asks."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from assay.adapters.service_client import HttpServiceClient

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
