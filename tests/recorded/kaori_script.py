"""The routes of Kaori Truth: contracts, observations, states, votes, windows and trust, each with its refusals."""

from pathlib import Path
from typing import Any

from tests.recorded import node
from tests.recorded.refusals import refuse_body, refuse_caller
from tests.recorded.tape import Tape

__all__ = ["run_kaori"]

_NOWHERE = "earth:flood:h3:886142a8e7fffff:surface:2020-01-01T00:00Z"


def run_kaori(folder: Path) -> list[dict[str, Any]]:
    with node.truth_scene(folder) as scene:
        tape = Tape(scene)
        for part in (_contracts, _observations, _states, _votes, _windows, _trust, _policies):
            part(tape)
        return tape.exchanges


def _key(tape: Tape) -> str:
    found: str = tape.scene.house.truth.truthkey
    return found


def _contracts(tape: Tape) -> None:
    schema = node.flood_schema()
    body = {"document": node.another_contract(), "schema_text": schema}
    refuse_caller(tape, "POST", "/contracts", body=body, role="relay")
    refuse_body(tape, "/contracts", by="operator")
    tape.post("/contracts", {"document": "id: nothing"}, "operator")
    tape.post("/contracts", body, "operator")
    tape.instead("POST", "/api/v1/contracts", "operator", body)
    tape.post("/contracts", body, "operator")
    changed = body["document"].replace('"P1D"', '"PT6H"').replace('"PT1H"', '"PT4H"')
    tape.post("/contracts", {"document": changed, "schema_text": schema}, "operator")
    refuse_caller(tape, "GET", "/contracts")
    tape.get("/contracts", "relay")
    for path in ("/contracts/earth.flood.v2", "/contracts/earth.flood.v2/form"):
        refuse_caller(tape, "GET", path)
        tape.get(path, "relay")
        tape.get(path.replace("flood", "storm"), "relay")
        tape.get(path.replace("earth.flood.v2", "!"), "relay")
    tape.send("DELETE", "/contracts", "operator")


def _observations(tape: Tape) -> None:
    node.observe_twice(tape.scene)
    report = node.report_of(tape.scene, "user:cem")
    refuse_caller(tape, "POST", "/observations", body=report)
    refuse_body(tape, "/observations", by="relay")
    tape.post("/observations", report, "nobody")
    tape.post("/observations", report, "relay")
    tape.post("/observations", report, "relay")
    tape.post("/observations", {**report, "payload": {"severity": "low", "water_level_meters": 0.1}}, "relay")
    tape.post("/observations", {**report, "observation_id": "other", "claim_type": "earth.storm.v1"}, "relay")
    tape.post("/observations", {**report, "observation_id": "no-payload", "payload": {"severity": 7}}, "relay")
    tape.post("/observations", {**report, "observation_id": "x", "reported_at": "yesterday"}, "relay")
    tape.post("/observations", {**report, "observation_id": "far", "geo": {"lat": 91, "lon": 0}}, "relay")
    lines = b"\n".join([b"{}", b"nothing", b""])
    tape.post("/observations", lines, "relay", media="application/x-ndjson")
    refuse_caller(tape, "GET", "/observations")
    tape.get("/observations?limit=1", "relay")
    tape.get("/observations?limit=2&after=1", "relay")
    tape.get("/observations", "nobody")
    tape.get("/observations?limit=0", "relay")
    tape.get("/observations?colour=red", "relay")


def _states(tape: Tape) -> None:
    node.score_reports(tape.scene)
    node.move_to(tape.scene, "12:40")
    key = _key(tape)
    compile_path = f"/truthstates/{key}/compile"
    tape.get(f"/truthstates/{key}", "relay")
    refuse_caller(tape, "POST", compile_path, body={"force": True}, role="relay")
    refuse_body(tape, compile_path, by="operator")
    tape.post(f"/truthstates/{_NOWHERE}/compile", {}, "operator")
    tape.instead("POST", f"/api/v1/states/{_NOWHERE}/compile", "operator", {})
    tape.post("/truthstates/nothing/compile", {}, "operator")
    tape.post(compile_path, {"force": True}, "operator")
    tape.instead("POST", f"/api/v1/states/{key}/compile", "operator", {"force": True})
    tape.post(compile_path, {}, "operator")
    for path in (f"/truthstates/{key}", f"/truthstates/{key}/history"):
        refuse_caller(tape, "GET", path)
        tape.get(path, "relay")
        tape.get(f"{path}?at=2026-01-06T12:40:00Z", "relay")
        tape.get(f"{path}?at=2020-01-01T00:00:00Z", "relay")
        tape.get(f"{path}?at=noon", "relay")
        tape.get(path.replace(key, _NOWHERE), "relay")
        tape.get(path.replace(key, "nothing"), "relay")
    state = tape.get(f"/truthstates/{key}", "relay")
    tape.get(f"/truthstates/{key}", "relay", if_none_match=state.headers["etag"])
    refuse_caller(tape, "GET", "/truthmap")
    tape.get("/truthmap?limit=1", "relay")
    tape.get("/truthmap?bbox=1,2", "relay")
    _verify(tape, state.json())


def _verify(tape: Tape, state: dict[str, Any]) -> None:
    refuse_caller(tape, "POST", "/verify", body=state)
    refuse_body(tape, "/verify", by="relay")
    tape.post("/verify", state, "relay")
    tape.post("/verify", {**state, "confidence": 0.99}, "relay")
    tape.post("/verify", {**state, "surprise": 1}, "relay")
    tape.post("/verify", {name: value for name, value in state.items() if name != "security"}, "relay")


def _votes(tape: Tape) -> None:
    node.move_to(tape.scene, "12:45")
    path = f"/truthstates/{_key(tape)}/validation"
    refuse_caller(tape, "GET", path, role="relay")
    tape.get(path, "operator")
    question = tape.instead("GET", f"/api/v1/states/{_key(tape)}/question", "operator").json()
    tape.get(path.replace(_key(tape), _NOWHERE), "operator")
    vote = {"truthkey": _key(tape), "vote_type": "RATIFY", "seen": question["shown_hash"], "reason": "I was there"}
    refuse_caller(tape, "POST", "/votes", body=vote, role="relay")
    refuse_body(tape, "/votes", by="eve")
    tape.post("/votes", vote, "operator")
    tape.post("/votes", vote, "op")
    tape.post("/votes", {**vote, "seen": "sha256:" + "0" * 64}, "eve")
    tape.post("/votes", {**vote, "vote_type": "MAYBE"}, "eve")
    tape.post("/votes", {**vote, "truthkey": _NOWHERE}, "eve")
    tape.post("/votes", {**vote, "vote_type": "OVERRIDE"}, "eve")
    tape.post("/votes", vote, "eve")
    tape.post("/votes", vote, "eve")
    tape.post("/votes", vote, "fay")


def _windows(tape: Tape) -> None:
    closes = node.instant_of(tape.scene, "2T12:00")
    body = {"truthkey": _key(tape), "kind": "WINDOW_EXTENDED", "closes_at": closes, "reason": "more to come"}
    refuse_caller(tape, "POST", "/windows", body=body, role="relay")
    refuse_body(tape, "/windows", by="op")
    tape.post("/windows", {**body, "kind": "WINDOW_BROKEN"}, "op")
    tape.post("/windows", {**body, "truthkey": _NOWHERE}, "op")
    window = {"truthkey": _key(tape), "reason": "more to come"}
    tape.post("/windows", body, "op")
    tape.instead("POST", "/api/v1/windows", "op", {**window, "event": "extend", "closes_at": closes})
    tape.post("/windows", {**body, "kind": "WINDOW_CLOSED", "closes_at": None}, "op")
    tape.instead("POST", "/api/v1/windows", "op", {**window, "event": "close"})


def _trust(tape: Tape) -> None:
    node.move_to(tape.scene, "12:50")
    at = node.instant_of(tape.scene, "12:50")
    signal = {
        "signal_id": "endorse.user-ann",
        "kind": "ENDORSEMENT",
        "agent_id": "sensor:042",
        "occurred_at": at,
        "object": {"endorsed": "user:ann", "weight": 0.5},
    }
    refuse_caller(tape, "POST", "/signals", body=signal)
    refuse_body(tape, "/signals", by="sensor")
    tape.post("/signals", signal, "relay")
    tape.post("/signals", signal, "sensor")
    tape.post("/signals", signal, "sensor")
    tape.post("/signals", {**signal, "object": {"endorsed": "user:ben", "weight": 0.5}}, "sensor")
    tape.post("/signals", {**signal, "signal_id": "up", "kind": "TRUTHSTATE_EMITTED"}, "sensor")
    tape.post("/signals", {**signal, "signal_id": "self", "object": {"endorsed": "sensor:042", "weight": 1}}, "sensor")
    refuse_caller(tape, "GET", "/signals")
    tape.get("/signals?agent_id=sensor:042", "operator")
    tape.get("/signals?limit=2", "operator")
    tape.get("/signals", "nobody")
    tape.get("/signals?limit=none", "operator")
    refuse_caller(tape, "GET", "/agents/user:ann")
    for name in ("user:ann", "sensor:042", "user:gus", "user:stranger", "!"):
        tape.get(f"/agents/{name}", "operator")
    refuse_caller(tape, "GET", "/trust-snapshot", role="relay")
    tape.get("/trust-snapshot?agents=user:ann,user:gus", "operator")
    tape.get("/trust-snapshot?agents=user:ann&at=2026-01-06T12:10:00Z", "operator")
    tape.get("/trust-snapshot?agents=user:ann&at=noon", "operator")
    tape.get("/trust-snapshot", "operator")


def _policies(tape: Tape) -> None:
    child = {"document": "id: flow_v2\nversion: 2\nextends: flow_v1\n"}
    refuse_caller(tape, "POST", "/policies", body=child, role="relay")
    refuse_body(tape, "/policies", by="op")
    tape.post("/policies", {"document": "id: [1"}, "op")
    tape.post("/policies", child, "op")
    tape.instead("POST", "/api/v1/policies", "op", child)
    tape.post("/policies", child, "op")
    tape.post("/policies", {"document": child["document"] + "initial_standing: 301\n"}, "op")
    refuse_caller(tape, "GET", "/policies")
    tape.get("/policies", "relay")
    penalty = {"agent_id": "user:ann", "points": 12.5, "reason": "made it up"}
    refuse_caller(tape, "POST", "/penalties", body=penalty, role="relay")
    refuse_body(tape, "/penalties", by="operator")
    tape.post("/penalties", {**penalty, "points": -1}, "operator")
    tape.post("/penalties", {**penalty, "agent_id": "user:stranger"}, "operator")
    tape.post("/penalties", penalty, "operator")
