"""Where a ticket stands now; when it is decided, that is recorded once and its kind's follow-up runs with it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from assay.flows.check_answer import verified_answers
from assay.flows.review_entry import settlement_entry
from assay.kernel.instant import Instant
from assay.kernel.key import KeyRing
from assay.ports.database import Unit
from assay.review.answer import Answer
from assay.review.kind import TicketKind
from assay.review.settle import Settlement, settle
from assay.review.ticket import Ticket

__all__ = ["NO_FOLLOW_UPS", "FollowUp", "FollowUps", "settle_review_in"]

# What a room does when one of its tickets is decided. It runs in the same commit: if it raises, nothing was decided.
# It gets the unit, the ticket, the settlement, all answers (the rejected bodies too), and the time; it must not wait.
FollowUp = Callable[[Unit, Ticket, Settlement, tuple[Answer, ...], Instant], None]
FollowUps = Mapping[TicketKind, FollowUp]
NO_FOLLOW_UPS: FollowUps = MappingProxyType({})


def settle_review_in(unit: Unit, ticket: Ticket, ring: KeyRing, follow_ups: FollowUps, *, at: Instant) -> Settlement:
    """Every answer's signature is verified first. The caller has seen in this unit that no settlement is recorded."""
    answers = verified_answers(unit, ticket, ring)
    # Two callers may have read the clock in one order and commit in the other; no answer in store lies ahead of us.
    now = max([at, *(answer.answered_at for answer in answers)])
    settlement = settle(ticket, answers, at=now)
    if settlement.is_open:
        return settlement
    unit.review.add_settlement(ticket.tenant_id, settlement)
    unit.ledger.append(settlement_entry(ticket, settlement, at=now))
    if ticket.kind in follow_ups:
        follow_ups[ticket.kind](unit, ticket, settlement, answers, now)
    return settlement
