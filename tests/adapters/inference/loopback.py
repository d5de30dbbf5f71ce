"""A server on loopback that answers as a function says, and keeps what it was asked."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from msgspec import Struct

from assay.adapters.inference.address import Address

__all__ = ["Answer", "Asked", "Loopback", "served"]


class Asked(Struct, frozen=True):
    method: str
    path: str
    body: bytes
    headers: dict[str, str]


class Answer(Struct, frozen=True):
    """`parts` are sent one by one, as they come."""

    status: int
    parts: Iterator[bytes]
    headers: dict[str, str] = {}


Script = Callable[[Asked], Answer]


class Loopback(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.asked: list[Asked] = []
        self.gone = threading.Event()

    @property
    def address(self) -> Address:
        return Address(url=f"http://127.0.0.1:{self.server_port}")


class _Handler(BaseHTTPRequestHandler):
    server: Loopback

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        length = int(self.headers.get("content-length", "0"))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.command, self.path, self.rfile.read(length), headers)
        self.server.asked.append(asked)
        answer = self.server.script(asked)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("connection", "close")
        self.end_headers()
        try:
            for part in answer.parts:
                self.wfile.write(part)
                self.wfile.flush()
        except OSError:
            self.server.gone.set()
        self.close_connection = True

    def log_message(self, *_arguments: object) -> None:
        """Quiet."""


@contextmanager
def served(script: Script) -> Iterator[Loopback]:
    server = Loopback(script)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
