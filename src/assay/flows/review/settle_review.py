"""Where a ticket stands now; when it is decided, that is recorded once and its kind's follow-up runs with it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from assay.facts.review import settlement_entry
from assay.flows.review.check_answer import verified_answers
from assay.flows.review.settle_now import settle_now
from assay.kernel.instant import Instant
from assay.kernel.key import KeyRing
from assay.ports.database import Unit
from assay.review.answer import Answer
from assay.review.errors import ReviewError
from assay.review.kind import TicketKind
from assay.review.settle import Settlement, SettlementState
from assay.review.ticket import Ticket

# What a room does when one of its tickets is decided. It runs in the same commit: if it raises, nothing was decided.
# It gets the unit, the ticket, the settlement, all answers (the rejected bodies too), and the time; it must not wait.
FollowUp = Callable[[Unit, Ticket, Settlement, tuple[Answer, ...], Instant], None]
# What a room does with each single answer, in the commit that records it; it may refuse a body it cannot read.
AnswerFollowUp = Callable[[Unit, Ticket, Answer, Instant], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUps:
    """By kind of ticket; a kind that is in neither table only has its answers and its settlement recorded."""

    on_settlement: Mapping[TicketKind, FollowUp] = field(default_factory=dict)
    on_answer: Mapping[TicketKind, AnswerFollowUp] = field(default_factory=dict)


NO_FOLLOW_UPS = FollowUps()


def settle_review_in(
    unit: Unit, ticket: Ticket, ring: KeyRing, follow_ups: FollowUps, *, at: Instant, more_to_come: bool = False
) -> Settlement:
    """Every answer's signature is verified first. The caller has seen in this unit that no settlement is recorded.

    Whoever may not answer any more counts towards no quorum. While there is `more_to_come`, answers that were given in
    time and are not counted yet, no time-out is recorded.
    """
    answers = verified_answers(unit, ticket, ring)
    # Two callers may have read the clock in one order and commit in the other; no answer in store lies ahead of us.
    now = max([at, *(answer.answered_at for answer in answers)])
    settlement = settle_now(unit, ticket, answers, at=now)
    if more_to_come and settlement.state is SettlementState.EXPIRED:
        return settle_now(unit, ticket, answers, at=max(answer.answered_at for answer in answers))
    if settlement.is_open:
        return settlement
    record_settlement(unit, ticket, settlement, at=now)
    if ticket.kind in follow_ups.on_settlement:
        follow_ups.on_settlement[ticket.kind](unit, ticket, settlement, answers, now)
    return settlement


def record_settlement(unit: Unit, ticket: Ticket, settlement: Settlement, *, at: Instant) -> None:
    """Store a decision and log it; also for a room that concluded its own ticket."""
    unit.review.add_settlement(ticket.tenant_id, settlement)
    unit.desk.clear_ticket(ticket.tenant_id, ticket.id)
    unit.record(settlement_entry(ticket, settlement, at=at))


def require_unsettled(unit: Unit, ticket: Ticket) -> None:
    """What is recorded decides, also against a clock that went back."""
    settlement = unit.review.find_settlement(ticket.tenant_id, ticket.id)
    if settlement is None:
        return
    if settlement.state is SettlementState.EXPIRED:
        raise ReviewError.expired(f"`{ticket.id}` was due: {settlement.reason}")
    words = "is withdrawn" if settlement.state is SettlementState.WITHDRAWN else "is settled"
    raise ReviewError.settled(f"`{ticket.id}` {words}: {settlement.reason}")
