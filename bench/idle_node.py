"""What a node costs that nobody asks anything, new and with a long ledger: its memory, and the wait after a start.

Without a model, and as `assay init` makes it: the judge is loaded with the first record. The start is compared with
that of an empty application on the same web framework and server; a node besides opens its keys and its database, and
compares that with its checkpoints. With a long ledger neither may grow: only its tail is read. Memory is looked at once
more after proofs, pages and a checkpoint over all of it were asked for.
"""

import http.client
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from assay.flows.tools import Tools
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.ledger import EntryKind, draft_entry
from assay.wiring import init_node, open_node
from bench._frame import Aim, Figure, load, print_table
from bench._served import Running, answering, node_command, resident_megabytes, start_seconds
from tests.acting import add_principal, issue_api_key
from tests.scale import scale

__all__ = ["figures"]

_ROUNDS = 3
_ENTRIES = scale(100_000, 1_000_000)
_AT_ONCE = 10_000
_PROOFS, _PAGES, _PAGE = 500, 40, 500
_SETTLE_SECONDS = 3.0
_MEMORY_TARGET = 150
_START_TARGET = 4.0
_GROWTH_TARGET = 1.3
_ASKED_TARGET = 1.5
_TENANT, _BY = TenantId("default"), PrincipalId("operator:bench")
_NO_MODEL = '\n[ski]\nreasoner = "none"\n'
_PEER = """
import uvicorn
from litestar import Litestar, get

@get("/healthz")
async def healthz() -> dict[str, str]:
    return {"status": "ok"}

config = uvicorn.Config(Litestar([healthz]), port=0, log_config=None)
bound = config.bind_socket()
print(f"http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
uvicorn.Server(config).run(sockets=[bound])
"""


def figures() -> list[Figure]:
    """One after the other, each in processes of its own."""
    with tempfile.TemporaryDirectory() as folder:
        bare, judging, long = (Path(folder, name) for name in ("bare", "judging", "long"))
        for home in (bare, judging, long):
            init_node(home)
        for home in (bare, long):
            _without_model(home)
        key = _fill(long)
        starts = [_starts(bare, long) for _ in range(_ROUNDS)]
        return [
            _memory("memory of an idle node, no model", _idle_megabytes(bare)),
            _memory("memory of an idle node as `assay init` makes it", _idle_megabytes(judging)),
            *_long_memory(long, key),
            _start("from start to the first answer", [(new, peer) for new, _, peer in starts], _START_TARGET),
            _start(
                f"from start to the first answer, {_ENTRIES:,} entries",
                [(grown, new) for new, grown, _ in starts],
                _GROWTH_TARGET,
                peer="a new node",
            ),
        ]


def _starts(bare: Path, long: Path) -> tuple[float, float, float]:
    commands = (node_command(bare), node_command(long), [sys.executable, "-c", _PEER])
    new, grown, peer = map(start_seconds, commands)
    return new, grown, peer


def _without_model(home: Path) -> None:
    with (home / "assay.toml").open("a", encoding="utf-8") as file:
        file.write(_NO_MODEL)


def _fill(home: Path) -> str:
    """Notes of some length; and the key of an operator."""
    with open_node(home) as (tools, _):
        for start in range(0, _ENTRIES, _AT_ONCE):
            at = tools.clock.now()
            notes = ({"number": n, "text": f"seen at place {n % 997}"} for n in range(start, start + _AT_ONCE))
            waiting = [tools.database.submit(draft_entry(_TENANT, EntryKind.NOTE, note, at=at)) for note in notes]
            for one in waiting:
                one.result()
        return _operator(tools)


def _operator(tools: Tools) -> str:
    name, now = PrincipalId("service:bench"), tools.clock.now()
    granted = PrincipalChange(roles=("operator",))
    add_principal(tools, _TENANT, name, kind=PrincipalKind.SERVICE, name=name, granted=granted, by=_BY, at=now)
    return issue_api_key(tools, _TENANT, name, by=_BY, at=now)[0]


def _memory(name: str, megabytes: float) -> Figure:
    return Figure(
        name=name,
        ours=megabytes,
        peer=None,
        peer_name=f"{_MEMORY_TARGET} MB",
        unit="MB",
        ratio=megabytes / _MEMORY_TARGET,
        target=1.0,
        cpu_seconds=0.0,
        load=load(),
        aim=Aim.AT_MOST,
        note="resident, seconds after the start",
    )


def _start(name: str, rounds: list[tuple[float, float]], target: float, *, peer: str = "") -> Figure:
    return Figure(
        name=name,
        ours=median(ours for ours, _ in rounds) * 1000,
        peer=median(theirs for _, theirs in rounds) * 1000,
        peer_name=peer or "an empty Litestar on uvicorn",
        unit="ms",
        ratio=median(ours / theirs for ours, theirs in rounds),
        target=target,
        cpu_seconds=0.0,
        load=load(),
        aim=Aim.AT_MOST,
    )


def _idle_megabytes(home: Path) -> float:
    with answering(node_command(home)) as running:
        time.sleep(_SETTLE_SECONDS)
        return resident_megabytes(running)


def _long_memory(home: Path, key: str) -> list[Figure]:
    with answering(node_command(home)) as running:
        time.sleep(_SETTLE_SECONDS)
        idle = resident_megabytes(running)
        _ask(running, key)
        asked = resident_megabytes(running)
    return [
        _memory(f"memory of an idle node with {_ENTRIES:,} entries, no model", idle),
        _asked_memory(asked, idle),
    ]


def _asked_memory(asked: float, idle: float) -> Figure:
    """What the caches of a few readers take; they have a size that no ledger changes."""
    return Figure(
        name=f"the same after {_PROOFS} proofs and {_PAGES * _PAGE:,} entries read",
        ours=asked,
        peer=idle,
        peer_name="MB before",
        unit="MB",
        ratio=asked / idle,
        target=_ASKED_TARGET,
        cpu_seconds=0.0,
        load=load(),
        aim=Aim.AT_MOST,
        note="resident, a checkpoint signed",
    )


def _ask(running: Running, key: str) -> None:
    """What auditors ask for: proofs from anywhere, pages from the first entry on."""
    connection = http.client.HTTPConnection(urlsplit(running.url).netloc, timeout=600)
    places = random.Random(1).sample(range(1, _ENTRIES), _PROOFS)
    _answer(connection, "POST", "/api/v1/checkpoints", key)
    for place in places:
        _answer(connection, "GET", f"/api/v1/proofs/{place}", key)
    path = f"/api/v1/entries?limit={_PAGE}"
    for _ in range(_PAGES):
        page = _answer(connection, "GET", path, key)
        path = f"/api/v1/entries?limit={_PAGE}&cursor={page['next']}"


def _answer(connection: http.client.HTTPConnection, method: str, path: str, key: str) -> Any:  # noqa: ANN401  any JSON
    connection.request(method, path, headers={"x-api-key": key})
    response = connection.getresponse()
    told = response.read()
    assert response.status in (200, 201), told  # noqa: S101 - a figure for refusals would be worth nothing
    return json.loads(told)


if __name__ == "__main__":
    print_table(figures())
