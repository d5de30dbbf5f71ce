"""Several processes on one database: one writes, the others wait, and one of them takes over when it is killed."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from assay.adapters.clock import SystemClock
from assay.adapters.postgres.provision import provision
from assay.adapters.service_notice import send_notice
from assay.adapters.sql.errors import ConnectionLostError, UnavailableError, WriterHeldError
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.kernel.errors import Blame
from assay.surfaces.cli import serve as cli_serve
from assay.surfaces.http.errors import HttpError
from assay.surfaces.http.serve import listen
from assay.surfaces.http.workers import run_workers
from assay.wiring import init_node, open_node
from tests.postgres_cluster import PostgresCluster, folder_in_memory
from tests.raising import raises
from tests.scale import scale
from tests.surfaces.http.served import ACME, Served, issue, make_node, run_cli, serving
from tests.waiting import until

_CALLERS = 12


class _Node(NamedTuple):
    home: Path
    key: str
    database: str


@pytest.fixture
def node(tmp_path: Path, postgres_cluster: PostgresCluster) -> _Node:
    """A node on PostgreSQL with one operator."""
    return _make_node(tmp_path / "node", postgres_cluster)


def _make_node(home: Path, cluster: PostgresCluster) -> _Node:
    name = cluster.create_database()
    provision(cluster.dsn(name), at=SystemClock().now(), app_role="assay_app")
    init_node(home, tenant=ACME, origin="example.org/assay", database=cluster.dsn(name, "assay_app"))
    with open_node(home) as (tools, _):
        key = issue(tools, "svc:writer", roles=("operator",))
    return _Node(home, key, name)


@contextmanager
def _standing(home: Path, folder: Path, *more: str) -> Iterator[Served]:
    with serving("serve", "--home", str(home), "--port", "0", *more, folder=folder) as served:
        yield served


class _Load:
    """Callers that know several addresses, and go to the next one when an answer is not a promise."""

    def __init__(self, urls: list[str], key: str) -> None:
        self._urls = urls
        self._headers = {"x-api-key": key}
        self.promised: dict[int, str] = {}
        self.refusals: set[str] = set()

    async def run(self, *, first: int, kill: Served, then: int) -> None:
        """After so many promises one server is killed; the end is so many promises of whoever is left."""
        goal = asyncio.Event()
        limits = httpx.Limits(max_connections=2 * _CALLERS)
        async with httpx.AsyncClient(trust_env=False, timeout=20, limits=limits) as client:
            callers = [asyncio.ensure_future(self._call(client, n, goal)) for n in range(_CALLERS)]
            await asyncio.wait_for(self._reach(first), 60)
            kill.kill()
            await asyncio.wait_for(self._reach(len(self.promised) + then), 60)
            goal.set()
            await asyncio.gather(*callers)

    async def _reach(self, count: int) -> None:
        while len(self.promised) < count:  # noqa: ASYNC110 - callers count together, and the test looks on
            await asyncio.sleep(0.01)

    async def _call(self, client: httpx.AsyncClient, caller: int, goal: asyncio.Event) -> None:
        number, place = 0, caller
        while not goal.is_set():
            number += 1
            note = {"caller": caller, "number": number}
            url = f"{self._urls[place % len(self._urls)]}/api/v1/entries"
            try:
                answer = await client.post(url, json={"note": note}, headers=self._headers)
            except httpx.TransportError:
                place += 1
                continue
            if answer.status_code == 201:
                sequence = answer.json()["sequence_number"]
                assert sequence not in self.promised, "two callers were promised the same place"
                self.promised[sequence] = json.dumps(note, sort_keys=True)
                continue
            assert answer.status_code == 503, answer.text
            self.refusals.add(answer.json()["code"])
            place += 1
            await asyncio.sleep(0.05)


def _expect_kept(home: Path, promised: dict[int, str]) -> None:
    """Every promise is in its place, and the whole chain holds."""
    with open_node(home, writable=False) as (tools, _):
        rows = tools.database.read(lambda unit: [(row.sequence_number, row.text) for row in unit.ledger.entries(ACME)])
        report = audit_ledger(tools, ACME, full=True)
    bodies = {number: json.loads(text)["body"] for number, text in rows}
    stored = {number: json.dumps(body["note"], sort_keys=True) for number, body in bodies.items() if "note" in body}
    assert {number: stored.get(number) for number in promised} == promised
    assert (report.holds, report.message) == (True, None)


@pytest.mark.timeout(300)
def test_a_second_process_goes_on_when_the_first_is_killed(node: _Node, tmp_path: Path) -> None:
    """Under load, with SIGKILL: nothing acknowledged is lost, the chain holds, and writing goes on within seconds."""
    with (
        _standing(node.home, tmp_path, "--standby") as first,
        _standing(node.home, tmp_path, "--standby") as second,
    ):
        assert _state(first) == "serving"
        assert _state(second) == "standing_by"
        load = _Load([first.url, second.url], node.key)
        asyncio.run(load.run(first=scale(60, 5000), kill=first, then=scale(60, 5000)))
        assert _state(second) == "serving"
        assert load.refusals <= {"serve.standing_by"}
        assert httpx.get(f"{second.url}/readyz", trust_env=False).status_code == 200
        assert second.stop() == 0
    _expect_kept(node.home, load.promised)


def test_who_stands_by_is_alive_not_ready_and_says_so(tmp_path: Path) -> None:
    """On SQLite too: 503 with a code and a time to come again, whatever is asked and whoever asks."""
    home = tmp_path / "node"
    key = make_node(home)
    with _standing(home, tmp_path) as first, _standing(home, tmp_path, "--standby") as second:
        with httpx.Client(base_url=second.url, headers={"x-api-key": key}, trust_env=False) as client:
            assert client.get("/healthz").json() == {"status": "ok"}
            for answer in (client.get("/readyz"), client.post("/api/v1/entries", json={"note": {}}), client.head("/x")):
                assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
                assert answer.headers["content-type"] == "application/problem+json"
            assert client.get("/log/checkpoint").json()["code"] == "serve.standing_by"
        assert first.stop() == 0
        until(lambda: _state(second) == "serving", what="the second to serve")
        sent = httpx.post(
            f"{second.url}/api/v1/entries", json={"note": {}}, headers={"x-api-key": key}, trust_env=False
        )
        assert sent.status_code == 201
        assert second.stop() == 0
    words = [json.loads(line)["event"] for line in second.log.read_text().splitlines()]
    assert [word for word in words if word in {"standing_by", "taking_over"}] == ["standing_by", "taking_over"]


@pytest.mark.slow
def test_a_process_that_stands_by_ends_at_once_when_told(tmp_path: Path) -> None:
    home = tmp_path / "node"
    make_node(home)
    with _standing(home, tmp_path) as first, _standing(home, tmp_path, "--standby") as second:
        assert second.stop() == 0
        assert httpx.get(f"{first.url}/readyz", trust_env=False).status_code == 200


def test_a_worker_that_is_killed_is_replaced_and_nobody_is_refused(tmp_path: Path) -> None:
    """The address is the parent's: whoever connects between two writers waits, and is answered by the next."""
    home = tmp_path / "node"
    key = make_node(home)
    with _standing(home, tmp_path, "--workers", "2") as served:
        sent = [_note(served, key, 1)]
        (active,) = _active(served)
        os.kill(active, signal.SIGKILL)
        sent.append(_note(served, key, 2))
        until(lambda: len(_children(served)) == 2 and active not in _children(served), what="a new spare")
        children = _children(served)
        assert served.stop() == 0
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children), what="the workers to end")
    assert sent[1] > sent[0]
    assert run_cli("ledger", "verify", "--home", str(home)).returncode == 0


@pytest.mark.slow
def test_workers_do_not_outlive_a_parent_that_was_killed(tmp_path: Path) -> None:
    home = tmp_path / "node"
    make_node(home)
    with ExitStack() as stack:
        served = stack.enter_context(_standing(home, tmp_path, "--workers", "2"))
        children = _children(served)
        served.kill()
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children), what="the workers to end")


@pytest.mark.slow
def test_workers_wait_together_while_the_writer_is_on_another_host(tmp_path: Path) -> None:
    """None of them can serve, so their parent answers for them; when the place is free one does."""
    home = tmp_path / "node"
    make_node(home)
    with _standing(home, tmp_path) as other, _standing(home, tmp_path, "--workers", "2") as served:
        assert _state(served) == "standing_by"
        assert httpx.get(f"{served.url}/healthz", trust_env=False).status_code == 200
        assert httpx.get(f"{served.url}/readyz", trust_env=False).json()["code"] == "serve.standing_by"
        assert other.stop() == 0
        until(lambda: _state(served) == "serving", seconds=60, what="a worker to serve")
        assert httpx.get(f"{served.url}/readyz", trust_env=False).status_code == 200
        assert served.stop() == 0


def test_workers_that_cannot_begin_are_not_started_for_ever() -> None:
    told: list[str] = []
    with listen("127.0.0.1", 0) as bound, raises(HttpError.worker_failed, match="exit status 1"):
        run_workers([sys.executable, "-c", "raise SystemExit(1)"], bound, 2, ready=told.append)
    assert told == []


def test_a_worker_that_cannot_begin_says_why_by_its_parent() -> None:
    said = """{"error": {\n "code": "ledger.rolled_back",\n "message": "it ends at entry 5"}\n}"""
    with listen("127.0.0.1", 0) as bound, raises(HttpError.worker_failed, match=r"entry 5 \[ledger.rolled_back\]"):
        run_workers([sys.executable, "-c", f"print({said!r}); raise SystemExit(4)"], bound, 2, ready=lambda _: None)


_LEAVING = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit({code}))
print('{{"state": "serving"}}', flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("code", [0, 4])
def test_a_worker_that_was_cut_off_is_told_by_its_parent(code: int) -> None:
    """An operator sees by the exit status that one did not end in order, and by the message which."""

    def stop(_state: str) -> None:
        raise SystemExit(0)

    told = (
        raises(HttpError.worker_cut_off, match=r"process \d+ .* exit status 4") if code else pytest.raises(SystemExit)
    )
    with listen("127.0.0.1", 0) as bound, told as caught:
        run_workers([sys.executable, "-c", _LEAVING.format(code=code)], bound, 2, ready=stop)
    assert not isinstance(caught.value, HttpError) or caught.value.blame is Blame.OURS


def test_who_may_wait_begins_to_also_when_the_server_of_the_database_is_away() -> None:
    """One of several that is started while it is away would else end them all."""
    node, stood = object(), list[str]()
    tries = iter([UnavailableError("away"), WriterHeldError("held"), ConnectionLostError("gone"), None])

    @contextmanager
    def open_node() -> Iterator[object]:
        if error := next(tries):
            raise error
        yield node

    @contextmanager
    def standing_by() -> Iterator[None]:
        stood.append("begun")
        yield
        stood.append("ended")

    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli_serve, "_AWAY_SECONDS", 0)
        assert cli_serve._take_place(stack, open_node, standing_by) is node  # type: ignore[arg-type]  # any node
    assert stood == ["begun", "ended"]


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_workers_wait_for_a_database_server_that_is_away(tmp_path: Path) -> None:
    """Its writer ends; the one that is started in its place finds no server and waits, and so the parent stays."""
    cluster = PostgresCluster(under=folder_in_memory())
    try:
        cluster.start()
        node = _make_node(tmp_path / "node", cluster)
        with _standing(node.home, tmp_path, "--workers", "2") as served:
            first = _note(served, node.key, 1)
            cluster.stop()
            done = run_cli("serve", "--home", str(node.home), "--port", "0")
            assert (done.returncode, "store.unavailable" in done.stderr) == (4, True)
            until(lambda: served.log.read_text().count("database_away") > 1, seconds=60, what="both to wait")
            # Longer than the parent is patient: it answers by itself, and callers come again as it says.
            until(lambda: _state(served) == "standing_by", seconds=60, what="the parent to stand in")
            assert _post_note(served, node.key, 2).json()["code"] == "serve.standing_by"
            cluster.start()
            until(lambda: _state(served) == "serving", seconds=60, what="one of them to take over")
            assert _note(served, node.key, 3) > first
            assert served.stop() == 0
    finally:
        cluster.close()


@pytest.mark.timeout(120)
def test_a_server_whose_writer_stopped_ends_so_that_another_can_begin(
    node: _Node, tmp_path: Path, postgres_cluster: PostgresCluster
) -> None:
    """Its session at the database is ended: exit 4 and a code in the log, without anybody having asked for anything."""
    with _standing(node.home, tmp_path) as served:
        postgres_cluster.execute(
            node.database,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'assay writer'"
            " AND datname = current_database()",
        )
        assert served.process.wait(60) == 4
    assert "writer_lost" in served.log.read_text()


def test_the_supervisor_is_told_when_the_address_answers(tmp_path: Path) -> None:
    """As `Type=notify` wants it: a datagram, to a path or to a name of the kernel's; silence where nobody listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(str(tmp_path / "notify"))
        supervisor.settimeout(10)
        send_notice(str(tmp_path / "notify"), "READY=1")
        assert supervisor.recv(64) == b"READY=1"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        name = f"assay-{os.getpid()}"
        supervisor.bind(f"\0{name}")
        supervisor.settimeout(10)
        send_notice(f"@{name}", "READY=1\nSTATUS=serving")
        assert supervisor.recv(64) == b"READY=1\nSTATUS=serving"
    for nobody in (None, "", "vsock:2:1", str(tmp_path / "gone")):
        send_notice(nobody, "READY=1")


def _state(served: Served) -> str:
    """What the process said last."""
    said = served.log.with_suffix(".out").read_text().splitlines()
    state: str = json.loads(said[-1])["state"]
    return state


def _post_note(served: Served, key: str, number: int) -> httpx.Response:
    return httpx.post(
        f"{served.url}/api/v1/entries",
        json={"note": {"n": number}},
        headers={"x-api-key": key},
        trust_env=False,
        timeout=30,
    )


def _note(served: Served, key: str, number: int) -> int:
    answer = _post_note(served, key, number)
    assert answer.status_code == 201, answer.text
    sequence: int = answer.json()["sequence_number"]
    return sequence


def _children(served: Served) -> set[int]:
    pid = served.process.pid
    listed = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return {int(one) for text in listed for one in text.split()}


def _active(served: Served) -> set[int]:
    """The worker that holds the writer's lock, as the kernel tells."""
    lines = Path("/proc/locks").read_text().splitlines()
    holders = {int(line.split()[-4]) for line in lines if "FLOCK" in line and "->" not in line.split()}
    return holders & _children(served)
