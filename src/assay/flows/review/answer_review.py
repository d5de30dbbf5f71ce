"""A person answers a ticket: authenticated, bound to what was shown, signed, recorded, and settled when it decides.

caller -> person; ticket + reply -> draft -> signature -> stored answer -> entry -> settlement -> follow-up
Where answers of a kind can be undone for a while, it is held first: the rest follows when it takes effect.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from assay.facts.review import answer_entry
from assay.flows.errors.identity import IdentityFlowError, NotSignedInError
from assay.flows.identity.authenticate import confirm, require_session
from assay.flows.identity.standing import require_independent
from assay.flows.known import get_ticket
from assay.flows.rehearse import rehearse
from assay.flows.review.check_answer import desk_key_ring, verified_answers
from assay.flows.review.held_answers import end_lease, hold_answer_in
from assay.flows.review.settle_now import counting_answers, leases_in_force, settle_now
from assay.flows.review.settle_review import NO_FOLLOW_UPS, FollowUps, require_unsettled, settle_review_in
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import Principal
from assay.kernel.ids import KeyId, TicketId
from assay.kernel.instant import Instant, parse_instant, render_instant
from assay.kernel.key import KeyRing, key_id_of
from assay.kernel.ledger import Receipt
from assay.ports.database import Unit
from assay.ports.signer import Signer
from assay.review.answer import Answer, SignedWith, UnsignedAnswer, answer_message, seal_answer
from assay.review.draft import Reply, draft_answer
from assay.review.errors import ReviewError
from assay.review.hold import takes_effect_at
from assay.review.lease import require_unleased
from assay.review.settle import Settlement
from assay.review.sight import hide_others, is_blind
from assay.review.ticket import Ticket

# A signature made on the reviewer's own machine carries the time that machine was told; it may not be older than this.
SIGNED_ELSEWHERE_WITHIN = timedelta(minutes=5)
Hex = Annotated[str, Meta(pattern="^([0-9a-f]{2})+$", max_length=256)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedElsewhere:
    """A signature over `prepare_answer`'s message by the reviewer's registered key, and the time it was prepared at."""

    signature: bytes
    answered_at: Instant


class Answered(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The stored answer, its ledger entry, and where the ticket stands now.

    With `takes_effect_at` the answer is held until then, can be undone, and is not counted in the settlement.
    """

    answer: Answer
    receipt: Receipt
    settlement: Settlement
    takes_effect_at: Instant | None = None


def answer_review(
    tools: Tools,
    caller: Caller,
    ticket_id: TicketId,
    reply: Reply,
    *,
    signing: Signer | SignedElsewhere | None = None,
    follow_ups: FollowUps = NO_FOLLOW_UPS,
    least_grace: timedelta = timedelta(0),
    only_rehearsed: bool = False,
    only_if: Callable[[Unit, Ticket], None] = lambda _unit, _ticket: None,
) -> Answered:
    """Record the answer of a person in their own session, or refuse it with the first reason.

    `signing` is the person's registered key, or a signature made with it; for a person without one the node's review
    key signs, and the answer says so. The answer is held as long as its kind demands, and at least `least_grace`. With
    `only_rehearsed` nothing is recorded: the result says what would be. `only_if` raises where the caller's own
    condition does not hold; it is checked in the transaction that records the answer.
    """
    at = caller.at
    # Signed before the commit, since a token or a service may take its time; the commit then checks everything again.
    ticket, unsigned = tools.database.read(lambda unit: _draft(unit, tools, caller, ticket_id, reply, signing, only_if))
    answer = seal_answer(unsigned, _sign(tools, unsigned, signing))

    def look_again(unit: Unit) -> Principal:
        # A session that ended while we signed is refused; the time of the request would not show it.
        person = confirm(unit, caller.as_of(max(at, tools.clock.now()))).principal
        _, again = _draft(unit, tools, caller, ticket_id, reply, signing, only_if)
        if again != unsigned:
            raise ReviewError.reviewer_key(f"the key that signs for `{again.by}` changed meanwhile, answer again")
        return person

    def record(unit: Unit) -> Answered:
        look_again(unit)
        return record_answer(unit, answer, desk_key_ring(unit, tools.founder), follow_ups, at)

    def try_out(unit: Unit) -> Answered:
        person = look_again(unit)
        before = _standing(unit, ticket, person, at)
        done = record_answer(unit, answer, desk_key_ring(unit, tools.founder), follow_ups, at)
        # INVARIANT: until an answer counts, it tells nothing about the others' that blind review keeps back.
        return done if before is None else replace(done, settlement=before)

    effect_at = takes_effect_at(ticket, at, max(least_grace, tools.desk.grace.get(ticket.kind, least_grace)))
    if effect_at is None:
        return rehearse(tools.database, try_out) if only_rehearsed else tools.database.write(record)
    # What the rooms would refuse is refused now, while the person is there, and not when it takes effect.
    rehearsed = rehearse(tools.database, try_out)
    if only_rehearsed:
        return replace(rehearsed, takes_effect_at=effect_at)

    def hold(unit: Unit) -> Answered:
        person = look_again(unit)
        return _hold(unit, ticket, answer, person, effect_at, at)

    return tools.database.write(hold)


def draft_unsigned(tools: Tools, caller: Caller, ticket_id: TicketId, reply: Reply) -> UnsignedAnswer:
    """Return what a person with a key of their own has to sign (`answer_message` of it); record nothing."""
    elsewhere = SignedElsewhere(signature=b"", answered_at=caller.at)
    _, unsigned = tools.database.read(lambda unit: _draft(unit, tools, caller, ticket_id, reply, elsewhere))
    return unsigned


def require_reviewing(caller: Caller) -> None:
    """Raise unless a person acts in their own session; the operator of the folder is no person."""
    if caller.is_local:
        raise NotSignedInError("expected the session of a person (ASSAY_CREDENTIAL or --credential), got none")
    person = caller.principal
    if not person.is_person():
        raise ReviewError.machine(f"expected a person, got {person.kind} `{person.id}`")
    require_session(caller)


def _draft(
    unit: Unit,
    tools: Tools,
    caller: Caller,
    ticket_id: TicketId,
    reply: Reply,
    signing: Signer | SignedElsewhere | None,
    only_if: Callable[[Unit, Ticket], None] = lambda _unit, _ticket: None,
) -> tuple[Ticket, UnsignedAnswer]:
    """Make every check on one state of the database; the same arguments on the same state give the same draft."""
    person, at = confirm(unit, caller).principal, caller.at
    ticket = get_ticket(unit, caller.tenant_id, ticket_id)
    require_reviewing(caller)
    only_if(unit, ticket)
    require_unsettled(unit, ticket)
    signed_with, key_id = key_for(tools, person, signing)
    draft = draft_answer(
        ticket,
        person,
        reply,
        at=at,
        earlier=counting_answers(unit, ticket, verified_answers(unit, ticket, desk_key_ring(unit, tools.founder)), at),
        signed_with=signed_with,
        signing_key_id=key_id,
    )
    require_independent(unit, ticket, person, at)
    _require_free(unit, ticket, person, at)
    return ticket, _as_dated(draft, ticket, signing)


def _require_free(unit: Unit, ticket: Ticket, person: Principal, at: Instant) -> None:
    """Nobody else works on it, and no answer of this person waits to take effect."""
    require_unleased(ticket, person.id, leases_in_force(unit, ticket, at), at)
    if unit.desk.find_held(ticket.tenant_id, ticket.id, person.id) is not None:
        raise ReviewError.already_answered(f"`{person.id}` has answered `{ticket.id}`, and can still undo it")


def key_for(tools: Tools, person: Principal, signing: Signer | SignedElsewhere | None) -> tuple[SignedWith, KeyId]:
    """Whose key is to sign for this person, as far as the caller can say; the room refuses the wrong one."""
    if signing is None:
        return SignedWith.NODE_REVIEW_KEY, tools.review_signer.key_id
    if not isinstance(signing, SignedElsewhere):
        return SignedWith.REVIEWER_KEY, signing.key_id
    if person.public_key is None:
        raise ReviewError.reviewer_key(f"`{person.id}` has registered no key, expected the node to sign")
    return SignedWith.REVIEWER_KEY, key_id_of(bytes.fromhex(person.public_key))


def _as_dated(draft: UnsignedAnswer, ticket: Ticket, signing: Signer | SignedElsewhere | None) -> UnsignedAnswer:
    """The ticket was judged at our own time; a signature from elsewhere may carry a slightly earlier one, no later."""
    if not isinstance(signing, SignedElsewhere):
        return draft
    verify_signing_time(signing.answered_at, ticket, draft.answered_at)
    return replace(draft, answered_at=signing.answered_at)


def verify_signing_time(signed_at: Instant, ticket: Ticket, now: Instant) -> None:
    first = max(ticket.opened_at, Instant(now - SIGNED_ELSEWHERE_WITHIN))
    if not first <= signed_at <= now:
        raise IdentityFlowError.review_answer_time(
            f"expected a time from {render_instant(first)} to {render_instant(now)}, got {render_instant(signed_at)}"
        )


def read_signature(signature: str | None, at: str | None) -> SignedElsewhere | None:
    """A signature with its time; without both the node signs, which it refuses for a person with a registered key."""
    if signature is None or at is None:
        return None
    return SignedElsewhere(signature=bytes.fromhex(signature), answered_at=parse_instant(at))


def _sign(tools: Tools, unsigned: UnsignedAnswer, signing: Signer | SignedElsewhere | None) -> bytes:
    if isinstance(signing, SignedElsewhere):
        return signing.signature
    return (signing or tools.review_signer).sign(answer_message(unsigned))


def _hold(unit: Unit, ticket: Ticket, answer: Answer, person: Principal, effect_at: Instant, at: Instant) -> Answered:
    """What waits can still be undone, so whoever gave it is told no more than before."""
    receipt = hold_answer_in(unit, ticket, answer, effect_at, at=at)
    answers = unit.review.answers(ticket.tenant_id, ticket.id)
    standing = _standing(unit, ticket, person, at) or settle_now(unit, ticket, answers, at=at)
    return Answered(answer=answer, receipt=receipt, settlement=standing, takes_effect_at=effect_at)


def _standing(unit: Unit, ticket: Ticket, person: Principal, at: Instant) -> Settlement | None:
    """Where the ticket stands for somebody from whom the others' answers are kept back; None for anybody else."""
    answers = unit.review.answers(ticket.tenant_id, ticket.id)
    standing = settle_now(unit, ticket, answers, at=at)
    is_kept_back = is_blind(ticket, person, [one.by for one in answers], settled=not standing.is_open)
    return hide_others(standing) if is_kept_back else None


def record_answer(
    unit: Unit, answer: Answer, ring: KeyRing, follow_ups: FollowUps, at: Instant, *, more_to_come: bool = False
) -> Answered:
    """The answer counts from here on. The caller has seen in this unit that it may, and whether others wait to."""
    ticket = get_ticket(unit, answer.tenant_id, answer.ticket_id)
    # Stored first and verified with the others by settling: a signature that does not hold undoes all of this.
    unit.review.add_answer(answer)
    end_lease(unit, ticket, answer)
    unit.desk.drop_draft(ticket.tenant_id, ticket.id, answer.by)
    receipt = unit.record(answer_entry(ticket, answer, at=at))
    if ticket.kind in follow_ups.on_answer:
        follow_ups.on_answer[ticket.kind](unit, ticket, answer, at)
    settlement = settle_review_in(unit, ticket, ring, follow_ups, at=at, more_to_come=more_to_come)
    return Answered(answer=answer, receipt=receipt, settlement=settlement)
