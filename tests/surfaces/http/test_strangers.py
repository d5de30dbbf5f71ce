"""At the door: what strangers send makes nobody wait who is known, and nothing that is sent twice has two meanings."""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.flows.tools import Tools
from assay.kernel.ids import PrincipalId
from assay.surfaces.http import desk as desk_module
from assay.surfaces.http.app import create_app
from assay.surfaces.signing import SignedRequests
from assay.wiring import open_node
from tests.acting import register_signing_key
from tests.surfaces.http._house import refused
from tests.surfaces.http._streams import Running, running
from tests.surfaces.http.served import ACME, ADMIN, issue, make_node
from tests.waiting import until

_NOTE = {"note": {"n": 1}}
_LOGIN = {"principal_id": "user:nobody", "password": "a guess at something"}
_LINES = {"content-type": "application/x-ndjson"}
_MOST = 4096


class SlowPasswords:
    """Passwords that are judged when the test lets them; none is right."""

    def __init__(self) -> None:
        self.may_end = threading.Event()

    def encode(self, password: str, *, salt: bytes) -> str:
        raise NotImplementedError

    def verify(self, encoded: str | None, password: str) -> bool:  # noqa: ARG002 - none is right
        self.may_end.wait(20)
        return False


@pytest.fixture(scope="module")
def slow() -> SlowPasswords:
    return SlowPasswords()


@pytest.fixture(scope="module")
def key() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.generate()


@pytest.fixture(scope="module")
def tools(
    tmp_path_factory: pytest.TempPathFactory, slow: SlowPasswords, key: Ed25519PrivateKey
) -> Iterator[tuple[Tools, Running, str]]:
    """A real server on loopback; its one writer has an API key and a signing key."""
    home: Path = tmp_path_factory.mktemp("strangers") / "node"
    written = make_node(home, settings=f"\nmax_body_bytes = {_MOST}\nmax_stream_bytes = {_MOST}\n")
    with open_node(home) as (opened, config):
        public = key.public_key().public_bytes_raw()
        now = opened.clock.now()
        register_signing_key(opened, ACME, PrincipalId("svc:writer"), public, by=ADMIN, at=now)
        tools = replace(opened, passwords=slow)
        with running(create_app(tools, config)) as served:
            yield tools, served, written


@pytest.fixture(scope="module")
def served(tools: tuple[Tools, Running, str]) -> Running:
    return tools[1]


@pytest.fixture(scope="module")
def writer(tools: tuple[Tools, Running, str]) -> str:
    return tools[2]


def _problems(served: Running, code: str) -> float:
    return served.desk.metrics.registry.get_sample_value("assay_problems_total", {"code": code}) or 0.0


def test_strangers_who_log_in_keep_nobody_else_waiting(
    served: Running, writer: str, slow: SlowPasswords, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Passwords are slow, and anybody may send one: who is known still writes, and a crowd's last are sent away."""
    monkeypatch.setattr(desk_module, "_MOST_STRANGERS", 3)
    places = served.desk.strangers.count
    with ThreadPoolExecutor(places + 3) as crowd:
        waiting = [crowd.submit(served.post, "/auth/login", _LOGIN) for _ in range(places + 3)]
        until(lambda: served.desk.strangers.waiting == 3, what="a crowd")
        assert served.post("/api/v1/entries", _NOTE, writer).status_code == 201
        assert served.get("/whoami", writer).status_code == 200
        refused(served.post("/auth/login", _LOGIN), 503, "http.logins_busy")
        slow.may_end.set()
        assert {one.result().status_code for one in waiting} <= {401, 429}


def test_a_body_that_breaks_off_is_no_fault_of_ours(served: Running) -> None:
    """Anybody can do that, as often as they like: it fills no log, and no switch fires for it."""
    url = httpx.URL(served.url)
    head = b"POST /auth/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"
    with socket.create_connection((url.host, url.port or 80)) as line:
        line.sendall(head)
    until(lambda: _problems(served, "http.sender_gone") == 1, what="the end of the connection")
    assert _problems(served, "http.internal") == 0


@pytest.mark.parametrize("header", ["authorization", "x-api-key"])
def test_a_credential_is_sent_once(served: Running, tools: tuple[Tools, Running, str], header: str) -> None:
    """Of two, whoever stands before us may have looked at the other one."""
    other = issue(tools[0], f"svc:{header[0]}")
    start = "Bearer " if header == "authorization" else ""
    sent = [(header, start + other), (header, start + tools[2])]
    refused(httpx.get(served.url + "/whoami", headers=sent), 401, "identity.not_signed_in")


def test_what_was_signed_for_another_node_is_not_taken_here(served: Running, key: Ed25519PrivateKey) -> None:
    """`Host` is what the sender says: without `http.public_url`, only the very address we were reached at is ours."""
    signer = SignedRequests(key)
    meant = httpx.Request("GET", "http://other.example/whoami")
    headers = next(signer.auth_flow(meant)).headers
    refused(httpx.get(served.url + "/whoami", headers=headers), 401, "identity.not_signed_in")
    for host in ("127.0.0.1", "localhost"):
        url = served.url.replace("127.0.0.1", host)
        assert httpx.get(url + "/whoami", auth=signer).json()["via"] == "signed_request"
    wrong = httpx.Request("GET", "http://127.0.0.1:1/whoami")
    headers = next(signer.auth_flow(wrong)).headers
    refused(httpx.get(served.url + "/whoami", headers=headers), 401, "identity.not_signed_in")


def test_a_signed_body_has_an_end_where_others_need_none(served: Running, writer: str, key: Ed25519PrivateKey) -> None:
    """It is held whole before anything of it counts, so nobody may send more than is held; lines alone have no end."""
    url, signer = f"{served.url}/api/v1/observations:bulk", SignedRequests(key)
    long = b"{}\n" * _MOST
    refused(httpx.post(url, content=long, headers=_LINES, auth=signer), 413, "http.body_size")
    assert httpx.post(url, content=b"{}\n", headers=_LINES, auth=signer).status_code == 200
    assert httpx.post(url, content=long, headers={**_LINES, "x-api-key": writer}).status_code == 200
    endless = httpx.Request("POST", url, content=iter([b"{}\n"]), headers=_LINES)
    headers = dict(next(signer.auth_flow(httpx.Request("POST", url, content=b"{}\n"))).headers)
    endless.headers.update({name: text for name, text in headers.items() if name not in ("content-length", "host")})
    with httpx.Client() as client:
        refused(client.send(endless), 413, "http.body_size")


def test_a_note_under_a_key_is_recorded_once_on_the_older_route_too(served: Running, writer: str) -> None:
    first = served.post("/api/v1/entries", _NOTE, writer, **{"idempotency-key": "once"})
    again = served.post("/api/v1/entries", _NOTE, writer, **{"idempotency-key": "once"})
    assert (first.status_code, first.json(), first.headers["location"]) == (
        again.status_code, again.json(), again.headers["location"],
    )  # fmt: skip
    assert again.headers["assay-is-kept"] == "true"
    other = served.post("/api/v1/entries", {"note": {"n": 2}}, writer, **{"idempotency-key": "once"})
    refused(other, 422, "request.key_reused")


def test_what_a_browser_keeps_is_kept_for_one_session(served: Running, writer: str) -> None:
    """Two people use one browser, one after the other: the second is not shown what was kept for the first."""
    for path in ("/api/v1/entries/1", "/api/v1/entries/1/text"):
        kept = served.get(path, writer).headers
        assert "immutable" in kept["cache-control"]
        assert {"authorization", "cookie", "signature-input", "x-api-key"} == set(kept["vary"].split(", "))
