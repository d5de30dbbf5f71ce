"""Claims, permits and services of the sample."""

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx

from assay.flows.registry.service_desk import NodeDesk
from assay.kernel.canonical import canonical_json
from assay.surfaces.attach import Agent, attach
from assay.surfaces.forja.reply import App, Receive, Scope, Send
from assay.surfaces.sample.stage import TENANT, Stage

_PAPER = b"Tide table 2026, gauge Maassluis: mean high water 1.12 m above NAP.\n"
_DELETIONS = (
    "Delete 40 berth records of 2019.",
    "Delete the draft schedule of week 12.",
    "Delete 3 duplicate manifests.",
)
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
_FAILURES = 60


def act_and_permit(stage: Stage) -> str:
    """Facts with and without support, deletions that wait for people, permits in every state."""
    kept = stage.do("ai:planner", "evidence.attach", content=_PAPER)
    quoted = {"source": "https://tides.port.example/2026", "source_confidence": 0.95, "retrieved_at": stage.at()}
    whole = {**quoted, "evidence_hash": kept.evidence_hash}
    absent = {**quoted, "evidence_hash": "ab" * 32}
    for number, pointer in enumerate((whole, absent)):
        _gate(stage, "ai:planner", "FACT", "READ_ONLY", f"Mean high water is 1.12 m above NAP ({number}).", [pointer])
    for statement in ("Move the pilot briefing to 06:30.", "Rename the archive folder of 2018."):
        _gate(stage, "ai:clerk", "DECISION", "MODIFY", statement, [])
    for number, statement in enumerate(_DELETIONS):
        _delete(stage, number, statement)
        stage.clock.advance(timedelta(hours=1))
    for number in range(4):
        _gate(stage, "ai:cleaner", "DECISION", "DELETE", f"Delete the berth plan of week {20 + number}.", [])
    _mandate(stage, "purge_drafts", "Clear out drafts that nobody signed.", uses=3)
    spent = _mandate(stage, "purge_logs", "Clear out logs of the old gauge.", uses=1)
    stage.do("user:otto", "mandate.revoke", mandate_id=spent, reason="the gauge is back in use")
    return f"{len(_DELETIONS)} approved deletions with permits, 4 that wait, 2 mandates"


def _gate(
    stage: Stage,
    agent: str,
    claim_type: str,
    tier: str,
    statement: str,
    pointers: list[dict[str, Any]],
    **more: Any,  # noqa: ANN401 - fields of the operation
) -> Any:  # noqa: ANN401 - an operation's result
    claim = {
        "id": "claim-1",
        "statement": statement,
        "claim_type": claim_type,
        "evidence_pointers": pointers,
        "uncertainty": {"method": "semantic_entropy", "value": 0.15, "gate_recommendation": "EXECUTE"},
        "risk_tier": tier,
        "if_wrong_cost": "somebody acts on it",
    }
    bundle = {
        "id": f"port-{stage.tools.entropy.token(6).hex()}",
        "timestamp": stage.at(),
        "origin_agent": agent,
        "claims": [claim],
    }
    return stage.do(agent, "claims.gate", bundle=bundle, **more)


def _delete(stage: Stage, number: int, statement: str) -> None:
    """A deletion that is approved and permitted; its effect is done, unknown, or the permit is revoked."""
    call = {"tool": "delete_records", "audience": "service:plant", "arguments": {"batch": number}}
    text = canonical_json(call)
    gated = _gate(stage, "ai:cleaner", "DECISION", "DELETE", statement, [], tool_arguments=(text,))
    _answer(stage, gated.tickets[0].ticket_id, "approve", "kept elsewhere")
    permit_id = stage.do("ai:cleaner", "permit.issue", bundle_hash=gated.bundle_hash).permit.permit_id
    if number == len(_DELETIONS) - 1:
        stage.do("ai:cleaner", "permit.revoke", permit_id=permit_id, reason="the manifests are needed after all")
        return
    stage.do("ai:cleaner", "permit.claim", permit_id=permit_id, **call)
    stage.do("ai:cleaner", "permit.report", permit_id=permit_id, effect=("done", "unknown")[number])


def _answer(stage: Stage, ticket_id: str, choice: str, reason: str) -> None:
    shown = stage.do("user:otto", "ticket.show", ticket_id=ticket_id).ticket
    stage.do("user:otto", "ticket.claim", ticket_id=ticket_id)
    stage.do("user:otto", "ticket.answer", ticket_id=ticket_id, choice=choice, seen=shown.shown_hash, reason=reason)


def _mandate(stage: Stage, tool: str, purpose: str, *, uses: int) -> str:
    """A standing approval of small deletions, and calls that it covers."""
    asked = stage.do(
        "ai:cleaner",
        "mandate.propose",
        agent="ai:cleaner",
        tool=tool,
        audience="service:plant",
        tier="DELETE",
        purpose=purpose,
        limits=[{"argument": "files", "minimum": "1", "maximum": "20"}],
        budget={"argument": "files", "total": "100"},
        count=10,
        expires_at=stage.at(days=-14),
    )
    _answer(stage, asked.ticket_id, "sign", "few files, kept in the archive")
    for number in range(uses):
        call = {"tool": tool, "audience": "service:plant", "arguments": {"files": 5 + number}}
        statement = f"Delete {5 + number} files with {tool}."
        _gate(stage, "ai:cleaner", "DECISION", "DELETE", statement, [], tool_arguments=(canonical_json(call),))
    return str(asked.mandate_id)


def run_services(stage: Stage) -> str:
    """A service that an agent books through; its kill switch fires and nobody has restored it."""
    codex = stage.folder / "codex.json"
    codex.write_text(json.dumps(_CODEX))
    table: dict[str, Callable[[str], None]] = {}
    agent = attach(_service(table), codex, node=NodeDesk(tools=stage.tools, tenant_id=TENANT))
    booked: list[str] = []

    @agent.action("BOOKING_CREATE", tier=2)
    def create(number: str) -> None:
        booked.append(number)

    table["create"] = create
    try:
        for number in range(3):
            _call(agent, "POST", f"/bookings/b-{number}", headers={"x-api-key": stage.keys["ai:planner"]})
        _call(agent, "POST", "/bookings/b-9", headers={"x-api-key": stage.keys["ai:planner"], "x-forja-tier": "3"})
        for _ in range(_FAILURES):
            _call(agent, "GET", "/broken")
        agent.service.tick()
    finally:
        agent.stop()
        agent.service.memory.close()
    return f"a service with {len(booked)} bookings whose kill switch fired"


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


def _call(agent: Agent, method: str, path: str, **options: Any) -> httpx.Response:  # noqa: ANN401 - httpx's own
    """In this process, by the interface that a server would use; no address is listened on."""

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app=agent, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://bookings") as client:
            return await client.request(method, path, **options)

    return asyncio.run(ask())
