"""Over HTTP, on a real server and a disk: one verdict a request with 64 callers at once, and records in lines.

The model's own time is left out: what it said the first time is said again. The reference's 22 verdicts a second (with
37 % lost at concurrency 2) are scaled by this run's rfc8785 rate over the 4,300 per second they were taken beside. Each
verdict is authenticated, sliced, cross-checked, committed with its entry and answered; none may be lost.
"""

import http.client
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Any

import rfc8785
import uvicorn
from litestar import Litestar
from msgspec import structs

from assay.flows.identity.authenticate import authenticate
from assay.flows.tools import Tools
from assay.flows.verdicts.change_graphs import LoadGraph, load_graph
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId, TenantId
from assay.ports.clock import Clock
from assay.ports.model import ModelError
from assay.ports.reasoner import LocalReasoner, ReasonerIdentity
from assay.surfaces.http.app import create_app
from assay.surfaces.http.serve import listen
from assay.verdicts.graph.hash import stamp_versions
from assay.verdicts.reason import RawReply, ReasonRequest
from assay.wiring import init_node, open_evaluation, open_node
from bench._frame import Figure, load, measure, print_table
from bench._http_load import SUBJECTS, record
from bench.canonical import RECORD
from tests.acting import add_principal, issue_api_key

__all__ = ["figures"]

_TENANT, _BY = TenantId("default"), PrincipalId("operator:bench")
_CALLERS = 64
_SECONDS = 3.0
_ROUNDS = 3
_LINES = 1000
_REFERENCE, _BESIDE = 22.0, 4300.0
_TARGET = 20.0
_SETTINGS = '\n[ski]\nsovereignty = "advisory"\nrequire_review = false\nfast_path_n = 0\n'


@dataclass
class _Remembered:
    """Implements `BatchReasoner`, as the shipped judge does: the first answer again, as every record asks the same."""

    inner: LocalReasoner
    clock: Clock
    first: RawReply | None = None

    def identify(self) -> ReasonerIdentity:
        return self.inner.identify()

    def complete(self, request: ReasonRequest) -> RawReply:
        if self.first is None:
            self.first = self.inner.complete(request)
        now, said = self.clock.now(), self.first
        return RawReply(
            text=said.text,
            backend_name=said.backend_name,
            model_weight_hash=said.model_weight_hash,
            started_at=now,
            completed_at=now,
        )

    def complete_many(self, requests: Sequence[ReasonRequest]) -> list[RawReply | ModelError]:
        return [self.complete(request) for request in requests]


def _graph() -> bytes:
    """One rule for every subject."""
    names = [f"subject{number}" for number in range(SUBJECTS)]
    limit = {"metric": "so2", "value": 35, "unit": "mg/Nm3", "effective_date_start": "2016-01-01T00:00:00Z"}
    nodes = {
        "subjects": [{"id": one, "type": "subject", "name": one} for one in names],
        "rules": [{"id": "r1", "type": "rule", "name": "the limit", "risk_tier": "medium"}],
        "obligations": [{"id": "o1", "type": "obligation", "obligation_type": "must_not_exceed", **limit}],
        "citations": [{"id": "c1", "type": "citation", "source_document": "2010/75/EU", "source_clause": "Annex V"}],
    }
    edges = [{"type": "applies_to", "from": "r1", "to": one} for one in names]
    edges += [
        {"type": "consists_of", "from": "r1", "to": "o1"},
        {"type": "cited_by", "from": "o1", "to": "c1"},
    ]
    document: dict[str, Any] = {"metadata": {"name": "bench", "schema_version": "3.0"}, "nodes": nodes, "edges": edges}
    return json.dumps(stamp_versions(document)).encode()


def _key(tools: Tools, name: str, *roles: str) -> str:
    principal, now = PrincipalId(name), tools.clock.now()
    granted = PrincipalChange(roles=roles, action_tier=3)
    add_principal(tools, _TENANT, principal, kind=PrincipalKind.SERVICE, name=name, granted=granted, by=_BY, at=now)
    return issue_api_key(tools, _TENANT, principal, by=_BY, at=now)[0]


@contextmanager
def _served(app: Litestar) -> Iterator[int]:
    bound = listen("127.0.0.1", 0)
    # As `assay serve` has it.
    settings = {"log_config": None, "access_log": False, "server_header": False, "proxy_headers": False}
    server = uvicorn.Server(uvicorn.Config(app, backlog=2048, **settings))  # type: ignore[arg-type]  # each of its own kind
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield bound.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        bound.close()


@contextmanager
def _node(folder: Path) -> Iterator[tuple[int, str]]:
    init_node(folder)
    with (folder / "assay.toml").open("a", encoding="utf-8") as file:
        file.write(_SETTINGS)
    with open_node(folder) as (tools, config), open_evaluation(folder, config, tools) as evaluation:
        reasoner = evaluation.tools.reasoner
        assert reasoner is not None  # noqa: S101 - the shipped judge
        judging = replace(evaluation.tools, reasoner=_Remembered(reasoner, tools.clock))
        chief = authenticate(tools, _key(tools, "service:chief", "operator"), at=tools.clock.now())
        load_graph(judging, chief, LoadGraph(document=_graph()))
        key = _key(tools, "service:sensor")
        unlimited = structs.replace(config, http=structs.replace(config.http, rate_requests=0))
        with _served(create_app(judging, unlimited)) as port:
            yield port, key


def _one_by_one(port: int, key: str, turn: int) -> float:
    """Verdicts a second, each in a request of its own; a lost one makes the figure worth nothing."""
    command = [sys.executable, "-m", "bench._http_load", str(port), key, str(_CALLERS), str(_SECONDS), str(turn)]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    done, lost, seconds = json.loads(told.stdout)
    assert lost == 0, f"{lost} of {done + lost} were not answered"  # noqa: S101 - as above
    return float(done / seconds)


def _in_lines(port: int, key: str, turn: int) -> float:
    """The same in one request of many lines."""
    body = b"\n".join(record(number, 100_000 * (turn + 1) + number % SUBJECTS) for number in range(_LINES))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    start = time.perf_counter()
    # Beside the sending, somebody has to read: the server answers while it reads.
    answer: list[Any] = []
    headers = {"x-api-key": key, "content-type": "application/x-ndjson", "content-length": str(len(body))}
    connection.request("POST", "/api/v1/telemetry:bulk", headers=headers)
    reader = threading.Thread(target=lambda: answer.append(connection.getresponse().read()))
    reader.start()
    connection.send(body)
    reader.join()
    seconds = time.perf_counter() - start
    recorded = answer[0].count(b'"status":"recorded"')
    assert recorded == _LINES, f"{_LINES - recorded} of {_LINES} were not recorded"  # noqa: S101 - as above
    return _LINES / seconds


def _reference() -> float:
    """What the reference would do on this machine now."""
    return _REFERENCE * measure(lambda: rfc8785.dumps(RECORD), 0.4)[0] / _BESIDE  # type: ignore[arg-type]  # its alias wants invariant containers


def _rounds(run: Callable[[int], float]) -> list[tuple[float, float]]:
    """Each of ours between two looks at the peer, so that load that comes or goes meanwhile hits both alike."""
    looks, rates = [_reference()], []
    for number in range(_ROUNDS):
        rates.append(run(number))
        looks.append(_reference())
    return [(rate, fmean(around)) for rate, around in zip(rates, pairwise(looks), strict=True)]


def figures() -> list[Figure]:
    cpu = time.process_time()
    with tempfile.TemporaryDirectory() as folder, _node(Path(folder) / "node") as (port, key):
        told = {
            f"verdicts over HTTP, {_CALLERS} callers, durable": _rounds(lambda one: _one_by_one(port, key, one)),
            f"verdicts over HTTP, {_LINES} in lines": _rounds(lambda one: _in_lines(port, key, one)),
        }
    return [
        Figure(
            name=name,
            ours=median(ours for ours, _ in pairs),
            peer=median(peer for _, peer in pairs),
            peer_name="reference, scaled",
            unit="verdicts/s",
            ratio=median(ours / peer for ours, peer in pairs),
            target=_TARGET,
            cpu_seconds=time.process_time() - cpu,
            load=load(),
            note="the model's time left out, none lost",
        )
        for name, pairs in told.items()
    ]


if __name__ == "__main__":
    print_table(figures())
