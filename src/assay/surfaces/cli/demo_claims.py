"""The demonstration of claims: a short hash deferred, a deletion that waits for people, and an approval that binds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.claims.bundle import Decision
from assay.flows.claims.decide_claims import GatedClaims
from assay.flows.claims.evidence import AttachEvidence, attach_evidence
from assay.flows.claims.gate_claims import GateBundle, ResumeBundle, gate, resume
from assay.flows.identity.authenticate import authenticate
from assay.flows.identity.sessions import check_password
from assay.flows.known import known_ticket
from assay.flows.review.answer_desk import answer_desk
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole, PrincipalChange, PrincipalKind
from assay.identity.risk import RiskTier
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import render_instant
from assay.review.draft import Reply
from assay.review.ticket import Ticket
from assay.surfaces.cli.demo_keys import add_principal, issue_api_key
from assay.surfaces.cli.demo_step import Step
from assay.wiring import init_node, open_node

_TENANT = TenantId("default")
_BY = PrincipalId("operator:demo")
_AGENT, _PERSON = PrincipalId("ai:planner"), PrincipalId("user:otto")
# Another agent for what cannot be undone: a reader that suddenly deletes would be looked at first.
_CLEANER = PrincipalId("ai:cleaner")
_PASSWORD = "only for the demonstration"  # noqa: S105 - it opens a node that is thrown away
_SHORT = "bd24c2aaef2ef37ae95f0f9e5f7d9e7c"
_PAPER = b"Semantic entropy: AUROC 0.79 over 30 tasks.\n"


def run_claims(folder: Path) -> Iterator[Step]:
    """Run in a new folder; the steps come as they are done."""
    init_node(folder, origin="demo.example/claims")
    with open_node(folder) as (tools, _):
        reader, cleaner = _gather(tools)
        yield from _show_evidence(tools, reader)
        yield from _show_approval(tools, cleaner)


def _gather(tools: Tools) -> tuple[str, str]:
    at = tools.clock.now()
    people = (
        (_AGENT, PrincipalKind.AGENT, PrincipalChange(risk_ceiling=RiskTier.READ_ONLY), None),
        (_CLEANER, PrincipalKind.AGENT, PrincipalChange(risk_ceiling=RiskTier.DELETE), None),
        (_PERSON, PrincipalKind.PERSON, PrincipalChange(roles=(BuiltInRole.OPS_TEAM,)), _PASSWORD),
    )
    for name, kind, granted, password in people:
        shown = name.partition(":")[2]
        add_principal(tools, _TENANT, name, kind=kind, name=shown, granted=granted, password=password, by=_BY, at=at)
    reader, _ = issue_api_key(tools, _TENANT, _AGENT, by=_BY, at=at)
    cleaner, _ = issue_api_key(tools, _TENANT, _CLEANER, by=_BY, at=at)
    return reader, cleaner


def _show_evidence(tools: Tools, agent: str) -> Iterator[Step]:
    first = _gated(tools, _fact(tools, _SHORT), agent)
    is_named = first.decision is Decision.DEFER and _SHORT in first.outcome.reason
    yield Step("A claim", f"{first.decision}: its evidence is named by 32 digits of a hash", is_right=is_named)
    kept = attach_evidence(tools, _caller(tools, agent), AttachEvidence(content=_PAPER)).value
    whole = _fact(tools, kept.evidence_hash)
    asked = ResumeBundle(bundle_hash=first.bundle_hash, bundle=whole)
    second = resume(tools, _caller(tools, agent), asked).value
    words = f"{second.decision} with all 64, five gates on record, entry {second.sequence_number}"
    yield Step("Evidence", words, is_right=second.decision is Decision.PUBLISH)


def _show_approval(tools: Tools, agent: str) -> Iterator[Step]:
    made = _deletion(tools, "Delete 40 records of 2019.")
    waiting = _gated(tools, made, agent)
    is_asked = waiting.decision is Decision.ESCALATE and waiting.outcome.required_approvals == ("ops_team",)
    yield Step("Escalate", f"{waiting.decision}: a deletion waits for the ops team", is_right=is_asked)
    ticket = known_ticket(tools, _TENANT, waiting.tickets[0].ticket_id)
    refusal = _try_machine(tools, ticket, agent)
    yield Step("A machine", f"its approval is refused: {refusal}", is_right=refusal == "review.machine")
    published = _approve(tools, ticket)
    is_published = published is not None and published.decision is Decision.PUBLISH
    yield Step("Approve", f"{_PERSON} saw it and approved: PUBLISH, once", is_right=is_published)
    again = _gated(tools, made, agent)
    yield Step("Once", "the same bundle again is told that it is not new", is_right=not again.is_new)
    other = _gated(tools, _deletion(tools, "Delete 41 records of 2019."), agent)
    words = f"one word changed: {other.decision}, the approval binds the other hash"
    yield Step("A changed bundle", words, is_right=other.decision is Decision.ESCALATE)


def _gated(tools: Tools, made: dict[str, Any], agent: str) -> GatedClaims:
    return gate(tools, _caller(tools, agent), GateBundle(bundle=made)).value


def _caller(tools: Tools, credential: str) -> Caller:
    return authenticate(tools, credential, at=tools.clock.now())


def _try_machine(tools: Tools, ticket: Ticket, agent: str) -> str:
    try:
        _answered(tools, ticket, agent)
    except Error as error:
        return error.code
    return "it was taken"


def _approve(tools: Tools, ticket: Ticket) -> GatedClaims | None:
    token, _ = check_password(tools, _TENANT, _PERSON, _PASSWORD, at=tools.clock.now())
    return _answered(tools, ticket, token)


def _answered(tools: Tools, ticket: Ticket, credential: str) -> GatedClaims | None:
    reply = Reply(choice="approve", seen=ticket.shown_hash)
    done = answer_desk(tools, _caller(tools, credential), ticket.id, reply)
    return None if done.regated is None else done.regated.gated


def _fact(tools: Tools, evidence_hash: str) -> dict[str, Any]:
    at = render_instant(tools.clock.now())
    pointer = {
        "source": "https://nature.com/articles/s41586-024-07421-0",
        "source_confidence": 0.95,
        "evidence_hash": evidence_hash,
        "retrieved_at": at,
    }
    return _bundle(tools, "claim-001", "Semantic entropy AUROC >= 0.78", "FACT", "READ_ONLY", [pointer])


def _deletion(tools: Tools, statement: str) -> dict[str, Any]:
    return _bundle(tools, "decision-001", statement, "DECISION", "DELETE", [])


def _bundle(
    tools: Tools, name: str, statement: str, claim_type: str, tier: str, pointers: list[dict[str, object]]
) -> dict[str, Any]:
    return {
        "id": f"demo-{name}-{tools.entropy.token(4).hex()}",
        "timestamp": render_instant(tools.clock.now()),
        "origin_agent": _CLEANER if tier == RiskTier.DELETE else _AGENT,
        "claims": [
            {
                "id": name,
                "statement": statement,
                "claim_type": claim_type,
                "evidence_pointers": pointers,
                "uncertainty": {"method": "semantic_entropy", "value": 0.15, "gate_recommendation": "EXECUTE"},
                "risk_tier": tier,
                "if_wrong_cost": "somebody acts on it",
            }
        ],
    }
