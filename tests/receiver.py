"""A real HTTP endpoint on loopback that keeps what it is sent and answers what it is told to."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["Received", "Receiver", "receiving"]


@dataclass
class Received:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """`answers` are statuses in turn, the last one for ever; `reply` is the body of all of them."""

    url: str = ""
    host: str = ""
    answers: list[int] = field(default_factory=lambda: [204])
    reply: bytes = b""
    extra: dict[str, str] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)

    def answer(self) -> int:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def receiving(**chosen: object) -> Iterator[Receiver]:
    found = Receiver(**chosen)  # type: ignore[arg-type]  # any of its fields
    found.gate.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.gate.wait(20)
            length = int(self.headers.get("content-length", 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            found.received.append(Received(self.path, headers, self.rfile.read(length)))
            self.send_response(found.answer())
            for name, value in found.extra.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(found.reply)))
            self.end_headers()
            self.wfile.write(found.reply)

        def log_message(self, *_arguments: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.host = f"127.0.0.1:{server.server_address[1]}"
    found.url = f"http://{found.host}/hook"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield found
    finally:
        found.gate.set()
        server.shutdown()
        thread.join(20)
        server.server_close()
