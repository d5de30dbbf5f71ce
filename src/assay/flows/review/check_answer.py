"""Whether a stored answer is the one its signer gave: the signature, by the key that had to sign it at that time."""

from msgspec import Struct

from assay.flows.ledger.own_keys import own_key_ring_in
from assay.kernel.errors import Error
from assay.kernel.ids import KeyId, PrincipalId, TenantId
from assay.kernel.instant import Instant, render_instant
from assay.kernel.key import KeyPurpose, KeyRing
from assay.ports.database import Unit
from assay.review.act import Act
from assay.review.answer import Answer, SignedWith, verify_answer
from assay.review.errors import ReviewError
from assay.review.ticket import Ticket


class AnswerFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer, whether its signature holds, and if not, why."""

    answer: Answer
    verified: bool
    problem: str | None = None
    code: str | None = None


def desk_key_ring(unit: Unit, founder: KeyId) -> KeyRing:
    """The keys that may sign for the desk: only the node's own, whoever else the operator trusts."""
    return own_key_ring_in(unit, founder)


def check_answer(unit: Unit, ticket: Ticket, answer: Answer, ring: KeyRing) -> AnswerFinding:
    try:
        verify_stored_answer(unit, ticket, answer, ring)
    except Error as error:
        return AnswerFinding(answer=answer, verified=False, problem=str(error), code=error.code)
    return AnswerFinding(answer=answer, verified=True)


def verified_answers(unit: Unit, ticket: Ticket, ring: KeyRing) -> tuple[Answer, ...]:
    """All answers to a ticket, in the order they came. One that does not hold stops everything: leaving it out might
    turn a rejection into an approval, and counting it would let whoever wrote the row decide.
    """
    answers = unit.review.answers(ticket.tenant_id, ticket.id)
    for answer in answers:
        verify_stored_answer(unit, ticket, answer, ring)
    return answers


def verify_stored_answer(unit: Unit, ticket: Ticket, answer: Answer, ring: KeyRing) -> None:
    """Raise unless it holds; `ring` is what the node's own keys amount to."""
    verify_answer(answer, ticket, key_of(unit, answer, ring, answer.answered_at))


def key_of(unit: Unit, signed: Answer | Act, ring: KeyRing, at: Instant) -> bytes:
    """The key is looked up where it was registered, never taken from what it signed."""
    if signed.signed_with is SignedWith.REVIEWER_KEY:
        return _registered_key(unit, signed.tenant_id, signed.by, at)
    record = ring.get(signed.signing_key_id, at, purpose=KeyPurpose.REVIEW)
    if record.raw_public_key is None:
        raise ReviewError.reviewer_key(
            f"expected a key that anyone can verify with, got {record.method} {record.key_id}"
        )
    return record.raw_public_key


def _registered_key(unit: Unit, tenant_id: TenantId, by: PrincipalId, at: Instant) -> bytes:
    history = unit.identity.principal_history(tenant_id, by)
    in_force = [version for version in history if version.recorded_at <= at]
    public_key = in_force[-1].public_key if in_force else None
    if public_key is None:
        raise ReviewError.reviewer_key(f"`{by}` had registered no key at {render_instant(at)}")
    return bytes.fromhex(public_key)
