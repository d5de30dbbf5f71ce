"""What sixty-four callers do all day: pieces of work over `/api/v1`, each with names that nobody else uses.

A piece asks for changes, reads back what it was told, and goes on with it.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from assay.adapters.clock import SystemClock
from assay.kernel.instant import Instant, render_instant
from tests.claims.making import claim, document, pointer
from tests.node._home import RULE, record, report, signal

__all__ = ["BOLD", "CALM", "LINES", "WORK", "Ask", "Asked", "bundle_id"]

LINES = 5
# Agents that only ever ask to read, and such that ask to delete: whoever leaps from one to the other is held up. There
# are several of each, since the gates take only so many bundles a minute from one.
CALM, BOLD = (tuple(f"{kind}-{number}" for number in range(8)) for kind in ("calm", "bold"))
_RELAY, _SENSOR, _OPERATOR, _APPROVER = "gateway", "sensor", "olga", "otto"
# No reporter has room for more than 64 at one key.
_ROOM = 50


@dataclass(frozen=True)
class Asked:
    """A request: one without a body reads. `key` is its `Idempotency-Key`, and a name that its record holds."""

    by: str
    path: str
    key: str = ""
    body: bytes | None = None
    is_lines: bool = False


Ask = Callable[[Asked], Awaitable[Any]]


def _change(by: str, path: str, key: str, body: object) -> Asked:
    return Asked(by, path, key, json.dumps(body).encode())


def _lines(by: str, path: str, key: str, records: list[dict[str, Any]]) -> Asked:
    return Asked(by, path, key, b"\n".join(json.dumps(one).encode() for one in records), is_lines=True)


def _observation(name: str, number: int) -> dict[str, Any]:
    """Of a place and by a reporter of the caller's own."""
    caller = name.rpartition("-")[0]
    place = sum(caller.encode()) % 60
    made = report(f"user:{caller}-{number // _ROOM}")
    return {**made, "observation_id": name, "geo": {"lat": 4.0 + place / 10, "lon": 73.5}}


def _one_of(agents: tuple[str, ...], name: str) -> str:
    return agents[sum(name.encode()) % len(agents)]


def _bundle(agent: str, name: str, tier: str) -> dict[str, Any]:
    now = SystemClock().now()
    found = [pointer(retrieved_at=render_instant(Instant(now - timedelta(hours=1))))]
    told = claim(statement=f"The river at {name} is 30 m deep.", risk_tier=tier, evidence_pointers=found)
    made = document(told, id=bundle_id(name), timestamp=render_instant(now), origin_agent=f"ai:{agent}")
    return {"bundle": made}


def bundle_id(name: str) -> str:
    return str(uuid5(NAMESPACE_URL, name))


async def note(ask: Ask, name: str, _number: int) -> None:
    receipt = await ask(_change(_OPERATOR, "/entries", name, {"note": {"name": name}}))
    found = await ask(Asked(_OPERATOR, f"/entries/{receipt['sequence_number']}"))
    assert (found["entry_hash"], found["body"]["note"]) == (receipt["entry_hash"], {"name": name})


async def observe(ask: Ask, name: str, number: int) -> None:
    done = await ask(_change(_RELAY, "/observations", name, _observation(name, number)))
    found = await ask(Asked(_OPERATOR, f"/observations/{name}"))
    assert found["observation_hash"] == done["observation_hash"]


async def compile_state(ask: Ask, name: str, number: int) -> None:
    """What was seen is in the state at once, whoever else compiles the key."""
    done = await ask(_change(_RELAY, "/observations", name, _observation(name, number)))
    await ask(_change(_OPERATOR, f"/states/{done['truthkey']}/compile", f"{name}-compile", {}))
    state = await ask(Asked(_OPERATOR, f"/states/{done['truthkey']}"))
    assert done["observation_hash"] in state["state"]["compile_inputs"]["observation_hashes"]


async def judge(ask: Ask, name: str, _number: int) -> None:
    done = await ask(_change(_SENSOR, "/telemetry", name, record(name, so2=20)))
    found = await ask(Asked(_OPERATOR, f"/telemetry/{name}/verdicts"))
    assert [one["entry_hash"] for one in found["verdicts"]] == [one["entry_hash"] for one in done["verdicts"]]


async def gate(ask: Ask, name: str, _number: int) -> None:
    agent = _one_of(CALM, name)
    done = await ask(_change(agent, "/claims", name, _bundle(agent, name, "READ_ONLY")))
    found = await ask(Asked(agent, f"/claims/{done['bundle_hash']}"))
    assert done["decision"] == found["gated"]["decision"] == "PUBLISH", done["outcome"]


async def approve(ask: Ask, name: str, _number: int) -> None:
    """A dangerous bundle waits for a person, who answers; then it is gated again."""
    agent = _one_of(BOLD, name)
    held = await ask(_change(agent, "/claims", name, _bundle(agent, name, "DELETE")))
    assert held["decision"] == "ESCALATE", held["outcome"]
    [waiting] = held["tickets"]
    path = f"/tickets/{waiting['ticket_id']}"
    shown = (await ask(Asked(_APPROVER, path)))["ticket"]
    choice = {"choice": "approve", "seen": shown["shown_hash"], "reason": f"looked at {name}"}
    await ask(_change(_APPROVER, f"{path}/answers", f"{name}-answer", choice))
    resumed = await ask(_change(agent, f"/claims/{held['bundle_hash']}/resume", f"{name}-resume", {}))
    assert resumed["decision"] == "PUBLISH", resumed["outcome"]


async def tell(ask: Ask, name: str, number: int) -> None:
    """What came of a rule: every fifth a failure, so that root causes are opened meanwhile."""
    outcome = "success" if number % 5 else "failure"
    await ask(_change(_SENSOR, "/outcomes", name, signal(outcome, query_context=name)))
    await ask(Asked(_OPERATOR, f"/rules/{RULE}"))


async def observe_many(ask: Ask, name: str, number: int) -> None:
    records = [_observation(f"{name}-{line}", number) for line in range(LINES)]
    told = await ask(_lines(_RELAY, "/observations:bulk", name, records))
    assert [one["status"] for one in told] == ["recorded"] * LINES, told


async def tell_many(ask: Ask, name: str, _number: int) -> None:
    records = [signal("success", query_context=f"{name}-{line}") for line in range(LINES)]
    told = await ask(_lines(_SENSOR, "/outcomes:bulk", name, records))
    assert [one["status"] for one in told] == ["recorded"] * LINES, told


async def look(ask: Ask, _name: str, _number: int) -> None:
    """Pages of the newest, which move while they are read."""
    for path in ("/verdicts", "/outcomes", "/claims", "/entries?kind=note", "/tickets", "/states"):
        page = await ask(Asked(_OPERATOR, f"{path}{'&' if '?' in path else '?'}limit=5"))
        assert len(page["items"]) <= 5


WORK: tuple[Callable[[Ask, str, int], Awaitable[None]], ...] = (
    note,
    observe,
    tell,
    gate,
    note,
    judge,
    observe_many,
    tell,
    approve,
    compile_state,
    tell_many,
    look,
)
