"""The demonstration of the registry: an agent that may book, one that asks for more, and a switch that people reset."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx

from assay.flows.identity.sessions import check_password
from assay.flows.registry.service_desk import NodeDesk
from assay.flows.tools import Tools
from assay.identity.principal import BuiltInRole, PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId, TenantId
from assay.registry.permission import mask_of
from assay.surfaces.attach import Agent, attach
from assay.surfaces.cli.demo_keys import add_principal, issue_api_key
from assay.surfaces.cli.demo_step import Step
from assay.surfaces.forja.reply import App, Receive, Scope, Send
from assay.wiring import init_node, open_node

_TENANT, _BY = TenantId("default"), PrincipalId("operator:demo")
_AGENT, _PERSON = PrincipalId("ai:planner"), PrincipalId("user:otto")
_PASSWORD = "only for the demonstration"  # noqa: S105 - it opens a node that is thrown away
_FAILURES = 60
_FORJA = "/api/v2/forja"
_CODEX = {
    "service": "bookings",
    "port": 4600,
    "domain": "maritime",
    "version": "1.0.0",
    "can_answer": ["booking.status"],
    "can_do": ["BOOKING_CREATE"],
    "actions": {
        "BOOKING_CREATE": {
            "tier": 2,
            "needs": ["WRITE", "BOOK"],
            "description": "book a container on a voyage",
            "rollback": {"method": "manual", "description": "cancel it by hand"},
        }
    },
}


def run_registry(folder: Path) -> Iterator[Step]:
    """Run in a new folder; the steps come as they are done."""
    init_node(folder, origin="demo.example/registry")
    codex = folder / "codex.json"
    codex.write_text(json.dumps(_CODEX))
    with open_node(folder) as (tools, _):
        key, booked = _gather(tools), list[str]()
        agent = _attach(codex, NodeDesk(tools=tools, tenant_id=_TENANT), booked)
        try:
            yield from _rule(agent, key, booked)
            yield from _fire(agent, key, booked)
            yield from _restore(tools, agent, key, booked)
        finally:
            agent.stop()
            agent.service.memory.close()


def _gather(tools: Tools) -> str:
    """An agent that may book at tier 2, and a person who looks after services; the agent's key."""
    may_book = PrincipalChange(trust_mask=mask_of(["READ", "WRITE", "BOOK"]), action_tier=2)
    everyone = (
        (_AGENT, PrincipalKind.AGENT, may_book, None),
        (_PERSON, PrincipalKind.PERSON, PrincipalChange(roles=(BuiltInRole.OPERATOR,)), _PASSWORD),
    )
    at = tools.clock.now()
    for name, kind, granted, password in everyone:
        shown = name.partition(":")[2]
        add_principal(tools, _TENANT, name, kind=kind, name=shown, granted=granted, password=password, by=_BY, at=at)
    return issue_api_key(tools, _TENANT, _AGENT, by=_BY, at=at)[0]


def _attach(codex: Path, desk: NodeDesk, booked: list[str]) -> Agent:
    """A service as anybody might have written it, and the one call that makes it ask first."""
    table: dict[str, Callable[[str], None]] = {}
    agent = attach(_service(table), codex, node=desk)

    @agent.action("BOOKING_CREATE", tier=2)
    def create(number: str) -> None:
        booked.append(number)

    table["create"] = create
    return agent


def _service(table: dict[str, Callable[[str], None]]) -> App:
    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path == "/broken":
            raise ConnectionError
        if path.startswith("/bookings/"):
            await asyncio.to_thread(table["create"], path.removeprefix("/bookings/"))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    return app


def _rule(agent: Agent, key: str, booked: list[str]) -> Iterator[Step]:
    status, _ = _book(agent, "b-1", key)
    words = f"{_AGENT} has the bits WRITE and BOOK and tier 2: it books, logged before it ran"
    yield Step("An action", words, status == httpx.codes.OK and booked == ["b-1"])
    status, code = _book(agent, "b-2", key, **{"x-forja-tier": "3"})
    words = f"it asks for tier 3, which nobody gave it: refused, {code}, and counted"
    yield Step("Self-escalation", words, (code, booked) == ("FRJ-011", ["b-1"]))


def _fire(agent: Agent, key: str, booked: list[str]) -> Iterator[Step]:
    """More than 2 % of at least 50 requests fail; the switch falls without anybody's doing."""
    for _ in range(_FAILURES):
        _call(agent, "GET", "/broken")
    agent.service.tick()
    sense = _call(agent, "GET", f"{_FORJA}/sense").json()["security"]
    words = f"{_FAILURES} requests fail: the service falls to tier {sense['current_trust_tier']}, reading alone"
    yield Step("Kill switch", words, sense["kill_switch_active"] is True)
    _, code = _book(agent, "b-3", key)
    yield Step("Booking again", f"refused, {code}", code == "registry.tier_closed" and booked == ["b-1"])


def _restore(tools: Tools, agent: Agent, key: str, booked: list[str]) -> Iterator[Step]:
    code = _ask_restore(agent, key).json().get("code")
    yield Step("A machine restores", f"refused, {code}", code == "identity.not_signed_in")
    token, _ = check_password(tools, _TENANT, _PERSON, _PASSWORD, at=tools.clock.now())
    restored = _ask_restore(agent, token).status_code == httpx.codes.OK
    status, _ = _book(agent, "b-4", key)
    words = f"{_PERSON} logs in and restores it: firing and answer are on record, and bookings go on"
    yield Step("A person restores", words, restored and status == httpx.codes.OK and booked == ["b-1", "b-4"])


def _ask_restore(agent: Agent, token: str) -> httpx.Response:
    return _call(agent, "POST", f"{_FORJA}/trust/restore", json={"human_session_token": token})


def _book(agent: Agent, number: str, key: str, **headers: str) -> tuple[int, str | None]:
    answer = _call(agent, "POST", f"/bookings/{number}", headers={"x-api-key": key, **headers})
    return answer.status_code, answer.json().get("code")


def _call(agent: Agent, method: str, path: str, **options: Any) -> httpx.Response:  # noqa: ANN401 - httpx's own
    """In this process, by the interface that a server would use; no address is listened on."""

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app=agent, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://bookings") as client:
            return await client.request(method, path, **options)

    return asyncio.run(ask())
