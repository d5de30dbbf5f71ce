"""A person answers a ticket: authenticated, bound to what was shown, signed, recorded, and settled when it decides.

credential -> person; ticket + reply -> draft -> signature -> stored answer -> entry -> settlement -> follow-up
"""

from dataclasses import dataclass
from datetime import timedelta

from msgspec import Struct
from msgspec.structs import replace

from assay.flows.authenticate import authenticate_in, require_session
from assay.flows.check_answer import desk_key_ring, verified_answers
from assay.flows.errors import AnswerTimeError
from assay.flows.known import get_ticket
from assay.flows.review_entry import answer_entry
from assay.flows.settle_review import NO_FOLLOW_UPS, FollowUps, settle_review_in
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.kernel.ids import KeyId, TicketId
from assay.kernel.instant import Instant, render_instant
from assay.kernel.key import KeyRing, key_id_of
from assay.kernel.ledger import Receipt
from assay.ports.database import Unit
from assay.ports.signer import Signer
from assay.review.answer import Answer, SignedWith, UnsignedAnswer, answer_message, seal_answer
from assay.review.draft import Reply, draft_answer
from assay.review.errors import ExpiredTicketError, MachineAnswerError, ReviewerKeyError, SettledTicketError
from assay.review.settle import Settlement, SettlementState
from assay.review.ticket import Ticket

__all__ = ["SIGNED_ELSEWHERE_WITHIN", "Answered", "SignedElsewhere", "answer_review", "prepare_answer"]

# A signature made on the reviewer's own machine carries the time that machine was told; it may not be older than this.
SIGNED_ELSEWHERE_WITHIN = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedElsewhere:
    """A signature over `prepare_answer`'s message by the reviewer's registered key, and the time it was prepared at."""

    signature: bytes
    answered_at: Instant


class Answered(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The stored answer, its ledger entry, and where the ticket stands now."""

    answer: Answer
    receipt: Receipt
    settlement: Settlement


def answer_review(
    tools: Tools,
    ticket_id: TicketId,
    reply: Reply,
    *,
    credential: str,
    signing: Signer | SignedElsewhere | None = None,
    follow_ups: FollowUps = NO_FOLLOW_UPS,
    at: Instant,
) -> Answered:
    """Record one person's answer, or refuse with the first reason why not.

    `credential` is the text of that person's live session. `signing` is the person's registered key, or a signature
    made with it; whoever has registered none is vouched for by the node's review key, and the answer says so.
    """
    # Signed before the commit, since a token or a service may take its time; the commit then looks at everything again.
    unsigned = tools.database.read(lambda unit: _draft(unit, tools, ticket_id, reply, credential, signing, at))
    answer = seal_answer(unsigned, _sign(tools, unsigned, signing))

    def work(unit: Unit) -> Answered:
        # Who was logged out or disabled while we signed is refused; the time we began with would not show it.
        authenticate_in(unit, credential, at=max(at, tools.clock.now()))
        again = _draft(unit, tools, ticket_id, reply, credential, signing, at)
        if again != unsigned:
            raise ReviewerKeyError(f"the key that signs for `{again.by}` changed meanwhile, answer again")
        return _record(unit, answer, desk_key_ring(unit, tools.founder), follow_ups, at)

    return tools.database.write(work)


def prepare_answer(tools: Tools, ticket_id: TicketId, reply: Reply, *, credential: str, at: Instant) -> UnsignedAnswer:
    """What a person with a key of their own has to sign (`answer_message` of it); nothing is recorded."""
    elsewhere = SignedElsewhere(signature=b"", answered_at=at)
    return tools.database.read(lambda unit: _draft(unit, tools, ticket_id, reply, credential, elsewhere, at))


def _draft(
    unit: Unit,
    tools: Tools,
    ticket_id: TicketId,
    reply: Reply,
    credential: str,
    signing: Signer | SignedElsewhere | None,
    at: Instant,
) -> UnsignedAnswer:
    """Every refusal, on one state of the database; the same arguments on the same state give the same draft."""
    proved = authenticate_in(unit, credential, at=at)
    person = proved.principal
    ticket = get_ticket(unit, person.tenant_id, ticket_id)
    if not person.is_person():
        raise MachineAnswerError(f"expected a person, got {person.kind} `{person.id}`")
    require_session(proved)
    _require_unsettled(unit, ticket)
    signed_with, key_id = _key_for(tools, person, signing)
    draft = draft_answer(
        ticket,
        person,
        reply,
        at=at,
        earlier=verified_answers(unit, ticket, desk_key_ring(unit, tools.founder)),
        signed_with=signed_with,
        signing_key_id=key_id,
    )
    return _as_dated(draft, ticket, signing)


def _key_for(tools: Tools, person: Principal, signing: Signer | SignedElsewhere | None) -> tuple[SignedWith, KeyId]:
    if signing is None:
        return SignedWith.NODE_REVIEW_KEY, tools.review_signer.key_id
    if not isinstance(signing, SignedElsewhere):
        return SignedWith.REVIEWER_KEY, signing.key_id
    if person.public_key is None:
        raise ReviewerKeyError(f"`{person.id}` has registered no key, expected the node to sign")
    return SignedWith.REVIEWER_KEY, key_id_of(bytes.fromhex(person.public_key))


def _as_dated(draft: UnsignedAnswer, ticket: Ticket, signing: Signer | SignedElsewhere | None) -> UnsignedAnswer:
    """The ticket was judged at our own time; a signature from elsewhere may carry a slightly earlier one, no later."""
    if not isinstance(signing, SignedElsewhere):
        return draft
    now, signed_at = draft.answered_at, signing.answered_at
    if not max(ticket.opened_at, now - SIGNED_ELSEWHERE_WITHIN) <= signed_at <= now:
        raise AnswerTimeError(
            f"expected at most {SIGNED_ELSEWHERE_WITHIN} before {render_instant(now)}, got {render_instant(signed_at)}"
        )
    return replace(draft, answered_at=signed_at)


def _sign(tools: Tools, unsigned: UnsignedAnswer, signing: Signer | SignedElsewhere | None) -> bytes:
    if isinstance(signing, SignedElsewhere):
        return signing.signature
    return (signing or tools.review_signer).sign(answer_message(unsigned))


def _require_unsettled(unit: Unit, ticket: Ticket) -> None:
    """What is recorded decides, also against a clock that went back."""
    settlement = unit.review.find_settlement(ticket.tenant_id, ticket.id)
    if settlement is None:
        return
    if settlement.state is SettlementState.EXPIRED:
        raise ExpiredTicketError(f"`{ticket.id}` was due: {settlement.reason}")
    words = "is withdrawn" if settlement.state is SettlementState.WITHDRAWN else "is settled"
    raise SettledTicketError(f"`{ticket.id}` {words}: {settlement.reason}")


def _record(unit: Unit, answer: Answer, ring: KeyRing, follow_ups: FollowUps, at: Instant) -> Answered:
    ticket = get_ticket(unit, answer.tenant_id, answer.ticket_id)
    # Stored first and verified with the others by settling: a signature that does not hold undoes all of this.
    unit.review.add_answer(answer)
    receipt = unit.ledger.append(answer_entry(ticket, answer, at=at))
    if ticket.kind in follow_ups.on_answer:
        follow_ups.on_answer[ticket.kind](unit, ticket, answer, at)
    settlement = settle_review_in(unit, ticket, ring, follow_ups, at=at)
    return Answered(answer=answer, receipt=receipt, settlement=settlement)
