"""An answer: one person's signed choice, bound by hash to what that person was shown."""

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import asdict

from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest
from assay.kernel.ids import KeyId, PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.kernel.key import key_id_of
from assay.kernel.signature import SignedKind, signing_message, verify_ed25519
from assay.review.errors import ReviewError
from assay.review.ticket import Ticket


class SignedWith(StrEnum):
    """Whose key vouches for the answer: the person's own, or that of the node which authenticated the person."""

    REVIEWER_KEY = "reviewer_key"
    NODE_REVIEW_KEY = "node_review_key"


class UnsignedAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything the signature covers, the key's own name included; made by `draft_answer`, which refuses.

    `body` is canonical JSON text (`ski-3.0`) that the room of the ticket's kind parses.
    """

    ticket_id: TicketId
    tenant_id: TenantId
    choice: str
    body: str
    seen_hash: Digest
    by: PrincipalId
    answered_at: Instant
    reason: str
    signed_with: SignedWith
    signing_key_id: KeyId


class Answer(UnsignedAnswer, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signed answer; `signature` is 64 bytes of Ed25519 as lower-case hex."""

    signature: str


def answer_message(unsigned: UnsignedAnswer) -> bytes:
    """The bytes to sign; a sealed answer gives the same ones."""
    fields = {name: getattr(unsigned, name) for name in UnsignedAnswer.__struct_fields__}
    return signing_message(SignedKind.ANSWER, canonicalize(fields))


def seal_answer(unsigned: UnsignedAnswer, signature: bytes) -> Answer:
    """Put the signature on; the caller then verifies it, since a signer may be a foreign machine."""
    return Answer(**asdict(unsigned), signature=signature.hex())


def is_bound(answer: UnsignedAnswer, ticket: Ticket) -> bool:
    """The answer is to this ticket, to exactly what it shows, with a choice it offers, by someone who may."""
    return (
        (answer.tenant_id, answer.ticket_id, answer.seen_hash) == (ticket.tenant_id, ticket.id, ticket.shown_hash)
        and answer.choice in ticket.choices
        and answer.by not in (ticket.opened_by, ticket.requested_by)
        and answer.answered_at >= ticket.opened_at
    )


def verify_answer(answer: Answer, ticket: Ticket, public_key: bytes) -> None:
    """Raise unless the answer is bound to this ticket and signed by this key.

    The caller still checks that the key is the one it should be: the reviewer's registered key, or a trusted node's.
    """
    if not is_bound(answer, ticket):
        raise ReviewError.wrong_ticket(f"the answer by `{answer.by}` is not bound to `{ticket.id}` and what it shows")
    if key_id_of(public_key) != answer.signing_key_id:
        raise ReviewError.reviewer_key(f"expected key {answer.signing_key_id}, got {key_id_of(public_key)}")
    verify_ed25519(public_key, answer_message(answer), _raw_signature(answer.signature))


def _raw_signature(text: str) -> bytes:
    if not set(text) <= set("0123456789abcdef") or len(text) % 2:
        raise ReviewError.signature(f"expected lower-case hex digits, got `{text[:80]}`")
    return bytes.fromhex(text)
