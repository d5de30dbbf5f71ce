"""A signed answer holds for exactly one ticket, one text, one person and one key."""

from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from assay.kernel.digest import ZERO_DIGEST
from assay.kernel.errors import Error
from assay.kernel.ids import KeyId
from assay.kernel.key import key_id_of
from assay.kernel.signature import InvalidSignatureError
from assay.review.answer import Answer, SignedWith, answer_message, verify_answer
from assay.review.errors import ReviewError
from assay.review.ticket import ticket_id_from
from tests.identity.people import later
from tests.raising import raises
from tests.review.desk import NODE_PUBLIC, draft_by, make_answer, make_ticket, reviewer, sealed

TICKET = make_ticket()
ANSWER = sealed(draft_by(reviewer(), TICKET, reason="fine", at=later(minutes=1)))
STRANGER = Ed25519PrivateKey.from_private_bytes(b"\x09" * 32)

# Every field of an answer, changed to another value that is still well formed.
CHANGES: dict[str, Any] = {
    "ticket_id": ticket_id_from(b"\1" * 16),
    "tenant_id": "other",
    "choice": "reject",
    "body": '{"a":1}',
    "seen_hash": ZERO_DIGEST,
    "by": "user:bela",
    "answered_at": later(minutes=2),
    "reason": "great",
    "signed_with": SignedWith.REVIEWER_KEY,
    "signing_key_id": ZERO_DIGEST,
    "signature": ANSWER.signature[:-2] + ("00" if ANSWER.signature[-2:] != "00" else "01"),
}


def test_the_message_is_domain_separated_and_canonical() -> None:
    """A signature for an answer never passes for anything else, and sealing does not change what was signed."""
    message = answer_message(ANSWER)
    assert message.startswith(b'assay/answer/v1\n{"answered_at":"2026-01-07T12:01:00Z","body":"{}","by":"user:amira",')
    assert b"signature" not in message
    assert message == answer_message(draft_by(reviewer(), TICKET, reason="fine", at=later(minutes=1)))


def test_a_true_answer_verifies_also_after_the_way_through_bytes() -> None:
    """What a store gives back is what was signed."""
    verify_answer(ANSWER, TICKET, NODE_PUBLIC)
    verify_answer(msgspec.json.decode(msgspec.json.encode(ANSWER), type=Answer), TICKET, NODE_PUBLIC)


def test_the_changes_below_cover_every_field() -> None:
    """A new field must be signed too, and shown to be."""
    assert set(CHANGES) == set(Answer.__struct_fields__)


@pytest.mark.parametrize("field", sorted(CHANGES))
def test_no_field_of_an_answer_can_be_changed(field: str) -> None:
    """Each change is refused with a code."""
    with pytest.raises(Error) as caught:
        verify_answer(replace(ANSWER, **{field: CHANGES[field]}), TICKET, NODE_PUBLIC)
    assert caught.value.code in {"review.wrong_ticket", "review.reviewer_key", "signature.invalid"}


def test_an_answer_does_not_move_to_another_ticket() -> None:
    """Not to one that shows something else, nor to one with another id."""
    for ticket in (make_ticket(shown="other"), replace(TICKET, id=ticket_id_from(b"\1" * 16))):
        with raises(ReviewError.wrong_ticket):
            verify_answer(ANSWER, ticket, NODE_PUBLIC)


def test_an_answer_by_the_requester_or_from_before_the_question_does_not_verify() -> None:
    """Even when it is signed: whoever holds a key still cannot answer their own request."""
    own = sealed(make_answer(TICKET, TICKET.opened_by, "approve"))
    early = sealed(make_answer(TICKET, "user:amira", "approve", later(minutes=-1)))
    for answer in (own, early):
        with raises(ReviewError.wrong_ticket):
            verify_answer(answer, TICKET, NODE_PUBLIC)


def test_the_key_must_be_the_named_one_and_must_have_signed() -> None:
    """A stranger's key is refused by its id; a stranger's signature by itself."""
    public = STRANGER.public_key().public_bytes_raw()
    with raises(ReviewError.reviewer_key):
        verify_answer(ANSWER, TICKET, public)
    forged = replace(ANSWER, signature=STRANGER.sign(answer_message(ANSWER)).hex())
    with pytest.raises(InvalidSignatureError):
        verify_answer(forged, TICKET, NODE_PUBLIC)
    renamed = replace(ANSWER, signing_key_id=KeyId(key_id_of(public)))
    with pytest.raises(InvalidSignatureError):
        verify_answer(renamed, TICKET, public)


@pytest.mark.parametrize("signature", ["zz", "a", "AB" * 64, "é"])
def test_a_signature_is_lower_case_hex(signature: str) -> None:
    """One signature, one text."""
    with raises(ReviewError.signature):
        verify_answer(replace(ANSWER, signature=signature), TICKET, NODE_PUBLIC)
