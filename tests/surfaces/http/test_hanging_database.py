"""A database that takes connections and answers nothing: the server says what it knows, and ends when it is told to."""

import json
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.adapters.clock import SystemClock
from assay.adapters.postgres.provision import provision
from assay.kernel.ids import PrincipalId
from assay.surfaces.signing import SignedRequests
from assay.wiring import init_node, open_node
from tests.acting import register_signing_key
from tests.postgres_cluster import PostgresCluster
from tests.surfaces.http.served import ACME, ADMIN, Served, issue, serving
from tests.waiting import until

_HURRIED = "tests.surfaces.http._hurried"


class _Caller:
    """Appends one note after the other, until it is told anything but yes."""

    def __init__(self, served: Served, key: str) -> None:
        self.promised: dict[int, int] = {}
        self.last = ""
        self._served = served
        self._key = key
        self._thread = threading.Thread(target=self._call, daemon=True)
        self._thread.start()

    def join(self) -> None:
        self._thread.join(30)

    def _call(self) -> None:
        with httpx.Client(base_url=self._served.url, headers={"x-api-key": self._key}, timeout=60) as client:
            for number in range(1_000_000):
                try:
                    answer = client.post("/api/v1/entries", json={"note": {"n": number}})
                except httpx.TransportError as error:
                    self.last = type(error).__name__
                    return
                if answer.status_code != httpx.codes.CREATED:
                    self.last = str(answer.status_code)
                    return
                self.promised[answer.json()["sequence_number"]] = number


def _make_node(home: Path, cluster: PostgresCluster) -> str:
    name = cluster.create_database()
    provision(cluster.dsn(name), at=SystemClock().now(), app_role="assay_app")
    init_node(home, tenant=ACME, origin="example.org/assay", database=cluster.dsn(name, "assay_app"))
    config = home / "assay.toml"
    config.write_text(config.read_text().replace("[http]\n", "[http]\nopen_metrics = true\n"))
    with open_node(home) as (tools, _):
        return issue(tools, "svc:writer", roles=("operator",))


def _notes(home: Path) -> dict[int, int]:
    with open_node(home, writable=False) as (tools, _):
        rows = tools.database.read(lambda unit: [(row.sequence_number, row.text) for row in unit.ledger.entries(ACME)])
    bodies = {number: json.loads(text)["body"] for number, text in rows}
    return {number: body["note"]["n"] for number, body in bodies.items() if "note" in body}


@pytest.mark.timeout(120)
def test_a_server_whose_database_hangs_tells_what_it_knows_and_ends_in_time(
    tmp_path: Path, postgres_cluster: PostgresCluster
) -> None:
    """Figures of its own, a no to who asks, exit 4 and a line in the log; whatever it said yes to is there."""
    home = tmp_path / "node"
    key = _make_node(home, postgres_cluster)
    with serving("serve", "--home", str(home), "--port", "0", folder=tmp_path, module=_HURRIED) as served:
        callers = [_Caller(served, key) for _ in range(4)]
        until(lambda: all(caller.promised for caller in callers), seconds=30)
        with (
            postgres_cluster.frozen(),
            httpx.Client(base_url=served.url, trust_env=False, timeout=20) as client,
        ):
            assert client.get("/healthz").status_code == 200
            for _ in range(2):
                shown = client.get("/metrics")
                assert shown.status_code == 200
                assert "assay_appends_total" in shown.text
                assert "assay_ledger_entries" not in shown.text
            refused = client.get("/auth/session", headers={"x-api-key": key})
            assert (refused.status_code, refused.json()["code"]) == (503, "http.not_ready")
            served.process.send_signal(signal.SIGTERM)
            assert served.process.wait(30) == 4
            for caller in callers:
                caller.join()
    assert "cut_off" in [json.loads(line).get("event") for line in served.log.read_text().splitlines()]
    # Refused while they were to prove who they are, given up with their write in hand, or cut off.
    assert {caller.last for caller in callers} <= {"503", "500", "ReadError", "RemoteProtocolError"}
    promised = {number: note for caller in callers for number, note in caller.promised.items()}
    stored = _notes(home)
    assert {number: stored.get(number) for number in promised} == promised


@pytest.mark.timeout(120)
def test_figures_of_the_database_come_back_with_it(tmp_path: Path, postgres_cluster: PostgresCluster) -> None:
    """One that hung for a while is no reason to end: who looks next sees them all, and the next note is taken."""
    home = tmp_path / "node"
    key = _make_node(home, postgres_cluster)
    with (
        serving("serve", "--home", str(home), "--port", "0", folder=tmp_path, module=_HURRIED) as served,
        httpx.Client(base_url=served.url, headers={"x-api-key": key}, trust_env=False, timeout=20) as client,
    ):
        assert "assay_ledger_entries" in client.get("/metrics").text
        with postgres_cluster.frozen():
            assert "assay_ledger_entries" not in client.get("/metrics").text
        until(lambda: "assay_ledger_entries" in client.get("/metrics").text, seconds=30)
        until(lambda: client.post("/api/v1/entries", json={"note": {"n": 1}}).status_code == 201, seconds=30)
        assert served.stop() == 0


class _Begun:
    """A request whose sender was proved already: its head is sent, and the server asks for its body."""

    def __init__(self, served: Served, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        url = httpx.URL(served.url)
        self._body = body
        self._line = socket.create_connection((url.host, url.port or 80), timeout=30)
        told = {"host": url.netloc.decode(), "content-length": str(len(body)), "expect": "100-continue", **headers}
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {text}\r\n" for name, text in told.items())
        self._line.sendall(head.encode() + b"connection: close\r\n\r\n")
        assert self._line.recv(1000).startswith(b"HTTP/1.1 100 ")

    def finish(self) -> tuple[int, dict[str, object]]:
        """Its status and its answer."""
        with self._line:
            self._line.sendall(self._body)
            answer = b"".join(iter(lambda: self._line.recv(65536), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(body)


@contextmanager
def _hurried_node(folder: Path, cluster: PostgresCluster) -> Iterator[tuple[Served, str, SignedRequests]]:
    """A server with little patience, an operator's key, and one that signs."""
    home, signer = folder / "node", SignedRequests(Ed25519PrivateKey.generate())
    key = _make_node(home, cluster)
    with open_node(home) as (tools, _):
        writer, at = PrincipalId("svc:writer"), tools.clock.now()
        register_signing_key(tools, ACME, writer, signer.public_key, by=ADMIN, at=at)
    with serving("serve", "--home", str(home), "--port", "0", folder=folder, module=_HURRIED) as served:
        yield served, key, signer


@pytest.mark.timeout(120)
def test_nobody_waits_for_ever_while_the_database_hangs(tmp_path: Path, postgres_cluster: PostgresCluster) -> None:
    """However they prove themselves and however far they came: 503 in time, and what has a key takes effect once."""
    note = json.dumps({"note": {"n": 7}}).encode()
    with (
        _hurried_node(tmp_path, postgres_cluster) as (served, key, signer),
        httpx.Client(base_url=served.url, trust_env=False, timeout=20) as client,
    ):
        typed = {"x-api-key": key, "content-type": "application/json"}
        once = {**typed, "idempotency-key": "once"}
        assert client.get("/whoami", auth=signer).status_code == 200
        begun = [_Begun(served, "POST", "/api/v1/entries", once, note)]
        begun += [_Begun(served, "POST", "/api/v1/entries", typed, note) for _ in range(3)]
        lines = {**typed, "content-type": "application/x-ndjson"}
        begun += [_Begun(served, "POST", "/api/v1/observations:bulk", lines, b'{"observation_id": "o"}\n')]
        with postgres_cluster.frozen(), ThreadPoolExecutor(8) as crowd:
            told = list(crowd.map(_Begun.finish, begun))
            assert {(status, answer["code"]) for status, answer in told} == {(503, "http.undecided")}
            signed = [crowd.submit(client.get, path, auth=signer) for path in ("/whoami", "/api/v1/entries")]
            signed.append(
                crowd.submit(client.post, "/api/v1/entries", content=note, headers=typed | {"x-api-key": "no"})
            )
            assert {one.result().status_code for one in signed} == {503}
            assert client.get("/healthz").status_code == 200
            assert client.get("/readyz").status_code == 503
            open_to_all = [client.get(f"/api/v2/forja/{path}") for path in ("services/other", "proof", "network")]
            assert {(one.status_code, one.json()["code"]) for one in open_to_all} == {(503, "forja.unanswered")}
        until(lambda: client.get("/readyz").status_code == 200, seconds=30)
        # The first may still be at work, and then its twin is told to come again.
        until(lambda: client.post("/api/v1/entries", content=note, headers=once).status_code != 409, seconds=30)
        again = client.post("/api/v1/entries", content=note, headers=once)
        assert (again.status_code, client.get("/whoami", auth=signer).status_code) == (201, 200)
        assert served.stop() == 0
    # The one under its key once; the others, who did not know, each once or not at all.
    assert 1 <= len([number for number in _notes(tmp_path / "node").values() if number == 7]) <= 4


@pytest.mark.timeout(120)
def test_who_gives_up_leaves_no_thread_behind(tmp_path: Path, postgres_cluster: PostgresCluster) -> None:
    """However many come while the database hangs, there are no more threads than places."""
    with (
        _hurried_node(tmp_path, postgres_cluster) as (served, _, signer),
        httpx.Client(base_url=served.url, trust_env=False, timeout=30) as client,
    ):
        assert client.get("/whoami", auth=signer).status_code == 200
        status = Path(f"/proc/{served.process.pid}/status")
        with postgres_cluster.frozen(), ThreadPoolExecutor(32) as crowd:
            counts = []
            for _ in range(3):
                asked = [crowd.submit(httpx.get, f"{served.url}/whoami", auth=signer, timeout=30) for _ in range(60)]
                asked += [crowd.submit(httpx.get, f"{served.url}/readyz", timeout=30) for _ in range(4)]
                assert {one.result().status_code for one in asked} == {503}
                counts.append(int(status.read_text().partition("Threads:")[2].split()[0]))
        assert counts[-1] <= counts[0] + 8
        assert counts[-1] < 100
        until(lambda: client.get("/readyz").status_code == 200, seconds=30)
