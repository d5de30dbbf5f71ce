"""An agent's standing is to be lowered: people are asked, and only their decision does it.

request -> PENALTY ticket -> answers -> settlement `apply` -> PENALTY_APPLIED, bound to the ticket and the answers
"""

from datetime import timedelta
from decimal import Decimal
from typing import Annotated

from msgspec import Meta, Struct, convert

from assay.facts.trust import signal_entry
from assay.flows.errors import NotFoundError
from assay.flows.identity.authenticate import confirm
from assay.flows.request import Option, Request
from assay.flows.review.open_review import draft_ticket, open_review_in
from assay.flows.tools import Tools
from assay.flows.trust.fold_trust import borrow_trust
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole
from assay.kernel.canonical import Profile, canonical_hash, canonical_json
from assay.kernel.instant import Instant, render_instant
from assay.kernel.json_text import parse_json
from assay.ports.database import Unit
from assay.review.answer import Answer
from assay.review.errors import ReviewError
from assay.review.kind import TicketKind
from assay.review.settle import Settlement
from assay.review.ticket import Ticket, TicketDraft
from assay.trust.signal import SignalKind, TrustSignal, parse_signal

DECIDE_WITHIN = timedelta(days=7)
_MAY = (BuiltInRole.OPERATOR, BuiltInRole.REVIEWER)


class PenaltyAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the people who decide are shown, as canonical JSON."""

    agent_id: str
    points: float
    reason: str
    standing: float


class PenaltyRequest(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    agent_id: Annotated[str, Meta(description="The agent."), Option(form="argument", metavar="AGENT")]
    points: Annotated[float, Meta(gt=0, le=1000, description="How many points of standing.")]
    reason: Annotated[str, Meta(description="Why; the people who decide read it."), Option(metavar="TEXT")]


class PenaltyTicket(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ticket on the review desk; nothing has changed yet."""

    ticket_id: str
    agent_id: str
    title: str
    shown: str
    shown_hash: str
    opened_at: Instant
    due_at: Instant | None


def request_penalty(tools: Tools, caller: Caller, request: PenaltyRequest) -> PenaltyTicket:
    """Ask people to lower an agent's standing; neither the caller nor the agent decides."""
    tenant_id, by, agent_id, at = caller.tenant_id, caller.principal.id, request.agent_id, caller.at
    points = Decimal(str(request.points))

    def look(unit: Unit) -> Decimal:
        with borrow_trust(unit, tools, tenant_id) as kept:
            standing = kept.fold.find_standing(agent_id, max(at, kept.fold.clock))
        if standing is None:
            raise NotFoundError(f"tenant `{tenant_id}` knows no agent `{agent_id[:80]}`")
        return standing

    standing = tools.database.read(look)
    asked = PenaltyAsked(agent_id=agent_id, points=float(points), reason=request.reason, standing=float(standing))
    draft = TicketDraft(
        kind=TicketKind.PENALTY,
        title=f"take {points} points of standing from {agent_id}",
        shown=canonical_json(asked, Profile.KAORI),
        eligible_roles=(BuiltInRole.REVIEWER,),
        opened_by=by,
        requested_by=by,
        about=f"penalty:{agent_id}",
        due_at=Instant(at + DECIDE_WITHIN),
    )
    ticket = draft_ticket(tools, tenant_id, draft, at=at)
    # As it would be applied: points that no signal may carry are refused before anyone is asked.
    _signal(ticket, (), asked, at)

    def work(unit: Unit) -> None:
        confirm(unit, caller)
        open_review_in(unit, ticket)

    tools.database.write(work)
    return PenaltyTicket(
        ticket_id=ticket.id,
        agent_id=agent_id,
        title=ticket.title,
        shown=ticket.shown,
        shown_hash=ticket.shown_hash,
        opened_at=ticket.opened_at,
        due_at=ticket.due_at,
    )


def refuse_own_penalty(_unit: Unit, ticket: Ticket, answer: Answer, _at: Instant) -> None:
    """The follow-up of each answer to a penalty ticket: nobody decides on their own."""
    if answer.by == _asked(ticket).agent_id:
        raise ReviewError.own_request(f"`{ticket.id}` is about `{answer.by}`")


def apply_penalty(unit: Unit, ticket: Ticket, settlement: Settlement, answers: tuple[Answer, ...], at: Instant) -> None:
    """The follow-up of a penalty ticket: the signal in the commit that records the decision, or nothing."""
    if settlement.denied or settlement.choice != "apply":
        return
    signal = _signal(ticket, answers, _asked(ticket), at)
    unit.record(signal_entry(ticket.tenant_id, signal, submitted_by=signal.agent_id, ticket_id=ticket.id, at=at))


def _asked(ticket: Ticket) -> PenaltyAsked:
    return convert(parse_json(ticket.shown), PenaltyAsked)


def _signal(ticket: Ticket, answers: tuple[Answer, ...], asked: PenaltyAsked, at: Instant) -> TrustSignal:
    """The signal of a penalty: by who asked for it, through the ticket, with the answers bound by their hashes."""
    return parse_signal(
        {
            "signal_id": f"penalty.{ticket.id}",
            "kind": SignalKind.PENALTY_APPLIED.value,
            "agent_id": ticket.opened_by,
            "occurred_at": render_instant(at),
            "object": {
                "agent_id": asked.agent_id,
                "points": asked.points,
                "ticket_id": ticket.id,
                "answer_hashes": [canonical_hash(answer) for answer in answers] or ["0" * 64],
                "reason": asked.reason,
            },
        }
    )
