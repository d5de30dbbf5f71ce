"""Acts at the desk: signed, bound to what the ticket shows, and each with a body of its own kind."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.kernel.digest import ZERO_DIGEST
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.kernel.signature import InvalidSignatureError
from assay.review.act import (
    Act,
    ActBody,
    ActKind,
    Assign,
    Claim,
    Comment,
    Prioritise,
    Priority,
    Release,
    Undo,
    UnsignedAct,
    act_message,
    kind_of,
    parse_act_body,
    render_act_body,
    seal_act,
    verify_act,
)
from assay.review.answer import SignedWith
from assay.review.errors import ReviewError
from assay.review.placement import Placement, place_ticket, require_assignable
from tests.identity.people import NOON, later
from tests.raising import raises
from tests.review.desk import NODE_KEY, NODE_KEY_ID, NODE_PUBLIC, make_ticket, reviewer

TICKET = make_ticket()
AMIRA = PrincipalId("user:amira")
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
BODIES: tuple[ActBody, ...] = (
    Claim(until=later(minutes=5)),
    Release(holder=AMIRA),
    Assign(person=AMIRA),
    Prioritise(priority=Priority.HIGH),
    Comment(text_commitment=ZERO_DIGEST),
    Undo(answer_hash=ZERO_DIGEST, reason="é"),
)


def _unsigned(body: ActBody, at: Instant = NOON) -> UnsignedAct:
    return UnsignedAct(
        ticket_id=TICKET.id,
        tenant_id=TICKET.tenant_id,
        kind=kind_of(body),
        body=render_act_body(body),
        seen_hash=TICKET.shown_hash,
        by=AMIRA,
        acted_at=at,
        signed_with=SignedWith.NODE_REVIEW_KEY,
        signing_key_id=NODE_KEY_ID,
    )


def _sealed(body: ActBody) -> Act:
    unsigned = _unsigned(body)
    return seal_act(unsigned, NODE_KEY.sign(act_message(unsigned)))


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
def test_an_act_says_again_what_was_signed(body: ActBody) -> None:
    act = _sealed(body)
    verify_act(act, TICKET, NODE_PUBLIC)
    assert parse_act_body(act) == body
    assert act_message(act).startswith(b"assay/act/v1\n")


def test_every_kind_has_a_body_and_no_two_share_one() -> None:
    assert [kind_of(body) for body in BODIES] == list(ActKind)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": ActKind.RELEASE},
        {"body": '{"until":"2026-01-07T13:00:00Z"}'},
        {"by": PrincipalId("user:bo")},
        {"acted_at": later(seconds=1)},
        {"signed_with": SignedWith.REVIEWER_KEY},
    ],
    ids=lambda change: next(iter(change)),
)
def test_nothing_of_a_signed_act_can_be_changed(change: dict[str, object]) -> None:
    with pytest.raises(InvalidSignatureError):
        verify_act(replace(_sealed(BODIES[0]), **change), TICKET, NODE_PUBLIC)


def test_an_act_is_bound_to_its_ticket_and_its_key() -> None:
    act = _sealed(BODIES[0])
    with raises(ReviewError.wrong_ticket):
        verify_act(act, make_ticket(shown="something else"), NODE_PUBLIC)
    with raises(ReviewError.reviewer_key):
        verify_act(act, TICKET, OTHER_KEY.public_key().public_bytes_raw())


def test_a_body_of_another_kind_is_refused() -> None:
    with raises(ReviewError.body):
        parse_act_body(replace(_unsigned(BODIES[0]), kind=ActKind.ASSIGN))


def test_priorities_are_ranked_from_what_comes_first() -> None:
    assert sorted(Priority, key=lambda one: one.rank) == [Priority.URGENT, Priority.HIGH, Priority.NORMAL, Priority.LOW]


@given(st.lists(st.sampled_from([*BODIES, Assign(role="ops_team"), Prioritise(priority=Priority.LOW), Assign()])))
def test_the_last_word_of_each_kind_places_a_ticket(bodies: list[ActBody]) -> None:
    """Whatever came before, and whatever else was done."""
    placed = place_ticket([_unsigned(body) for body in bodies])
    assigned = [one for one in bodies if isinstance(one, Assign)]
    ranked = [one for one in bodies if isinstance(one, Prioritise)]
    last = assigned[-1] if assigned else Assign()
    priority = ranked[-1].priority if ranked else Priority.NORMAL
    assert placed == Placement(priority=priority, person=last.person, role=last.role)


def test_a_ticket_is_for_one_who_may_answer_it() -> None:
    require_assignable(TICKET, Assign(person=AMIRA), reviewer(), NOON)
    require_assignable(TICKET, Assign(role="ops_team"), None, NOON)
    require_assignable(TICKET, Assign(), None, NOON)
    with raises(ReviewError.assignee):
        require_assignable(TICKET, Assign(person=AMIRA), None, NOON)
    with raises(ReviewError.assignee):
        require_assignable(TICKET, Assign(role="reviewer"), None, NOON)
    with raises(ReviewError.assignee):
        require_assignable(TICKET, Assign(person=AMIRA, role="ops_team"), reviewer(), NOON)
    with raises(ReviewError.not_eligible):
        require_assignable(TICKET, Assign(person=AMIRA), reviewer(roles=()), NOON)
