"""The routes of PRAMANA: state, trust, query, outcomes, root causes, peers and lists, each with its refusals."""

from pathlib import Path
from typing import Any

from tests.recorded import node
from tests.recorded.refusals import refuse_body, refuse_caller
from tests.recorded.tape import Tape

__all__ = ["run_pramana"]

_PRAMANA = "/api/v2/pramana"
_NO_ANSWER = "ans_" + "a" * 26


def run_pramana(folder: Path) -> list[dict[str, Any]]:
    with node.whole_scene(folder) as scene:
        tape = Tape(scene)
        for part in (_open, _trust, _query, _outcomes, _rootcause, _lists, _peers, _emit):
            part(tape)
        return tape.exchanges


def _open(tape: Tape) -> None:
    for path in ("/state", "/state/assay", "/state/another", "/nothing"):
        tape.get(_PRAMANA + path)
    tape.get(f"{_PRAMANA}/state", "operator")
    tape.post(f"{_PRAMANA}/state", {}, "operator")


def _trust(tape: Tape) -> None:
    refuse_caller(tape, "GET", f"{_PRAMANA}/trust/user:amira", role="nobody")
    for by, name in (
        ("amira", "user:amira"),
        ("operator", "user:amira"),
        ("operator", "user:stranger"),
        ("amira", "!"),
    ):
        tape.get(f"{_PRAMANA}/trust/{name}", by)


def _query(tape: Tape) -> None:
    path, asked = f"{_PRAMANA}/query", tape.scene.house.question()
    refuse_caller(tape, "POST", path, body=asked)
    refuse_body(tape, path, by="amira")
    tape.post(path, asked, "operator")
    tape.post(path, asked, "amira")
    tape.post(path, asked, "amira", idempotency_key="q-1")
    tape.post(path, asked, "amira", idempotency_key="q-1")
    tape.post(path, {**asked, "question": {"ship": "Eve"}}, "amira", idempotency_key="q-1")
    tape.post(path, {**asked, "query_type": "vessel.unknown"}, "amira")
    node.expect_more(tape.scene)
    tape.post(path, {**asked, "query_type": "vessel.sure"}, "amira")
    resume = f"{path}/{_NO_ANSWER}/resume"
    refuse_caller(tape, "POST", resume)
    tape.send("POST", resume, "amira")
    node.hold_answers(tape.scene)
    held = tape.post(path, {**asked, "query_type": "vessel.scuttle"}, "amira").json()["annotation"]["answer_id"]
    resume = f"{path}/{held}/resume"
    tape.send("POST", resume, "agent")
    tape.send("POST", resume, "amira")
    tickets = tape.get("/api/v1/tickets", "otto").json()["items"]
    (ticket,) = [one["ticket"] for one in tickets if one["settlement"]["state"] == "open"]
    choice = {"choice": "approve", "seen": ticket["shown_hash"], "reason": "looked at it"}
    tape.post(f"/api/v1/tickets/{ticket['id']}/answers", choice, "otto")
    tape.send("POST", resume, "amira")


def _outcomes(tape: Tape) -> None:
    house, path = tape.scene.house, f"{_PRAMANA}/phala"
    answered = tape.post(f"{_PRAMANA}/query", house.question(), "amira").json()["annotation"]["answer_id"]
    told = node.outcome_of(tape.scene, session_id="s1", answer_id=answered)
    refuse_caller(tape, "POST", path, body=told)
    refuse_body(tape, path, by="bell")
    tape.post(path, told, "nobody")
    tape.post(path, {**told, "rule_id": "UNKNOWN-1", "answer_id": None}, "bell")
    tape.post(path, {**told, "outcome": "perhaps"}, "bell")
    tape.post(path, {**told, "answer_id": _NO_ANSWER}, "bell")
    tape.post(path, told, "bell", idempotency_key="p-1")
    tape.post(path, told, "bell", idempotency_key="p-1")
    tape.post(path, {**told, "outcome": "success"}, "bell", idempotency_key="p-1")
    tape.post(path, {**told, "outcome": "success"}, "bell")
    for number in (1, 2):
        more = node.outcome_of(tape.scene, session_id="s1", query_context=f"trip {number}")
        tape.post(path, more, "bell")


def _rootcause(tape: Tape) -> None:
    refuse_caller(tape, "GET", f"{_PRAMANA}/rca", role="nobody")
    tape.get(f"{_PRAMANA}/rca", "operator")
    (item,) = tape.instead("GET", "/api/v1/root-causes", "operator").json()["items"]
    name = item["item"]["item_id"]
    tape.get(f"{_PRAMANA}/rca?colour=red", "operator")
    path = f"{_PRAMANA}/rca/{name}"
    refuse_caller(tape, "GET", path, role="nobody")
    tape.get(path, "operator")
    shown = tape.instead("GET", f"/api/v1/root-causes/{name}", "operator").json()
    tape.get(f"{_PRAMANA}/rca/rca_nothing", "operator")
    said = {
        "failure_category": "C",
        "siddhanta": "too lenient",
        "corrected_rule": "At least 15 %.",
        "seen": shown["ticket"]["shown_hash"],
    }
    refuse_caller(tape, "POST", f"{path}/conclusion", body=said, role="amira")
    refuse_body(tape, f"{path}/conclusion", by="rita")
    tape.post(f"{path}/conclusion", said, "operator")
    tape.post(f"{path}/conclusion", {**said, "seen": "sha256:" + "0" * 64}, "rita")
    tape.post(f"{path}/conclusion", {**said, "failure_category": "D"}, "rita")
    tape.post(f"{_PRAMANA}/rca/rca_nothing/conclusion", said, "rita")
    tape.post(f"{path}/conclusion", said, "rita")
    tape.instead("POST", f"/api/v1/root-causes/{name}/conclusion", "rita", said)
    tape.post(f"{path}/conclusion", said, "rita")
    tape.get(path, "operator")


def _lists(tape: Tape) -> None:
    answered = tape.post(f"{_PRAMANA}/query", tape.scene.house.question(), "amira").json()["annotation"]["answer_id"]
    paths = (
        "/rules", f"/rules/{node.RULE}", "/rules/NO-1", f"/trace/{answered}", f"/trace/{_NO_ANSWER}", "/pairs",
        "/pairs/queue", "/queries", "/shortfalls", "/shortfalls?limit=1", "/shortfalls?limit=x", "/alerts",
        "/alerts?min_total=3&min_confidence=0.75", "/alerts?min_total=x", "/sessions", "/sessions/session:s1",
        "/sessions/session:none",
    )  # fmt: skip
    for path in paths:
        if "?" not in path:
            refuse_caller(tape, "GET", _PRAMANA + path, role="nobody")
        tape.get(_PRAMANA + path, "operator")


def _peers(tape: Tape) -> None:
    node.agree_with_harbour(tape.scene)
    refuse_caller(tape, "GET", f"{_PRAMANA}/peers/harbour", role="nobody")
    tape.get(f"{_PRAMANA}/peers/harbour", "operator")
    tape.get(f"{_PRAMANA}/peers/another", "operator")
    told = node.outcome_of(tape.scene, rule_id=None, rule_ids=["HAR-1", "HAR-2"])
    path = f"{_PRAMANA}/phala/foreign"
    refuse_caller(tape, "POST", path, body=told, role="nobody")
    refuse_body(tape, path, by="harbour")
    tape.post(path, told, "harbour")
    tape.post(path, {**told, "rule_ids": ["HAR-9"]}, "harbour")


def _emit(tape: Tape) -> None:
    at = tape.scene.house.later(minutes=4)
    event = {"event_type": "crane.moved", "service": "bell", "timestamp": at, "payload": {"t": 4}}
    path = f"{_PRAMANA}/sense/emit"
    refuse_caller(tape, "POST", path, body=event)
    refuse_body(tape, path, by="bell")
    tape.post(path, event, "nobody")
    tape.post(path, event, "bell")
    tape.post(path, {"type": "crane.moved", **{name: event[name] for name in event if name != "event_type"}}, "bell")
    for path in ("/sense/events", "/sense/events?from=x"):
        refuse_caller(tape, "GET", _PRAMANA + path, role="nobody")
    tape.get(f"{_PRAMANA}/sense/events", "operator", last_event_id="x")
