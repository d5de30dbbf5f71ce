"""A served node that is told to end: not ready at once, answering for as long as it was told to, and nothing lost."""

import json
import signal
from pathlib import Path

import httpx

from assay.kernel.ledger import EntryKind
from assay.wiring import open_node
from tests.surfaces.http._streams import hearing
from tests.surfaces.http.served import ACME, make_node, serving
from tests.waiting import until


def test_a_node_that_drains_is_not_ready_and_loses_no_acknowledged_write(tmp_path: Path) -> None:
    """While it drains it takes what comes, streams are told to come back, and a second signal ends the waiting."""
    home = tmp_path / "node"
    key = make_node(home)
    config = home / "assay.toml"
    config.write_text(config.read_text().replace("[http]\n", "[http]\ndrain_seconds = 120\n"))
    headers = {"x-api-key": key}
    with (
        serving("--home", str(home), "serve", "--port", "0", folder=tmp_path) as server,
        httpx.Client(base_url=server.url, headers=headers, timeout=30) as client,
        hearing(f"{server.url}/api/v1/events", key) as heard,
    ):
        assert client.get("/readyz").status_code == 200
        server.process.send_signal(signal.SIGTERM)
        until(lambda: client.get("/readyz").status_code == 503)
        until(lambda: heard.is_over)
        assert heard.retry == 1000
        written = client.post("/api/v1/entries", json={"note": {"said": "while draining"}})
        assert written.status_code == 201
        assert client.get("/healthz").status_code == 200
        assert server.stop(signal.SIGTERM) == 0
    number = written.json()["sequence_number"]
    with open_node(home) as (tools, _):
        row = tools.database.read(lambda unit: unit.ledger.find_entry(ACME, number))
    assert row is not None
    assert row.kind == EntryKind.NOTE
    assert json.loads(row.text)["body"]["note"] == {"said": "while draining"}
