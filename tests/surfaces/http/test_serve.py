"""`assay serve` as a real process: what it acknowledged is there afterwards, however it ended."""

import asyncio
import json
import shutil
import signal
import socket
from pathlib import Path

import httpx
import pytest
import uvicorn
import uvloop

from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.kernel.bundle import parse_bundle
from assay.kernel.check_bundle import check_bundle
from assay.kernel.key import parse_anchors
from assay.kernel.ledger import EntryKind, draft_entry
from assay.wiring import open_node
from tests.scale import scale
from tests.surfaces.http.served import ACME, Served, make_node, run_cli, serving
from tests.waiting import until

_CALLERS = 32


class _Load:
    """Callers that append until the server is gone, and remember what they were promised."""

    def __init__(self, served: Served, key: str) -> None:
        self._served = served
        self._headers = {"x-api-key": key}
        self.promised: dict[int, str] = {}

    def run(self, *, until_promised: int) -> None:
        """Append from many callers at once; after so many promises the server is told to end."""
        asyncio.run(self._run(until_promised))

    async def _run(self, until_promised: int) -> None:
        limits = httpx.Limits(max_connections=_CALLERS, max_keepalive_connections=_CALLERS)
        async with httpx.AsyncClient(base_url=self._served.url, trust_env=False, timeout=60, limits=limits) as client:
            await asyncio.gather(*(self._call(client, n, until_promised) for n in range(_CALLERS)))

    async def _call(self, client: httpx.AsyncClient, caller: int, until_promised: int) -> None:
        number = 0
        while True:
            number += 1
            note = {"caller": caller, "number": number}
            try:
                answer = await client.post("/api/v1/entries", json={"note": note}, headers=self._headers)
            except httpx.TransportError:
                return
            assert answer.status_code == 201, answer.text
            sequence = answer.json()["sequence_number"]
            assert sequence not in self.promised, "two callers were promised the same place"
            self.promised[sequence] = json.dumps(note, sort_keys=True)
            if len(self.promised) == until_promised:
                self._served.process.send_signal(signal.SIGTERM)


def _stored(home: Path) -> dict[int, str]:
    """Every note in the ledger, by place."""
    with open_node(home, writable=False) as (tools, _):
        rows = tools.database.read(lambda unit: [(row.sequence_number, row.text) for row in unit.ledger.entries(ACME)])
    bodies = {number: json.loads(text)["body"] for number, text in rows}
    return {number: json.dumps(body["note"], sort_keys=True) for number, body in bodies.items() if "note" in body}


def test_sigterm_finishes_what_was_accepted(tmp_path: Path) -> None:
    """Under the load of 32 callers: exit 0, every acknowledged entry found, and the node starts again."""
    home = tmp_path / "node"
    key = make_node(home)
    with serving("serve", "--home", str(home), "--port", "0", folder=tmp_path) as served:
        load = _Load(served, key)
        load.run(until_promised=scale(300, 20_000))
        assert served.process.wait(60) == 0
    stored = _stored(home)
    assert len(load.promised) >= scale(300, 20_000)
    assert {number: stored.get(number) for number in load.promised} == load.promised
    # A drained server answers every request that it took, so nothing is stored that nobody was told of.
    assert set(stored) == set(load.promised)
    with serving("serve", "--home", str(home), "--port", "0", folder=tmp_path) as served:
        assert httpx.get(f"{served.url}/readyz", trust_env=False).status_code == 200
        assert served.stop() == 0


def test_a_closed_terminal_ends_it_in_order(tmp_path: Path) -> None:
    home = tmp_path / "node"
    make_node(home)
    with serving("serve", "--home", str(home), "--port", "0", folder=tmp_path) as served:
        assert served.stop(signal.SIGHUP) == 0
    assert "Application shutdown complete." in served.log.read_text()


def test_a_database_that_was_moved_away_is_told_and_nothing_is_lost_when_it_comes_back(tmp_path: Path) -> None:
    """What a killed server acknowledged may lie in the log alone: no empty database takes its place."""
    home = tmp_path / "node"
    key = make_node(home)
    with serving("serve", "--home", str(home), "--port", "0", folder=tmp_path) as served:
        kept = httpx.post(
            f"{served.url}/api/v1/entries", json={"note": {}}, headers={"x-api-key": key}, trust_env=False
        ).json()
        served.kill()
    (home / "assay.db").rename(tmp_path / "moved.db")
    done = run_cli("serve", "--home", str(home), "--port", "0")
    assert (done.returncode, "store.cannot_open" in done.stderr) == (2, True)
    (tmp_path / "moved.db").rename(home / "assay.db")
    assert kept["sequence_number"] in _stored(home)


def test_checkpoints_are_signed_while_serving_and_only_when_there_is_something_new(tmp_path: Path) -> None:
    """A proof becomes available without anybody asking for a checkpoint."""
    home = tmp_path / "node"
    key = make_node(home)
    _set(home, "[node]\n", "[node]\ncheckpoint_seconds = 1\n")
    headers = {"x-api-key": key}
    with (
        serving("serve", "--home", str(home), "--port", "0", folder=tmp_path) as served,
        httpx.Client(base_url=served.url, headers=headers, trust_env=False) as client,
    ):
        number = client.post("/api/v1/entries", json={"note": {"n": 1}}).json()["sequence_number"]
        until(lambda: client.get(f"/api/v1/proofs/{number}").status_code == 200, what="a checkpoint")
        first = client.get("/log/checkpoint").text
        bundle = parse_bundle(client.get(f"/api/v1/proofs/{number}").content)
        number = client.post("/api/v1/entries", json={"note": {"n": 2}}).json()["sequence_number"]
        until(lambda: client.get("/log/checkpoint").text != first, what="a second checkpoint")
        assert served.stop() == 0
        lines = [json.loads(line) for line in served.log.read_text().splitlines()]
    sizes = [line["size"] for line in lines if line["event"] == "checkpoint"]
    # Never two of one size: a round without new entries signs nothing.
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == number
    with open_node(home, writable=False) as (tools, _):
        public_key = tools.ledger_signer.public_key
    assert public_key is not None
    assert check_bundle(bundle, parse_anchors([public_key.hex()])).holds


def test_the_address_is_printed_when_the_server_is_ready(tmp_path: Path) -> None:
    """With port 0 it is the real port; a request sent at once is answered. Logs are JSON, one object per line."""
    home = tmp_path / "node"
    make_node(home)
    with serving("serve", "--home", str(home), "--port", "0", folder=tmp_path) as served:
        assert not served.url.endswith(":0")
        assert httpx.get(f"{served.url}/healthz", trust_env=False).json() == {"status": "ok"}
        assert served.stop(signal.SIGINT) == 0
        assert all(isinstance(json.loads(line), dict) for line in served.log.read_text().splitlines())


def test_a_second_server_on_the_same_node_is_told_everything_that_is_wrong(tmp_path: Path) -> None:
    """The port is taken, the writer is held, and a key is missing: one answer names all three."""
    home = tmp_path / "node"
    make_node(home)
    with serving("serve", "--home", str(home), "--port", "0", folder=tmp_path) as served:
        (home / "keys" / "review.key").unlink()
        port = served.url.rpartition(":")[2]
        done = run_cli("serve", "--home", str(home), "--port", port, "--json")
        error = json.loads(done.stdout)["error"]
        assert error["code"] == "serve.cannot_start"
        for code in ("serve.cannot_listen", "store.writer_held", "key.file_missing"):
            assert code in error["message"]
        assert done.returncode == 2
        assert httpx.get(f"{served.url}/healthz", trust_env=False).status_code == 200


@pytest.mark.parametrize(
    ("setting", "with_what", "code", "exit_code"),
    [
        ("port = 4585", "port = 70000", "config.refused", 2),
        ('host = "127.0.0.1"', 'host = "nowhere.invalid"', "serve.cannot_start", 2),
        ("sqlite:assay.db", "sqlite:missing/folder/assay.db", "serve.cannot_start", 2),
        ("[node]\n", "[node]\ncheckpoint_seconds = -1\n", "config.refused", 2),
        ("[http]\n", "[http]\nmax_body_bytes = 0\n", "config.refused", 2),
        ("[node]\n", "[node]\ncompile_seconds = -1\n", "config.refused", 2),
        ("[http]\n", "[http]\nmax_stream_bytes = 0\n", "config.refused", 2),
        ("[http]\n", "[http]\nunknown = 1\n", "config.refused", 2),
    ],
)
def test_a_server_that_cannot_start_says_why(
    tmp_path: Path, setting: str, with_what: str, code: str, exit_code: int
) -> None:
    home = tmp_path / "node"
    make_node(home)
    _set(home, setting, with_what)
    done = run_cli("serve", "--home", str(home), "--json")
    assert (json.loads(done.stdout)["error"]["code"], done.returncode) == (code, exit_code)


def test_a_port_that_is_taken_is_refused_and_nothing_is_opened(tmp_path: Path) -> None:
    home = tmp_path / "node"
    make_node(home)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run_cli("serve", "--home", str(home), "--port", str(taken.getsockname()[1]))
    assert done.returncode == 2
    assert "serve.cannot_listen" in done.stderr
    assert "choose another with --port" in done.stderr


def test_a_node_that_lost_entries_does_not_serve(tmp_path: Path) -> None:
    """An older database under a newer checkpoint is our fault, not the caller's: exit 4."""
    home = tmp_path / "node"
    make_node(home)
    shutil.copytree(home, tmp_path / "older")
    with open_node(home) as (tools, _):
        tools.database.append(draft_entry(ACME, EntryKind.NOTE, {"n": 1}, at=tools.clock.now()))
        sign_checkpoint(tools, ACME, at=tools.clock.now())
    for file in home.glob("assay.db*"):
        file.unlink()
    shutil.copy(tmp_path / "older" / "assay.db", home / "assay.db")
    done = run_cli("serve", "--home", str(home), "--port", "0", "--json")
    assert (json.loads(done.stdout)["error"]["code"], done.returncode) == ("ledger.rolled_back", 4)


def _set(home: Path, setting: str, with_what: str) -> None:
    text = (home / "assay.toml").read_text()
    assert setting in text
    (home / "assay.toml").write_text(text.replace(setting, with_what, 1))


def test_only_servers_have_the_quick_loop() -> None:
    """It opens sockets that the egress guard cannot see; whatever connects outwards is on another loop."""
    assert uvicorn.Config(_nothing, log_config=None).get_loop_factory() is uvloop.new_event_loop

    async def loop() -> str:
        return type(asyncio.get_running_loop()).__module__

    assert asyncio.run(loop()).startswith("asyncio.")


async def _nothing(_scope: object, _receive: object, _send: object) -> None:
    """An application that is never called."""
