"""A database that takes connections and answers nothing: the server says what it knows, and ends when it is told to."""

import json
import signal
import threading
from pathlib import Path

import httpx
import pytest

from assay.adapters.clock import SystemClock
from assay.adapters.postgres.provision import provision
from assay.wiring import init_node, open_node
from tests.postgres_cluster import PostgresCluster
from tests.surfaces.http.served import ACME, Served, issue, serving
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
                    answer = client.post("/log/entries", json={"note": {"n": number}})
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
        until(lambda: client.post("/log/entries", json={"note": {"n": 1}}).status_code == 201, seconds=30)
        assert served.stop() == 0
