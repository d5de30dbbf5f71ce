"""An exchange ends in time, in size and when nobody waits; whatever else happens has a code."""

import os
import socket
import threading
from collections.abc import Iterator
from time import monotonic

import pytest

from assay.adapters.inference.address import Address
from assay.adapters.inference.backend import Patience
from assay.adapters.inference.exchange import Exchange
from assay.ports.model import ModelError
from tests.adapters.inference.loopback import Answer, Asked, served

_SOON = Patience(seconds=20)


def _code(exchange: Exchange, patience: Patience = _SOON, *, most_bytes: int = 1000) -> str:
    with pytest.raises(ModelError) as caught:
        exchange.post("/x", {}, patience, most_bytes=most_bytes)
    assert "\n" not in str(caught.value)
    return caught.value.code


def test_a_question_is_posted_as_json_and_the_bytes_come_back() -> None:
    with served(lambda _: Answer(200, iter([b"a", b"b"]))) as server:
        exchange = Exchange(server.address, token="secret")
        assert exchange.post("/x", {"a": 1}, _SOON, most_bytes=2) == b"ab"
    (asked,) = server.asked
    assert (asked.method, asked.path, asked.body) == ("POST", "/x", b'{"a":1}')
    assert asked.headers["authorization"] == "Bearer secret"
    assert asked.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "model.bad_request"),
        (404, "model.bad_request"),
        (429, "model.unavailable"),
        (500, "model.unavailable"),
        (503, "model.unavailable"),
        (204, "model.bad_reply"),
        (307, "model.bad_reply"),
    ],
)
def test_another_status_is_no_answer(status: int, code: str) -> None:
    """A redirect is not followed either: it leads where the operator did not point."""
    headers = {"location": "http://127.0.0.1:1/"}
    with served(lambda _: Answer(status, iter([b"no\nway `x`\x1b[2J"]), headers)) as server:
        assert _code(Exchange(server.address)) == code
        assert len(server.asked) == 1


def test_too_long_an_answer_is_refused_while_it_still_comes() -> None:
    def endless(_asked: Asked) -> Answer:
        return Answer(200, iter(lambda: b"x" * 4096, b""))

    with served(endless) as server:
        assert _code(Exchange(server.address), most_bytes=10_000) == "model.oversize"
        assert server.gone.wait(20)


def _dripping(stop: threading.Event) -> Iterator[bytes]:
    while not stop.wait(0.02):
        yield b"x"


def test_an_answer_that_drips_is_cut_at_the_deadline() -> None:
    """Each part comes soon enough; the whole does not."""
    stop = threading.Event()
    with served(lambda _: Answer(200, _dripping(stop))) as server:
        started = monotonic()
        assert _code(Exchange(server.address), Patience(seconds=0.3), most_bytes=10**9) == "model.timeout"
        assert 0.3 <= monotonic() - started < 10
        assert server.gone.wait(20), "the server must learn that nobody waits"
        stop.set()


def test_a_caller_that_gives_up_ends_the_exchange() -> None:
    stop, enough = threading.Event(), threading.Event()

    def script(_asked: Asked) -> Answer:
        enough.set()
        return Answer(200, _dripping(stop))

    with served(script) as server:
        patience = Patience(seconds=60, cancelled=enough.is_set)
        assert _code(Exchange(server.address), patience, most_bytes=10**9) == "model.cancelled"
        assert server.gone.wait(20)
        stop.set()


def test_nobody_there_is_unavailable(tmp_path: os.PathLike[str]) -> None:
    assert _code(Exchange(Address(url="http://model", socket=f"{tmp_path}/none.sock"))) == "model.unavailable"
    with served(lambda _: Answer(200, iter([]))) as server:
        address = server.address
    assert _code(Exchange(address)) == "model.unavailable"


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with served(lambda _: Answer(200, iter([b"ok"]))) as server:
        assert Exchange(server.address).get("/x", _SOON) == b"ok"


def test_the_next_address_of_a_name_is_asked_where_the_first_cannot_be_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server that listens on one of two addresses is found; one at a link-local address is never asked."""
    means = ["127.0.0.2", "127.0.0.1"]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_more: [(2, 1, 6, "", (one, 0)) for one in means])
    with served(lambda _: Answer(200, iter([b"a"]))) as server:
        exchange = Exchange(Address(url=server.address.url.replace("127.0.0.1", "model.example")))
        assert exchange.post("/x", {}, _SOON, most_bytes=1) == b"a"
        assert server.asked[0].headers["host"].startswith("model.example:")
        means.append("169.254.169.254")
        assert _code(exchange) == "model.unavailable"
        assert len(server.asked) == 1
