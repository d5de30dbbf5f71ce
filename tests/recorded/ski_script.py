"""The routes of SKI: health, graphs, evaluation, verdicts, canary, sovereignty and metrics, each with its refusals."""

import json
from pathlib import Path
from typing import Any

from tests.recorded import node
from tests.recorded.refusals import refuse_body, refuse_caller
from tests.recorded.tape import Tape

__all__ = ["run_ski"]


def run_ski(folder: Path) -> list[dict[str, Any]]:
    with node.whole_scene(folder) as scene:
        tape = Tape(scene)
        for part in (_open, _graphs, _evaluate, _verdicts, _figures):
            part(tape)
        return tape.exchanges


def _open(tape: Tape) -> None:
    tape.get("/api/health")
    tape.get("/api/health", "operator")
    tape.post("/api/health", {}, "operator")
    tape.get("/api/nothing", "operator")
    tape.get("/api/nothing")


def _graphs(tape: Tape) -> None:
    document = node.signed_graph(tape.scene)
    graph = json.loads(document)
    refuse_caller(tape, "POST", "/api/kg/load", body=graph, role="sensor")
    refuse_body(tape, "/api/kg/load", by="operator")
    unsigned = {name: value for name, value in graph.items() if name != "signature"}
    tape.post("/api/kg/load", unsigned, "operator")
    tape.post("/api/kg/load", document.replace(b'"value":35', b'"value":350'), "operator")
    tape.post("/api/kg/load", graph, "operator")
    tape.post("/api/kg/load", graph, "operator")
    node.learn_graph(tape.scene, document)


def _evaluate(tape: Tape) -> None:
    record = tape.scene.house.record("t-first")
    refuse_caller(tape, "POST", "/api/evaluate", body=record)
    refuse_body(tape, "/api/evaluate", by="sensor")
    tape.post("/api/evaluate", record, "sensor")
    tape.post("/api/evaluate", record, "sensor")
    tape.post("/api/evaluate", {**record, "measurement": {"so2": 21}}, "sensor")
    tape.post("/api/evaluate", {**record, "telemetry_id": "t-flag", "measurement": {"so2": 36}}, "sensor")
    tape.post(
        "/api/evaluate",
        {**record, "telemetry_id": "t-unit", "measurement": {"so2": {"value": 1, "unit": "kg"}}},
        "sensor",
    )
    tape.post("/api/evaluate", {**record, "telemetry_id": "t-none", "subject": "elsewhere"}, "sensor")
    tape.post("/api/evaluate", {**record, "telemetry_id": "t-miss", "measurement": {"nox": 1}}, "sensor")
    tape.post("/api/evaluate", {**record, "telemetry_id": "t-time", "timestamp": "2026-01-05T10:00:00"}, "sensor")
    renamed = {"measurement_id" if name == "telemetry_id" else name: value for name, value in record.items()}
    tape.post("/api/evaluate", {**renamed, "measurement_id": "t-renamed"}, "sensor")
    tape.post("/api/evaluate", {**record, "telemetry_id": "t-tenant", "tenant_id": "another"}, "sensor")


def _verdicts(tape: Tape) -> None:
    refuse_caller(tape, "GET", "/api/verdicts", role="sensor")
    for query in ("", "?limit=1", "?limit=2&offset=1", "?limit=0", "?offset=x", "?colour=red"):
        tape.get(f"/api/verdicts{query}", "operator")


def _figures(tape: Tape) -> None:
    for path in ("/api/canary", "/api/sovereignty"):
        refuse_caller(tape, "GET", path)
        tape.get(path, "operator")
    tape.get("/api/canary", "nobody")
    refuse_caller(tape, "GET", "/metrics", role="sensor")
    tape.get("/metrics", "operator", rules=("other_metrics", "metric_values"))
