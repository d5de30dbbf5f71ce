"""Opening and answering tickets: who may, what is signed with which key, and what is written down."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from assay.adapters.keyfile import create_key_file
from assay.flows.errors import NotFoundError
from assay.flows.errors.identity import IdentityFlowError, NotSignedInError
from assay.flows.ledger.rotate_key import rotate_key
from assay.flows.request import encode_result, etag_of
from assay.flows.review.answer_desk import answer_desk
from assay.flows.review.answer_review import SIGNED_ELSEWHERE_WITHIN, SignedElsewhere, draft_unsigned
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.kernel.digest import digest_of
from assay.kernel.errors import Code, Error, SignatureError
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.key import KeyPurpose, parse_anchors
from assay.kernel.ledger import EntryKind
from assay.review.answer import SignedWith, answer_message
from assay.review.draft import Reply
from assay.review.errors import InvalidTicketError, ReviewError
from assay.review.kind import OnExpiry, TicketKind
from assay.review.settle import SettlementState
from tests.acting import amend_principal, caller_of, disable_principal, issue_api_key, log_out, looking, view_ticket
from tests.contract._kit import refused
from tests.flows._people import ADMIN, TENANT, Desk, LostError, opened_desk
from tests.raising import raises

AMIRA = PrincipalId("user:amira")
UNKNOWN_TICKET = TicketId("tkt_" + "a" * 26)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path) as one:
        one.add()
        yield one


def _refused(desk: Desk, error: Code | type[Error], answer: object) -> None:
    """A refusal leaves no answer and no entry."""
    before = desk.head()
    assert callable(answer)
    with raises(error):
        answer()
    assert desk.head() == before


def test_an_opened_ticket_is_logged_by_the_hash_of_what_it_shows(desk: Desk) -> None:
    """The text itself stays out of the ledger."""
    ticket = desk.ticket(shown="a secret plan")
    (body,) = desk.entries(EntryKind.TICKET_OPENED)
    assert (body["ticket_id"], body["shown_hash"]) == (ticket.id, digest_of(b"a secret plan"))
    assert (body["kind"], body["quorum"], body["on_expiry"]) == ("approval", 1, "deny")
    texts = desk.read(lambda unit: b"".join(row.text for row in unit.ledger.entries(TENANT)))
    assert b"a secret plan" not in texts


def test_subscribers_are_told_of_each_step(desk: Desk) -> None:
    """The events are committed with the entries that caused them."""
    ticket = desk.ticket(about="bundle:7")
    desk.answer(ticket, desk.session())
    events = desk.read(lambda unit: unit.outbox.events(TENANT, after=0, limit=10))
    assert [event.type for event in events] == ["ticket.opened", "ticket.answered", "ticket.settled"]
    assert {event.subject for event in events} == {ticket.id}


def test_a_malformed_ticket_is_refused_before_anything_is_written(desk: Desk) -> None:
    """No one can open an approval that silence grants."""
    _refused(desk, InvalidTicketError, lambda: desk.ticket(on_expiry=OnExpiry.STAY_OPEN))


def test_an_answer_without_a_key_of_ones_own_is_vouched_for_by_the_node(desk: Desk) -> None:
    """It says so, it is logged as it was signed, and it verifies by the node's review key."""
    ticket = desk.ticket()
    done = desk.answer(ticket, desk.session(), reason="looks right")
    assert done.answer.signed_with is SignedWith.NODE_REVIEW_KEY
    assert done.answer.signing_key_id == desk.tools.review_signer.key_id
    assert (done.settlement.state, done.settlement.choice) == (SettlementState.SETTLED, "approve")
    (body,) = desk.entries(EntryKind.TICKET_ANSWERED)
    assert (body["by"], body["seen_hash"], body["signature"]) == (AMIRA, ticket.shown_hash, done.answer.signature)
    (settled,) = desk.entries(EntryKind.TICKET_SETTLED)
    assert (settled["choice"], settled["denied"]) == ("approve", False)
    view = view_ticket(desk.tools, looking(None, at=desk.at(minutes=2)), ticket.id)
    assert [finding.verified for finding in view.answers] == [True]
    assert (view.recorded, view.settlement) == (True, done.settlement)


def test_answers_verify_whomever_the_operator_trusts_besides(desk: Desk, tmp_path: Path) -> None:
    """The desk's keys are the node's own; anchors are for the documents of others."""
    other = create_key_file(tmp_path / "other.key")
    assert other.public_key is not None
    desk.tools = replace(desk.tools, anchors=parse_anchors([other.public_key.hex()]))
    ticket = desk.ticket()
    desk.answer(ticket, desk.session())
    view = view_ticket(desk.tools, looking(None, at=desk.at(minutes=2)), ticket.id)
    assert [finding.verified for finding in view.answers] == [True]


def test_answers_still_verify_after_the_review_key_was_replaced(desk: Desk, tmp_path: Path) -> None:
    """Old answers by the old key, new ones by the new key."""
    ticket = desk.ticket(quorum=2)
    desk.add("user:bo")
    desk.answer(ticket, desk.session())
    successor = create_key_file(tmp_path / "review2.key")
    rotate_key(
        desk.tools,
        TENANT,
        old=desk.tools.review_signer,
        new=successor,
        purpose=KeyPurpose.REVIEW,
        overlap=desk.at(minutes=1) - desk.start,
        at=desk.at(minutes=2),
    )
    desk.tools = replace(desk.tools, review_signer=successor)
    desk.answer(ticket, desk.session("user:bo"), at=desk.at(minutes=10))
    view = view_ticket(desk.tools, looking(None, at=desk.at(minutes=11)), ticket.id)
    assert [finding.verified for finding in view.answers] == [True, True]
    assert view.answers[1].answer.signing_key_id == successor.key_id


def test_whoever_registered_a_key_signs_with_it(desk: Desk, tmp_path: Path) -> None:
    """The node may not speak for such a person, nor may another key."""
    own, other = create_key_file(tmp_path / "own.key"), create_key_file(tmp_path / "other.key")
    assert own.public_key is not None
    desk.add("user:bo", public_key=own.public_key.hex())
    ticket, token, amira = desk.ticket(), desk.session("user:bo"), desk.session()
    _refused(desk, ReviewError.reviewer_key, lambda: desk.answer(ticket, token))
    _refused(desk, ReviewError.reviewer_key, lambda: desk.answer(ticket, token, signing=other))
    _refused(desk, ReviewError.reviewer_key, lambda: desk.answer(ticket, amira, signing=own))
    done = desk.answer(ticket, token, signing=own)
    assert (done.answer.signed_with, done.answer.signing_key_id) == (SignedWith.REVIEWER_KEY, own.key_id)
    # The key is changed later; the answer is judged by the key that was registered when it was given.
    change = PrincipalChange(public_key=None)
    amend_principal(desk.tools, TENANT, PrincipalId("user:bo"), change, by=ADMIN, at=desk.at(minutes=5))
    (finding,) = view_ticket(desk.tools, looking(None, at=desk.at(minutes=6)), ticket.id).answers
    assert finding.verified


def test_a_person_may_sign_on_a_machine_of_their_own(desk: Desk, tmp_path: Path) -> None:
    """They are told what to sign, and the signature they send back is verified before it counts."""
    own = create_key_file(tmp_path / "own.key")
    assert own.public_key is not None
    desk.add("user:bo", public_key=own.public_key.hex())
    ticket, token, amira = desk.ticket(), desk.session("user:bo"), desk.session()
    reply = Reply(choice="approve", seen=ticket.shown_hash)
    unsigned = draft_unsigned(desk.tools, caller_of(desk.tools, token, at=desk.at(minutes=1)), ticket.id, reply)
    signature = own.sign(answer_message(unsigned))
    signed = SignedElsewhere(signature=signature, answered_at=unsigned.answered_at)
    forged = replace(signed, signature=bytes(64))
    _refused(desk, SignatureError, lambda: desk.answer(ticket, token, signing=forged, at=desk.at(minutes=2)))
    _refused(desk, SignatureError, lambda: desk.answer(ticket, token, "reject", reason="no", signing=signed))
    _refused(desk, ReviewError.reviewer_key, lambda: desk.answer(ticket, amira, signing=signed))
    done = desk.answer(ticket, token, signing=signed, at=desk.at(minutes=2))
    assert (done.answer.answered_at, done.settlement.state) == (unsigned.answered_at, SettlementState.SETTLED)


@pytest.mark.parametrize("seconds", [-301, 1], ids=["too old", "from the future"])
def test_an_answer_signed_elsewhere_carries_a_time_close_to_ours(desk: Desk, tmp_path: Path, seconds: int) -> None:
    """Otherwise a due ticket could be answered by a date of yesterday."""
    own = create_key_file(tmp_path / "own.key")
    assert own.public_key is not None
    desk.add("user:bo", public_key=own.public_key.hex())
    ticket, token, now = desk.ticket(), desk.session("user:bo"), desk.at(minutes=10)
    signed = SignedElsewhere(signature=bytes(64), answered_at=desk.at(minutes=10, seconds=seconds))
    _refused(desk, IdentityFlowError.review_answer_time, lambda: desk.answer(ticket, token, signing=signed, at=now))
    assert SIGNED_ELSEWHERE_WITHIN.total_seconds() == 300


def test_an_answer_signed_before_the_due_time_does_not_count_after_it(desk: Desk, tmp_path: Path) -> None:
    own = create_key_file(tmp_path / "own.key")
    assert own.public_key is not None
    desk.add("user:bo", public_key=own.public_key.hex())
    ticket, token = desk.ticket(due_at=desk.at(minutes=3)), desk.session("user:bo")
    reply = Reply(choice="approve", seen=ticket.shown_hash)
    unsigned = draft_unsigned(desk.tools, caller_of(desk.tools, token, at=desk.at(minutes=2)), ticket.id, reply)
    signed = SignedElsewhere(signature=own.sign(answer_message(unsigned)), answered_at=unsigned.answered_at)
    _refused(desk, ReviewError.expired, lambda: desk.answer(ticket, token, signing=signed, at=desk.at(minutes=3)))


def test_only_a_live_session_answers(desk: Desk) -> None:
    """Not a key of the same person, not a session that ended a moment before."""
    ticket, token = desk.ticket(), desk.session()
    key, _ = issue_api_key(desk.tools, TENANT, AMIRA, by=ADMIN, at=desk.start)
    _refused(desk, IdentityFlowError.session_required, lambda: desk.answer(ticket, key))
    _refused(desk, NotSignedInError, lambda: desk.answer(ticket, "st_nonsense"))
    _refused(desk, NotSignedInError, lambda: desk.answer(ticket, token, at=desk.at(minutes=15)))
    log_out(desk.tools, token, at=desk.at(minutes=1))
    _refused(desk, NotSignedInError, lambda: desk.answer(ticket, token, at=desk.at(minutes=2)))


@pytest.mark.parametrize("kind", [PrincipalKind.AGENT, PrincipalKind.SERVICE])
def test_a_machine_never_answers(desk: Desk, kind: PrincipalKind) -> None:
    """Whatever roles it was given."""
    desk.add("ai:reviewer", kind=kind)
    key, _ = issue_api_key(desk.tools, TENANT, PrincipalId("ai:reviewer"), by=ADMIN, at=desk.start)
    ticket = desk.ticket()
    _refused(desk, ReviewError.machine, lambda: desk.answer(ticket, key))


def test_a_session_that_ends_while_its_answer_is_signed_does_not_answer(desk: Desk) -> None:
    """What counts is the moment of the commit, not that of the first look."""
    ticket, token = desk.ticket(), desk.session()
    interrupted = desk.interrupted_by(lambda: log_out(desk.tools, token, at=desk.at(seconds=30)))
    with pytest.raises(NotSignedInError):
        interrupted.answer(ticket, token)
    assert desk.entries(EntryKind.TICKET_ANSWERED) == []


@pytest.mark.parametrize("how", ["logged out", "disabled"])
def test_a_person_shut_out_later_than_the_answer_began_does_not_answer(desk: Desk, how: str) -> None:
    """The fact is younger than the time the answer carries, and older than its commit."""
    ticket, token, clock = desk.ticket(), desk.session(), desk.tools.clock

    def shut_out() -> None:
        if how == "logged out":
            log_out(desk.tools, token, at=clock.now())
        else:
            disable_principal(desk.tools, TENANT, AMIRA, by=ADMIN, at=clock.now())

    with pytest.raises(NotSignedInError):
        desk.interrupted_by(shut_out).answer(ticket, token, at=clock.now())
    assert desk.entries(EntryKind.TICKET_ANSWERED) == []


def test_a_key_that_is_replaced_while_its_answer_is_checked_does_not_sign(desk: Desk, tmp_path: Path) -> None:
    """The answer names the key it was prepared for, and that is not the one registered any more."""
    own, heir = create_key_file(tmp_path / "own.key"), create_key_file(tmp_path / "heir.key")
    assert own.public_key is not None
    assert heir.public_key is not None
    desk.add("user:bo", public_key=own.public_key.hex())
    ticket, token = desk.ticket(), desk.session("user:bo")
    reply = Reply(choice="approve", seen=ticket.shown_hash)
    unsigned = draft_unsigned(desk.tools, caller_of(desk.tools, token, at=desk.at(minutes=1)), ticket.id, reply)
    signed = SignedElsewhere(signature=own.sign(answer_message(unsigned)), answered_at=unsigned.answered_at)
    change, bo = PrincipalChange(public_key=heir.public_key.hex()), PrincipalId("user:bo")
    interrupted = desk.interrupted_by(
        lambda: amend_principal(desk.tools, TENANT, bo, change, by=ADMIN, at=desk.at(minutes=2))
    )
    with raises(ReviewError.reviewer_key):
        interrupted.answer(ticket, token, signing=signed, at=desk.at(minutes=3))
    assert desk.entries(EntryKind.TICKET_ANSWERED) == []


def test_a_disabled_person_does_not_answer(desk: Desk) -> None:
    ticket, token = desk.ticket(), desk.session()
    disable_principal(desk.tools, TENANT, AMIRA, by=ADMIN, at=desk.at(seconds=30))
    _refused(desk, NotSignedInError, lambda: desk.answer(ticket, token))


@pytest.mark.parametrize("field", ["opened_by", "requested_by"])
def test_nobody_answers_their_own_request(desk: Desk, field: str) -> None:
    """Neither who opened the ticket nor who asked for what it is about."""
    ticket, token = desk.ticket(**{field: AMIRA}), desk.session()
    _refused(desk, ReviewError.own_request, lambda: desk.answer(ticket, token))


def test_a_role_is_needed_and_taken_away_at_once(desk: Desk) -> None:
    """What counts is the version in force when the answer commits."""
    ticket, token = desk.ticket(), desk.session()
    amend_principal(desk.tools, TENANT, AMIRA, PrincipalChange(roles=("auditor",)), by=ADMIN, at=desk.at(seconds=30))
    _refused(desk, ReviewError.not_eligible, lambda: desk.answer(ticket, token))


def test_a_ticket_of_another_tenant_is_not_there(desk: Desk) -> None:
    """Nor is one that never was; the two look the same."""
    ticket = desk.ticket()
    desk.add("user:eve", tenant=TenantId("globex"))
    token = desk.session("user:eve", tenant=TenantId("globex"))
    _refused(desk, NotFoundError, lambda: desk.answer(ticket, token))
    _refused(desk, NotFoundError, lambda: view_ticket(desk.tools, looking(None, at=desk.start), UNKNOWN_TICKET))


def test_a_reply_fits_the_ticket(desk: Desk) -> None:
    """What was seen, the choice, the reason and the body are each checked."""
    ticket, token = desk.ticket(), desk.session()
    later = replace(desk, start=desk.at(minutes=5)).ticket()
    other = digest_of(b"something else")
    _refused(desk, ReviewError.stale_ticket, lambda: desk.answer(ticket, token, seen=other))
    _refused(desk, ReviewError.unknown_choice, lambda: desk.answer(ticket, token, "maybe"))
    _refused(desk, ReviewError.reason_missing, lambda: desk.answer(ticket, token, "reject"))
    _refused(desk, ReviewError.body, lambda: desk.answer(ticket, token, body='{"b":1, "a":2}'))
    _refused(desk, ReviewError.too_early, lambda: desk.answer(later, token, at=desk.at(minutes=4)))


def test_a_person_answers_once_and_a_decision_stands(desk: Desk) -> None:
    ticket, token = desk.ticket(quorum=2), desk.session()
    desk.add("user:bo")
    desk.add("user:cleo")
    desk.answer(ticket, token)
    _refused(desk, ReviewError.already_answered, lambda: desk.answer(ticket, token, "reject", reason="no"))
    desk.answer(ticket, desk.session("user:bo"))
    cleo = desk.session("user:cleo")
    _refused(desk, ReviewError.settled, lambda: desk.answer(ticket, cleo, "reject", reason="no"))
    # What is recorded decides, also against a clock that went back to before the decision.
    early = desk.at(seconds=1)
    _refused(desk, ReviewError.settled, lambda: desk.answer(ticket, cleo, "reject", reason="no", at=early))


def test_one_rejection_of_an_approval_decides(desk: Desk) -> None:
    """With its reason, whatever the quorum."""
    ticket = desk.ticket(quorum=3)
    done = desk.answer(ticket, desk.session(), "reject", reason="too many")
    assert (done.settlement.choice, done.settlement.denied) == ("reject", True)
    (settled,) = desk.entries(EntryKind.TICKET_SETTLED)
    assert settled["denied"] is True


def test_a_failing_commit_leaves_no_ticket_and_no_answer(desk: Desk) -> None:
    """Answer, entry, settlement: all of it or none."""
    before = desk.head()
    with pytest.raises(LostError):
        desk.failing().ticket()
    assert desk.head() == before
    ticket, token = desk.ticket(), desk.session()
    before = desk.head()
    with pytest.raises(LostError):
        desk.failing().answer(ticket, token)
    view = view_ticket(desk.tools, looking(None, at=desk.at(minutes=1)), ticket.id)
    assert (desk.head(), view.answers, view.recorded) == (before, (), False)
    desk.answer(ticket, token)


def test_nothing_counts_beside_an_answer_whose_signature_does_not_hold(desk: Desk) -> None:
    """A row put into the database by somebody else stops the ticket instead of deciding it."""
    desk.add("user:bo")
    ticket, token = desk.ticket(quorum=2), desk.session()
    done = desk.answer(ticket, token)
    forged = msgspec.structs.replace(done.answer, by=PrincipalId("user:bo"), answered_at=desk.at(seconds=90))
    desk.tools.database.write(lambda unit: unit.review.add_answer(forged))
    desk.add("user:cleo")
    cleo = desk.session("user:cleo")
    _refused(desk, SignatureError, lambda: desk.answer(ticket, cleo, at=desk.at(minutes=2)))
    view = view_ticket(desk.tools, looking(None, at=desk.at(minutes=2)), ticket.id)
    assert [(one.verified, one.code) for one in view.answers] == [(True, None), (False, "signature.invalid")]
    assert view.settlement.state is SettlementState.OPEN


def test_an_answer_cannot_claim_a_key_that_was_never_registered(desk: Desk) -> None:
    """The key is looked up where it was registered, never taken from the answer."""
    desk.add("user:bo")
    ticket = desk.ticket(quorum=2)
    done = desk.answer(ticket, desk.session())
    forged = msgspec.structs.replace(done.answer, by=PrincipalId("user:bo"), signed_with=SignedWith.REVIEWER_KEY)
    desk.tools.database.write(lambda unit: unit.review.add_answer(forged))
    view = view_ticket(desk.tools, looking(None, at=desk.at(minutes=2)), ticket.id)
    assert [one.code for one in view.answers] == [None, "review.reviewer_key"]


def test_other_kinds_use_their_own_choices(desk: Desk) -> None:
    """Root-cause tickets carry a conclusion in the body, which their room reads."""
    ticket = desk.ticket(kind=TicketKind.ROOT_CAUSE, due_at=None)
    done = desk.answer(ticket, desk.session(), "rule_failure", body='{"rule":"r-7"}')
    assert (done.answer.body, done.settlement.choice) == ('{"rule":"r-7"}', "rule_failure")


def test_if_match_is_checked_in_the_transaction_that_records_the_answer(desk: Desk) -> None:
    """Somebody answers between our reading and our commit: the version that was read is no longer the current one."""
    desk.add("user:bo")
    ticket, amira, bo = desk.ticket(quorum=3), desk.session(), desk.session("user:bo")
    caller = caller_of(desk.tools, amira, at=desk.at(minutes=1))
    reply = Reply(choice="approve", seen=ticket.shown_hash)
    single = desk.ticket()
    tag = etag_of(encode_result(view_ticket(desk.tools, caller, single.id)))
    interrupted = desk.interrupted_by(lambda: desk.answer(single, bo))
    with refused("http.precondition"):
        answer_desk(interrupted.tools, caller, single.id, reply, if_match=tag)
    assert [one["by"] for one in desk.entries(EntryKind.TICKET_ANSWERED)] == ["user:bo"]
    mine = etag_of(encode_result(view_ticket(desk.tools, caller, ticket.id)))
    for given in ("*", f'"other", {mine}'):
        with pytest.raises(LostError):
            answer_desk(desk.failing().tools, caller, ticket.id, reply, if_match=given)
    assert answer_desk(desk.tools, caller, ticket.id, reply, if_match=mine).answered.settlement.is_open
