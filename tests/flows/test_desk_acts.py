"""What people do at the desk besides answering: claim, give back, assign, comment, undo; signed and on record."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.ledger.erase_record import erase_record
from assay.flows.review.act_review import (
    Acted,
    PrepareAct,
    Wish,
    act_review,
    assign_wish,
    claim_wish,
    comment_wish,
    prepare_act,
    priority_wish,
    release_wish,
    undo_wish,
)
from assay.flows.review.answer_review import SignedElsewhere
from assay.flows.review.desk_settings import DeskSettings
from assay.flows.review.settle_reviews import settle_reviews
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.review.act import ActKind, Priority
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket
from tests.acting import amend_principal, caller_of, disable_principal, issue_api_key, looking, view_desk
from tests.contract._kit import refused
from tests.flows._people import ADMIN, TENANT, Desk, LostError, opened_desk

AMIRA, BO, PLANNER = (PrincipalId(name) for name in ("user:amira", "user:bo", "ai:planner"))
GRACE = DeskSettings(grace={TicketKind.APPROVAL: timedelta(seconds=30)})


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path) as one:
        one.add("user:amira")
        one.add("user:bo")
        one.add("user:olga", roles=("operator",))
        yield one


def _act(desk: Desk, ticket: Ticket, wish: Wish, credential: str, *, at: Instant | None = None) -> Acted:
    return act_review(desk.tools, caller_of(desk.tools, credential, at=at or desk.at(minutes=1)), ticket.id, wish)


def _patient(desk: Desk) -> Desk:
    return replace(desk, tools=replace(desk.tools, desk=GRACE))


def test_a_claimed_ticket_is_refused_to_others_until_it_is_given_back_or_the_lease_ends(desk: Desk) -> None:
    """Also for answering; the holder answers, and a lease that ended keeps nobody away."""
    ticket, amira, bo = desk.ticket(), desk.session(), desk.session("user:bo")
    _act(desk, ticket, claim_wish(desk.tools, timedelta(minutes=5)), amira)
    with refused("review.leased"):
        _act(desk, ticket, claim_wish(desk.tools), bo)
    with refused("review.leased"):
        desk.answer(ticket, bo)
    _act(desk, ticket, claim_wish(desk.tools, timedelta(minutes=9)), amira, at=desk.at(minutes=2))
    with refused("review.leased"):
        desk.answer(ticket, bo, at=desk.at(minutes=10))
    _act(desk, ticket, release_wish(), amira, at=desk.at(minutes=3))
    _act(desk, ticket, claim_wish(desk.tools, timedelta(seconds=30)), bo, at=desk.at(minutes=4))
    assert desk.answer(ticket, amira, at=desk.at(minutes=5)).settlement.choice == "approve"
    kinds = [EntryKind.TICKET_CLAIMED, EntryKind.TICKET_RELEASED]
    assert [entry["by"] for entry in desk.entries(*kinds)] == [AMIRA, AMIRA, AMIRA, BO]
    assert desk.read(lambda unit: unit.desk.leases(TENANT, ticket.id)) == ()
    assert audit_ledger(desk.tools, TENANT).holds


def test_a_ticket_has_as_many_places_as_people_must_agree(desk: Desk) -> None:
    """An answer fills the place of whoever gave it; a lease that ended with it would tell the others."""
    desk.add("user:carl")
    ticket = desk.ticket(quorum=2)
    amira, bo, carl = (desk.session(f"user:{name}") for name in ("amira", "bo", "carl"))
    for token in (amira, bo):
        _act(desk, ticket, claim_wish(desk.tools), token)
    with refused("review.leased"):
        desk.answer(ticket, carl)
    assert desk.answer(ticket, amira).settlement.is_open
    with refused("review.leased"):
        desk.answer(ticket, carl)
    _act(desk, ticket, release_wish(), bo, at=desk.at(minutes=2))
    assert desk.answer(ticket, carl, at=desk.at(minutes=3)).settlement.choice == "approve"


def test_a_lease_is_no_right_to_answer(desk: Desk) -> None:
    """Whoever could not answer cannot claim either, and a lease does not outlive the role."""
    desk.add("user:zoe", roles=("reviewer",))
    own, ticket = desk.ticket(requested_by=AMIRA), desk.ticket()
    amira, zoe = desk.session(), desk.session("user:zoe")
    with refused("review.own_request"):
        _act(desk, own, claim_wish(desk.tools), amira)
    with refused("review.not_eligible"):
        _act(desk, ticket, claim_wish(desk.tools), zoe)
    with refused("review.lease_span"):
        _act(desk, ticket, claim_wish(desk.tools, timedelta(days=2)), amira)
    _act(desk, ticket, claim_wish(desk.tools), amira)
    amend_principal(desk.tools, TENANT, AMIRA, PrincipalChange(roles=()), by=ADMIN, at=desk.at(minutes=1))
    with refused("review.not_eligible"):
        desk.answer(ticket, amira, at=desk.at(minutes=2))
    votes = desk.ticket(kind=TicketKind.VALIDATION, due_at=None)
    with refused("review.not_claimable"):
        _act(desk, votes, claim_wish(desk.tools), desk.session("user:bo"))


def test_machines_and_keys_do_nothing_at_the_desk(desk: Desk) -> None:
    """Neither an agent with the role, nor a person's own API key; the ledger does not move."""
    desk.add("ai:planner", kind=PrincipalKind.AGENT)
    ticket, head = desk.ticket(requested_by=None), None
    keys = [issue_api_key(desk.tools, TENANT, who, by=ADMIN, at=desk.start)[0] for who in (PLANNER, AMIRA)]
    head = desk.head()
    wishes = [
        claim_wish(desk.tools),
        release_wish(),
        assign_wish(person=AMIRA),
        priority_wish(Priority.HIGH),
        comment_wish(desk.tools, "hello"),
        undo_wish(),
    ]
    for wish in wishes:
        with refused("review.machine"):
            _act(desk, ticket, wish, keys[0])
        with refused("identity.session_required"):
            _act(desk, ticket, wish, keys[1])
    assert desk.head() == head


def test_a_ticket_is_for_somebody_who_may_answer_it_and_the_latest_word_stands(desk: Desk) -> None:
    ticket, olga, amira = desk.ticket(requested_by=BO), desk.session("user:olga"), desk.session()
    _act(desk, ticket, assign_wish(person=AMIRA), olga)
    _act(desk, ticket, priority_wish(Priority.HIGH), olga)
    _act(desk, ticket, priority_wish(Priority.URGENT), amira)
    view = view_desk(desk.tools, looking(None, at=desk.at(minutes=2)), ticket.id)
    assert (view.placement.person, view.placement.priority) == (AMIRA, Priority.URGENT)
    _act(desk, ticket, assign_wish(role="ops_team"), olga)
    with refused("review.own_request"):
        _act(desk, ticket, assign_wish(person=BO), olga)
    with refused("review.not_eligible"):
        _act(desk, ticket, assign_wish(person=PrincipalId("user:olga")), olga)
    for wish in (assign_wish(role="reviewer"), assign_wish(person=PLANNER), assign_wish(person=AMIRA, role="ops_team")):
        with refused("review.assignee"):
            _act(desk, ticket, wish, olga)
    with refused("review.own_request"):
        _act(desk, ticket, assign_wish(person=AMIRA), desk.session("user:bo"))
    view = view_desk(desk.tools, looking(None, at=desk.at(minutes=2)), ticket.id)
    assert (view.placement.person, view.placement.role) == (None, "ops_team")


def test_somebody_who_looks_after_the_desk_ends_anothers_lease(desk: Desk) -> None:
    ticket, amira = desk.ticket(), desk.session()
    _act(desk, ticket, claim_wish(desk.tools), amira)
    with refused("review.not_leased"):
        _act(desk, ticket, release_wish(AMIRA), desk.session("user:bo"))
    _act(desk, ticket, release_wish(AMIRA), desk.session("user:olga"))
    assert desk.answer(ticket, desk.session("user:bo")).settlement.choice == "approve"
    with refused("review.settled"):
        _act(desk, ticket, claim_wish(desk.tools), amira)


def test_whoever_asked_ends_no_lease_of_those_who_judge(desk: Desk) -> None:
    """Also an operator: else they would choose who judges it, by sending the others away."""
    ticket = desk.ticket(requested_by=PrincipalId("user:olga"))
    _act(desk, ticket, claim_wish(desk.tools), desk.session())
    with refused("review.own_request"):
        _act(desk, ticket, release_wish(AMIRA), desk.session("user:olga"))
    _act(desk, ticket, release_wish(), desk.session())


def test_a_comment_can_be_erased_and_its_proof_stays(desk: Desk) -> None:
    """The words are in no entry, row or event; signature and chain hold before and after."""
    ticket, amira = desk.ticket(), desk.session()
    done = _act(desk, ticket, comment_wish(desk.tools, "Bo told me why"), amira)
    text = desk.read(lambda unit: unit.ledger.find_entry(TENANT, done.receipt.sequence_number))
    assert text is not None
    assert b"Bo told me" not in text.text
    assert "Bo told me" not in repr(desk.read(lambda unit: unit.desk.acts(TENANT, ticket.id)))
    (shown,) = view_desk(desk.tools, looking(None, at=desk.at(minutes=2)), ticket.id).comments
    assert (shown.text, shown.verified, shown.by) == ("Bo told me why", True, AMIRA)
    erase_record(desk.tools, TENANT, shown.sequence_number, by=ADMIN, reason="asked to", at=desk.at(minutes=3))
    (after,) = view_desk(desk.tools, looking(None, at=desk.at(minutes=4)), ticket.id).comments
    assert (after.text, after.verified) == (None, True)
    assert audit_ledger(desk.tools, TENANT).holds
    for words in ("", "  ", "x" * 4001):
        with refused("review.comment"):
            comment_wish(desk.tools, words)


def test_comments_are_for_those_whom_the_ticket_concerns(desk: Desk) -> None:
    desk.add("user:zoe", roles=("auditor",))
    ticket = desk.ticket(requested_by=BO)
    for name in ("amira", "bo", "olga"):
        _act(desk, ticket, comment_wish(desk.tools, f"I am {name}"), desk.session(f"user:{name}"))
    with refused("review.not_eligible"):
        _act(desk, ticket, comment_wish(desk.tools, "me too"), desk.session("user:zoe"))
    with refused("review.stale_ticket"):
        act_review(
            desk.tools,
            caller_of(desk.tools, desk.session(), at=desk.at(minutes=1)),
            ticket.id,
            comment_wish(desk.tools, "old"),
            seen=desk.ticket(shown="something else").shown_hash,
        )


def test_whoever_registered_a_key_signs_acts_with_it_here_or_elsewhere(desk: Desk) -> None:
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes_raw().hex()
    amend_principal(desk.tools, TENANT, AMIRA, PrincipalChange(public_key=public), by=ADMIN, at=desk.start)
    ticket, amira, at = desk.ticket(), desk.session(), desk.at(minutes=1)
    with refused("review.reviewer_key"):
        _act(desk, ticket, claim_wish(desk.tools), amira)
    asked = PrepareAct(ticket_id=ticket.id, act=ActKind.COMMENT, text="mine")
    prepared = prepare_act(desk.tools, caller_of(desk.tools, amira, at=at), asked)
    salt = bytes.fromhex(prepared.salt or "")
    wish = comment_wish(desk.tools, "mine", salt=salt)
    signed = SignedElsewhere(signature=key.sign(bytes.fromhex(prepared.message)), answered_at=at)
    late = desk.at(minutes=2)
    done = act_review(desk.tools, caller_of(desk.tools, amira, at=late), ticket.id, wish, signing=signed)
    assert (done.act.signed_with, done.act.acted_at) == ("reviewer_key", at)
    other = comment_wish(desk.tools, "not what I signed", salt=salt)
    with refused("signature.invalid"):
        act_review(desk.tools, caller_of(desk.tools, amira, at=late), ticket.id, other, signing=signed)
    with refused("review.answer_time"):
        act_review(desk.tools, caller_of(desk.tools, amira, at=desk.at(minutes=9)), ticket.id, wish, signing=signed)


def test_an_answer_can_be_undone_while_it_does_not_count_and_given_again(desk: Desk) -> None:
    """The ledger keeps the answer and its undoing; nothing followed from it."""
    patient, ticket, amira = _patient(desk), desk.ticket(), desk.session()
    done = patient.answer(ticket, amira)
    assert (done.takes_effect_at, done.settlement.is_open) == (desk.at(seconds=90), True)
    assert desk.entries(EntryKind.TICKET_ANSWERED) == []
    with refused("review.already_answered"):
        patient.answer(ticket, amira, at=desk.at(seconds=70))
    with refused("review.not_held"):
        _act(desk, ticket, undo_wish(), desk.session("user:bo"), at=desk.at(seconds=80))
    _act(desk, ticket, undo_wish("wrong one"), amira, at=desk.at(seconds=80))
    assert settle_reviews(patient.tools, TENANT, at=desk.at(seconds=95)).effects == ()
    (held,), (undone,) = desk.entries(EntryKind.TICKET_ANSWER_HELD), desk.entries(EntryKind.TICKET_ANSWER_UNDONE)
    assert json.loads(undone["body"])["answer_hash"] == held["answer_hash"]
    patient.answer(ticket, amira, "reject", reason="looked again", at=desk.at(seconds=100))
    sweep = settle_reviews(patient.tools, TENANT, at=desk.at(seconds=130))
    assert [one.state for one in sweep.effects] == ["counts"]
    (settled,) = desk.entries(EntryKind.TICKET_SETTLED)
    assert (settled["choice"], settled["denied"]) == ("reject", True)
    with refused("review.took_effect"):
        _act(desk, ticket, undo_wish(), amira, at=desk.at(seconds=131))
    assert audit_ledger(desk.tools, TENANT).holds


def test_an_answer_counts_at_its_time_and_no_longer_waits_for_a_sweep_to_be_final(desk: Desk) -> None:
    """From `takes_effect_at` on nobody undoes it, whether or not the sweep came by."""
    patient, ticket, amira = _patient(desk), desk.ticket(), desk.session()
    patient.answer(ticket, amira)
    with refused("review.took_effect"):
        _act(desk, ticket, undo_wish(), amira, at=desk.at(seconds=90))


def test_an_answer_given_in_time_counts_although_its_grace_reaches_the_end(desk: Desk) -> None:
    patient, ticket = _patient(desk), desk.ticket(due_at=desk.at(seconds=70))
    assert patient.answer(ticket, desk.session()).takes_effect_at == desk.at(seconds=70)
    settle_reviews(patient.tools, TENANT, at=desk.at(hours=1))
    (settled,) = desk.entries(EntryKind.TICKET_SETTLED)
    assert settled["state"] == "settled"
    assert settled["choice"] == "approve"


def test_all_that_was_given_in_time_counts_before_the_time_out_does(desk: Desk) -> None:
    """Two held approvals reach the end together: the first one counted must not find the ticket due without the other.

    Where one of them lapses, the time-out is what it was.
    """
    desk.add("user:carl")
    patient = _patient(desk)
    both, one = (desk.ticket(quorum=2, due_at=desk.at(seconds=70)) for _ in range(2))
    for name in ("amira", "bo"):
        patient.answer(both, desk.session(f"user:{name}"))
    for name in ("amira", "carl"):
        patient.answer(one, desk.session(f"user:{name}"))
    amend_principal(
        desk.tools, TENANT, PrincipalId("user:carl"), PrincipalChange(roles=()), by=ADMIN, at=desk.at(seconds=65)
    )
    sweep = settle_reviews(patient.tools, TENANT, at=desk.at(seconds=75))
    settled = {
        entry["ticket_id"]: (entry["state"], entry["choice"]) for entry in desk.entries(EntryKind.TICKET_SETTLED)
    }
    assert settled == {both.id: ("settled", "approve"), one.id: ("expired", None)}
    assert [effect.state for effect in sweep.effects if effect.ticket_id == both.id] == ["counts", "counts"]


def test_a_lease_of_somebody_who_may_not_answer_any_more_keeps_nobody_away(desk: Desk) -> None:
    """Else whoever is shut out could hold a decision up for a working day."""
    disabled, lost = desk.ticket(), desk.ticket()
    bo, amira = desk.session("user:bo"), desk.session()
    for ticket in (disabled, lost):
        _act(desk, ticket, claim_wish(desk.tools), bo)
        with refused("review.leased"):
            desk.answer(ticket, amira)
    amend_principal(desk.tools, TENANT, BO, PrincipalChange(roles=()), by=ADMIN, at=desk.at(minutes=2))
    _act(desk, lost, claim_wish(desk.tools), amira, at=desk.at(minutes=3))
    disable_principal(desk.tools, TENANT, BO, by=ADMIN, at=desk.at(minutes=3))
    assert desk.answer(disabled, amira, at=desk.at(minutes=4)).settlement.choice == "approve"


def test_an_answer_lapses_on_record_when_its_giver_may_no_longer_decide_or_others_have(desk: Desk) -> None:
    patient, amira, bo = _patient(desk), desk.session(), desk.session("user:bo")
    lost, decided = desk.ticket(), desk.ticket()
    patient.answer(lost, amira)
    patient.answer(decided, bo)
    desk.answer(decided, amira, "reject", reason="no")
    amend_principal(desk.tools, TENANT, AMIRA, PrincipalChange(roles=()), by=ADMIN, at=desk.at(seconds=61))
    sweep = settle_reviews(patient.tools, TENANT, at=desk.at(minutes=3))
    assert {one.ticket_id: (one.state, one.code) for one in sweep.effects} == {
        lost.id: ("lapsed", "review.not_eligible"),
        decided.id: ("lapsed", "review.settled"),
    }
    assert len(desk.entries(EntryKind.TICKET_ANSWER_LAPSED)) == 2
    assert desk.read(lambda unit: unit.review.find_settlement(TENANT, lost.id)) is None
    assert settle_reviews(patient.tools, TENANT, at=desk.at(minutes=4)).effects == ()


def test_what_fails_leaves_nothing_behind(desk: Desk) -> None:
    """Each act in one commit with its entry, its row and its effect."""
    ticket, amira, head = desk.ticket(), desk.session(), 0
    head = desk.head()
    for wish in (claim_wish(desk.tools), comment_wish(desk.tools, "a word"), priority_wish(Priority.LOW)):
        with pytest.raises(LostError):
            _act(desk.failing(), ticket, wish, amira)
    with pytest.raises(LostError):
        _patient(desk).failing().answer(ticket, amira)
    assert desk.head() == head
    assert desk.read(lambda unit: (unit.desk.acts(TENANT, ticket.id), unit.desk.leases(TENANT, ticket.id))) == ((), ())
    assert desk.read(lambda unit: unit.desk.find_held(TENANT, ticket.id, AMIRA)) is None
