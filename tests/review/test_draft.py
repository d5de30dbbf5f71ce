"""Who may answer, what, and until when; each refusal has its code."""

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.identity.errors import IdentityError, OtherTenantError
from assay.identity.principal import PrincipalKind
from assay.kernel.digest import ZERO_DIGEST
from assay.kernel.ids import TenantId
from assay.kernel.key import key_id_of
from assay.review.answer import SignedWith, verify_answer
from assay.review.draft import Reply, draft_answer
from assay.review.errors import ReviewError
from assay.review.kind import KIND_RULES, TicketKind
from tests.identity.people import NOON, later
from tests.raising import raises
from tests.review.desk import NODE_KEY_ID, NODE_PUBLIC, draft_by, make_ticket, reviewer, sealed

TICKET = make_ticket()


def test_an_eligible_person_answers_what_was_shown() -> None:
    """The draft binds ticket, choice, hash, person, time, and the key that will sign."""
    ticket, choice = make_ticket(kind=TicketKind.ROOT_CAUSE), "routing_failure"
    unsigned = draft_by(reviewer(), ticket, choice, reason="looks right", body='{"note":1}', at=later(minutes=5))
    assert (unsigned.ticket_id, unsigned.choice, unsigned.seen_hash) == (ticket.id, choice, ticket.shown_hash)
    assert (unsigned.by, unsigned.answered_at, unsigned.body) == ("user:amira", later(minutes=5), '{"note":1}')
    assert (unsigned.signed_with, unsigned.signing_key_id) == (SignedWith.NODE_REVIEW_KEY, NODE_KEY_ID)
    verify_answer(sealed(unsigned), ticket, NODE_PUBLIC)


def test_whoever_saw_something_else_is_sent_back_to_look_again() -> None:
    """An answer binds what that person was shown."""
    with raises(ReviewError.stale_ticket) as caught:
        draft_by(reviewer(), TICKET, seen=ZERO_DIGEST)
    assert caught.value.code == "review.stale_ticket"


@pytest.mark.clause("pramana", "10.2")
@pytest.mark.clause("pramana", "14.5")
@pytest.mark.parametrize("ticket_kind", TicketKind)
@pytest.mark.parametrize("kind", [PrincipalKind.AGENT, PrincipalKind.SERVICE])
def test_a_machine_never_answers_a_ticket_of_any_kind(kind: PrincipalKind, ticket_kind: TicketKind) -> None:
    """Not even one that holds the role."""
    ticket = make_ticket(kind=ticket_kind)
    with raises(ReviewError.machine) as caught:
        draft_by(reviewer("ai:helper", kind=kind), ticket, ticket.choices[0])
    assert caught.value.code == "review.machine"


@pytest.mark.parametrize("field", ["opened_by", "requested_by"])
def test_nobody_answers_their_own_request(field: str) -> None:
    """Neither who opened the ticket, nor whose request it is about."""
    with raises(ReviewError.own_request) as caught:
        draft_by(reviewer(), make_ticket(**{field: "user:amira"}))
    assert caught.value.code == "review.own_request"


def test_another_tenant_is_refused_before_anything_else_is_said() -> None:
    """Even a machine of another tenant learns only that."""
    with pytest.raises(OtherTenantError):
        draft_by(reviewer(tenant=TenantId("other"), kind=PrincipalKind.AGENT), TICKET, "nonsense")


def test_a_disabled_or_ineligible_person_is_refused() -> None:
    """A role of another name is no role here; admin implies nothing."""
    with raises(IdentityError.disabled):
        draft_by(reviewer(disabled_at=NOON), TICKET)
    for roles in ((), ("admin",), ("reviewer",)):
        with raises(ReviewError.not_eligible):
            draft_by(reviewer(roles=roles), TICKET)


def test_only_offered_choices_count_and_a_rejection_says_why() -> None:
    """An approval may be silent, a rejection may not."""
    with raises(ReviewError.unknown_choice):
        draft_by(reviewer(), TICKET, "maybe")
    for reason in ("", "  \n", "\u200b\u2060\ufeff", "\u00a0\u3000\x00"):
        with raises(ReviewError.reason_missing):
            draft_by(reviewer(), TICKET, "reject", reason=reason)
    assert draft_by(reviewer(), TICKET, "reject", reason="wrong table").choice == "reject"


@pytest.mark.parametrize("body", ["", "{", '{"b":1,"a":2}', '{ "a":1}', '{"a":1,"a":1}', '{"a":1.0}', '"\\u0061"'])
def test_a_body_is_canonical_json_text(body: str) -> None:
    """One value, one text: what is signed is what the room will parse."""
    ticket = make_ticket(kind=TicketKind.ROOT_CAUSE)
    with raises(ReviewError.body, match="canonical") as caught:
        draft_by(reviewer(), ticket, "routing_failure", body=body)
    assert caught.value.code == "review.body"


@pytest.mark.parametrize("kind", [kind for kind, rule in KIND_RULES.items() if not rule.has_body])
def test_a_body_that_nothing_reads_is_refused(kind: TicketKind) -> None:
    """Else an approval with a condition in it would be one without."""
    ticket = make_ticket(kind=kind)
    with raises(ReviewError.body, match="expected no body"):
        draft_by(reviewer(), ticket, ticket.choices[0], body='{"only":"ten of them"}')
    assert draft_by(reviewer(), ticket, ticket.choices[0]).body == "{}"


def test_an_endless_reason_is_refused() -> None:
    """A reason is for reading."""
    with raises(ReviewError.body, match="4000"):
        draft_by(reviewer(), TICKET, reason="x" * 4001)


def test_a_ticket_is_answered_between_its_opening_and_its_time_out() -> None:
    """At the due instant it is over, unless the kind stays open."""
    with raises(ReviewError.too_early):
        draft_by(reviewer(), TICKET, at=later(seconds=-1))
    draft_by(reviewer(), TICKET, at=later(minutes=59, seconds=59))
    with raises(ReviewError.expired) as caught:
        draft_by(reviewer(), TICKET, at=later(hours=1))
    assert caught.value.code == "review.expired"
    held = make_ticket(kind=TicketKind.ATTESTATION)
    assert draft_by(reviewer(), held, "attest", at=later(days=9)).choice == "attest"


def test_a_person_answers_once() -> None:
    """Not even to change their mind, and not even to repeat themselves."""
    ticket = make_ticket(quorum=2)
    first = sealed(draft_by(reviewer(), ticket))
    with raises(ReviewError.already_answered):
        draft_by(reviewer(), ticket, at=later(minutes=1), earlier=(first,))


def test_a_settled_ticket_takes_no_more_answers() -> None:
    """A quorum, or one rejection, has decided."""
    first = sealed(draft_by(reviewer(), TICKET))
    with raises(ReviewError.settled):
        draft_by(reviewer("user:bela"), TICKET, at=later(minutes=1), earlier=(first,))


def test_whoever_registered_a_key_signs_with_it_and_the_node_only_for_the_others() -> None:
    """Otherwise the node could speak in the name of someone who can speak for themselves."""
    key = Ed25519PrivateKey.from_private_bytes(b"\x07" * 32)
    public = key.public_key().public_bytes_raw()
    keyed, plain = reviewer(public_key=public.hex()), reviewer()
    reply = Reply(choice="approve", seen=TICKET.shown_hash)
    own: dict[str, Any] = {"signed_with": SignedWith.REVIEWER_KEY, "signing_key_id": key_id_of(public)}
    node: dict[str, Any] = {"signed_with": SignedWith.NODE_REVIEW_KEY, "signing_key_id": NODE_KEY_ID}
    answer = sealed(draft_answer(TICKET, keyed, reply, at=NOON, earlier=(), **own), key)
    verify_answer(answer, TICKET, public)
    for principal, wrong in ((keyed, node), (keyed, {**own, "signing_key_id": NODE_KEY_ID}), (plain, own)):
        with raises(ReviewError.reviewer_key) as caught:
            draft_answer(TICKET, principal, reply, at=NOON, earlier=(), **wrong)
        assert caught.value.code == "review.reviewer_key"


def test_a_person_with_one_of_several_roles_is_eligible() -> None:
    """One of the ticket's roles is enough."""
    ticket = make_ticket(eligible_roles=("security_team", "ops_team"))
    assert draft_by(reviewer(roles=("security_team",)), ticket).choice == "approve"
