"""The routes of Forja: the node as a service and as a registry, and a service that is attached to it."""

from pathlib import Path
from typing import Any

from tests.recorded import node
from tests.recorded.tape import Tape

__all__ = ["run_forja"]

_FORJA = "/api/v2/forja"
_MEASURED = ("measured_seconds", "measured_traffic")
_NAME = "portwatch-backend"


def run_forja(folder: Path) -> list[dict[str, Any]]:
    (folder / "registry").mkdir()
    (folder / "service").mkdir()
    with node.whole_scene(folder / "registry") as scene:
        tape = Tape(scene)
        _own(tape)
        _announce(tape)
        _find(tape)
        node.watch_services(scene, folder / "reached")
        _find(tape)
        _leave(tape)
        _switch(tape)
        found = tape.exchanges
    with node.service_scene(folder / "service") as scene:
        tape = Tape(scene)
        for step in (_documents, _actions, _fire):
            step(tape)
        return [*found, *tape.exchanges]


def _own(tape: Tape) -> None:
    for path in ("/codex.json", "/.well-known/agent-card.json"):
        tape.get(path)
    _read_all(tape)


def _read_all(tape: Tape) -> None:
    """Every document, without and with a credential, and by methods that it does not have."""
    for path in ("/state", "/trust", "/proof", "/codex", "/nothing"):
        tape.get(_FORJA + path)
        tape.post(_FORJA + path, {})
    tape.get(f"{_FORJA}/sense", rules=_MEASURED)
    tape.send("HEAD", f"{_FORJA}/sense")
    _read_others(tape)
    tape.post(f"{_FORJA}/trust/restore", {"human_session_token": "st_nothing"})
    tape.post(f"{_FORJA}/trust/restore", {})
    tape.post(f"{_FORJA}/trust/restore", b"{")


def _read_others(tape: Tape) -> None:
    """The other dialect: trust of one principal, a ruling before an action, an event, and the proof over time."""
    for by in (None, "unknown", "agent"):
        for name in ("ai:planner", "user:nobody", "user:olga"):
            tape.get(f"{_FORJA}/trust/{name}", by)
        for action in ("ALERT_ACK", "MOVEMENT_AUTHORITY", "NOTHING"):
            tape.post(f"{_FORJA}/trust", {"action_id": action}, by)
        tape.post(f"{_FORJA}/trust", {"action_id": "ALERT_ACK", "requested_tier": 3}, by)
        tape.post(f"{_FORJA}/trust", {"action_id": "ALERT_ACK", "requested_mask": 4294967295}, by)
        for path in ("/trust/self-test", "/trust/fire", "/sense/emit"):
            tape.post(_FORJA + path, {"reason": "by hand"}, by)
        event = {"event_type": "nothing", "service": "another", "timestamp": "2026-01-05T10:00:00Z", "payload": {}}
        tape.post(f"{_FORJA}/sense/emit", event, by)
    for query in ("", "?days=1", "?days=x"):
        tape.get(f"{_FORJA}/proof/history{query}")


def _announce(tape: Tape) -> None:
    path = f"{_FORJA}/announce"
    tape.get(path)
    for body in (b"", b"{", b"[]", b'{"surprise":1}'):
        tape.post(path, body)
    tape.post(path, node.announcement(tape.scene, "announce", 1))
    node.trust_service(tape.scene)
    tape.post(path, node.announcement(tape.scene, "announce", 1, is_signed=False))
    tape.post(path, node.announcement(tape.scene, "announce", 1))
    tape.post(path, node.announcement(tape.scene, "announce", 1))
    tape.post(path, node.announcement(tape.scene, "update", 2))
    tape.post(path, node.announcement(tape.scene, "update", 1))


def _find(tape: Tape) -> None:
    for path in (
        "/services",
        "/network",
        "/fleet",
        f"/services/{_NAME}",
        "/services/nobody",
        f"/services/{_NAME}/explain",
    ):
        tape.get(_FORJA + path)
        tape.post(_FORJA + path, {})
    for query in ("needs=READ", "tier=1", "needs=FLY", "tier=9", "colour=red", "needs=", "domain=a&domain=b"):
        tape.get(f"{_FORJA}/services?{query}")
        tape.get(f"{_FORJA}/services/{_NAME}/explain?{query}")
    tag = tape.get(f"{_FORJA}/fleet").headers["etag"]
    tape.get(f"{_FORJA}/fleet", if_none_match=tag)


def _leave(tape: Tape) -> None:
    tape.post(f"{_FORJA}/announce", node.announcement(tape.scene, "offline", 3))
    tape.get(f"{_FORJA}/network")


def _switch(tape: Tape) -> None:
    for path in ("/switch", "/switch/restore"):
        tape.get(_FORJA + path)
        for body in (b"", b"{", b'{"surprise":1}'):
            tape.post(_FORJA + path, body)
            tape.post(_FORJA + path, body, "operator")
    fired = {
        "service_id": "bell",
        "episode": 1,
        "cause": "error_rate",
        "reason": "60 of 60 requests failed",
        "snapshot": {"requests": 60, "errors": 60, "active_tier": 2},
        "fired_at": tape.scene.house.later(minutes=4),
    }
    for by in (None, "unknown", "nobody", "bell", "bell"):
        tape.post(f"{_FORJA}/switch", {"fired": fired}, by)
    for who in ("nobody", "bell", "amira", "omar", "omar"):
        restore = {"fired": fired, "human_session_token": tape.scene.keys[who]}
        tape.post(f"{_FORJA}/switch/restore", restore)


def _documents(tape: Tape) -> None:
    tape.get("/codex.json")
    _read_all(tape)


def _actions(tape: Tape) -> None:
    tape.get("/ping")
    tape.get("/ping", "agent")
    tape.post("/ack/a-1", None)
    tape.post("/ack/a-1", None, "agent")
    tape.post("/ack/a-2", None, "agent", x_forja_tier="3")
    tape.post("/ack/a-3", None, "agent", x_forja_mask="4294967295")
    tape.post("/ack/a-4", None, "ak_nothing.nothing")


def _fire(tape: Tape) -> None:
    """The switch fires by itself, stops what acts, and only a person restores it."""
    for by in ("agent", "olga"):
        tape.post(f"{_FORJA}/trust/fire", {"reason": "by hand"}, by)
    tape.get(f"{_FORJA}/sense", rules=_MEASURED)
    tape.post(f"{_FORJA}/trust/restore", {"human_session_token": tape.scene.keys["olga"]})
    node.break_service(tape.scene)
    tape.get(f"{_FORJA}/sense", rules=_MEASURED)
    tape.get(f"{_FORJA}/trust")
    tape.post("/ack/a-5", None, "agent")
    tape.get("/ping", "agent")
    for token in (tape.scene.keys["agent"], tape.scene.keys["olga"], tape.scene.keys["olga"]):
        tape.post(f"{_FORJA}/trust/restore", {"human_session_token": token})
    tape.get(f"{_FORJA}/sense", rules=_MEASURED)
    tape.post("/ack/a-6", None, "agent")
