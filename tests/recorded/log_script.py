"""The log as C2SP has it, its entries and proofs, and its events as a stream and as webhooks."""

from pathlib import Path
from typing import Any

from tests.recorded import node
from tests.recorded.refusals import refuse_caller
from tests.recorded.tape import Tape

__all__ = ["run_events", "run_log"]

_EVENTS = 12


def run_log(folder: Path) -> list[dict[str, Any]]:
    with node.whole_scene(folder) as scene:
        tape = Tape(scene)
        for path in ("/healthz", "/readyz"):
            tape.get(path)
        _who(tape)
        _append(tape)
        _tiles(tape)
        return tape.exchanges


def _who(tape: Tape) -> None:
    tape.get("/whoami")
    for by in ("operator", "narrow", "agent", "amira"):
        tape.get("/whoami", by)
    tape.get("/whoami", authorization="Bearer nothing")
    tape.get("/whoami", authorization=f"Bearer {tape.scene.keys['operator']}")
    tape.exchanges[-1]["request"]["headers"]["authorization"] = "Bearer KEY OF operator"


def _append(tape: Tape) -> None:
    """Append three notes, so that the tree grows; `/log/entries` and `/log/proof` of 0.1.0 are routes of v1 now."""
    scene = tape.scene
    headers = {"x-api-key": scene.keys["operator"], "content-type": "application/json"}
    for _ in range(3):
        answered = scene.ask("POST", "/api/v1/entries", headers, b'{"note":{"text":"looked at stack 1"}}')
        assert answered.status_code == 201, answered.text
    tape.post("/api/v1/checkpoints", None, "operator")


def _tiles(tape: Tape) -> None:
    refuse_caller(tape, "GET", "/log/checkpoint")
    found = tape.get("/log/checkpoint", "nobody")
    size = int(found.text.splitlines()[1])
    tape.get("/log/checkpoint", "operator", if_none_match=found.headers.get("etag", '"x"'))
    refuse_caller(tape, "GET", f"/log/tile/0/000.p/{size}")
    for place in (
        f"0/000.p/{size}",
        "0/000.p/1",
        f"0/000.p/{size + 50}",
        "0/000",
        "0/x001/067",
        "1/000.p/1",
        "0/x",
        "9/000",
        "y/000",
    ):
        tape.get(f"/log/tile/{place}", "operator")


def run_events(folder: Path) -> list[dict[str, Any]]:
    with node.whole_scene(folder) as scene:
        tape = Tape(scene)
        for path in ("/api/v1/events", "/api/v2/pramana/sense/events"):
            refuse_caller(tape, "GET", path, role="nobody")
            tape.get(path, "operator", last_event_id="nothing")
        note = {
            "event_type": "crane.moved",
            "service": "bell",
            "timestamp": scene.house.later(minutes=4),
            "payload": {},
        }
        tape.post("/api/v2/pramana/sense/emit", note, "bell")
        stream = node.stream_of(scene, "/api/v1/events", "operator", events=_EVENTS, after="0")
        tape.keep(f"GET /api/v1/events after 0, {_EVENTS} events", {"text": stream.decode()})
        sense = node.stream_of(scene, "/api/v2/pramana/sense/events", "operator", events=1, after="0")
        tape.keep("GET /api/v2/pramana/sense/events after 0, one event", {"text": sense.decode()})
        for number, posted in enumerate(node.posted_webhooks(scene, _EVENTS), start=1):
            tape.keep(f"webhook, event {number}", posted)
        return tape.exchanges
