"""The desk's own rules: leases, holds, escalation, sight, and the order of the queue."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.identity.principal import PrincipalKind
from assay.kernel.ids import PrincipalId, TenantId
from assay.review.act import Priority
from assay.review.errors import NotClaimableError, ReviewError
from assay.review.escalate import Stage, find_stage
from assay.review.hold import HeldAnswer, answer_hash, require_undoable, takes_effect_at
from assay.review.kind import KIND_RULES, TicketKind
from assay.review.lease import Lease, lease_until, live_leases, require_claimable, require_unleased
from assay.review.placement import Placement
from assay.review.progress import GivenAnswer, measure_progress
from assay.review.queue import QueuedTicket, QueueFilter, matches, place_in_queue
from assay.review.settle import settle
from assay.review.sight import hide_others, is_blind, may_read, require_commenter, require_steward
from assay.review.ticket import Ticket
from tests.identity.people import NOON, later
from tests.raising import raises
from tests.review.desk import REQUESTER, TICKET_ID, draft_by, make_answer, make_ticket, reviewer, sealed

ONE, TWO = make_ticket(), make_ticket(quorum=2)


def _lease(name: str, minutes: int = 5) -> Lease:
    return Lease(ticket_id=TICKET_ID, by=PrincipalId(name), claimed_at=NOON, expires_at=later(minutes=minutes))


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(-3, 3)), unique_by=lambda one: one[0]), st.integers(1, 3)
)
def test_others_are_kept_away_exactly_while_every_place_is_taken(held: list[tuple[str, int]], quorum: int) -> None:
    """A lease ends at its own instant; one's own is in nobody's way."""
    ticket = make_ticket(quorum=quorum)
    leases = [_lease(f"user:{name}", minutes) for name, minutes in held]
    taken = sum(minutes > 0 and name != "a" for name, minutes in held)
    assert len(live_leases(leases, NOON)) == sum(minutes > 0 for _, minutes in held)
    if taken < quorum:
        require_unleased(ticket, PrincipalId("user:a"), leases, NOON)
    else:
        with raises(ReviewError.leased):
            require_unleased(ticket, PrincipalId("user:a"), leases, NOON)


def test_a_lease_has_a_length_that_the_desk_grants() -> None:
    longest = timedelta(hours=1)
    assert lease_until(NOON, longest, longest) == later(hours=1)
    for span in (timedelta(0), timedelta(seconds=-1), timedelta(hours=1, seconds=1)):
        with raises(ReviewError.lease_span):
            lease_until(NOON, span, longest)


def test_nobody_claims_what_everybody_votes_on() -> None:
    for kind, rule in KIND_RULES.items():
        ticket = make_ticket(kind=kind, due_at=None)
        if rule.by_room:
            with pytest.raises(NotClaimableError):
                require_claimable(ticket)
        else:
            require_claimable(ticket)


@given(st.integers(0, 7200), st.integers(0, 7200), st.sampled_from(TicketKind))
def test_an_answer_waits_no_longer_than_its_ticket(grace: int, after: int, kind: TicketKind) -> None:
    """And not at all where its kind, or nobody, makes it wait."""
    ticket, answered_at = make_ticket(kind=kind), later(seconds=after)
    counts_at = takes_effect_at(ticket, answered_at, timedelta(seconds=grace))
    if grace == 0 or not ticket.rule.undoable:
        assert counts_at is None
        return
    assert counts_at is not None
    assert answered_at < counts_at <= answered_at + timedelta(seconds=grace)
    assert ticket.due_at is not None
    if answered_at < ticket.due_at:
        assert counts_at <= ticket.due_at


def test_kinds_that_something_outside_acts_on_at_once_cannot_be_undone() -> None:
    """And none is answered in bulk that cannot be undone."""
    fixed = {
        TicketKind.ATTESTATION,
        TicketKind.VALIDATION,
        TicketKind.ROOT_CAUSE,
        TicketKind.RESTORE,
        TicketKind.EFFECT,
    }
    assert {kind for kind, rule in KIND_RULES.items() if not rule.undoable} == fixed
    assert all(rule.undoable for rule in KIND_RULES.values() if rule.bulk)


def test_an_answer_is_undone_before_it_counts_and_never_after() -> None:
    answer = sealed(draft_by(reviewer(), ONE))
    held = HeldAnswer(
        ticket_id=ONE.id, answer=answer, answer_hash=answer_hash(answer), takes_effect_at=later(seconds=30)
    )
    assert require_undoable(ONE, held, later(seconds=29)) == held
    with raises(ReviewError.took_effect):
        require_undoable(ONE, held, later(seconds=30))
    with raises(ReviewError.not_held):
        require_undoable(ONE, None, NOON)
    assert answer_hash(answer) != answer_hash(sealed(draft_by(reviewer("user:bo"), ONE)))


@given(st.integers(0, 180), st.sets(st.sampled_from(Stage)))
def test_a_stage_is_told_when_it_is_reached_and_only_once(minutes: int, told: set[Stage]) -> None:
    """Whoever has heard that the end passed need not hear that it was near."""
    stage = find_stage(ONE, told, before=timedelta(minutes=10), at=later(minutes=minutes))
    if minutes >= 60:
        assert stage == (None if Stage.PASSED in told else Stage.PASSED)
    elif minutes >= 50:
        assert stage == (None if told else Stage.NEAR)
    else:
        assert stage is None
    endless = make_ticket(kind=TicketKind.RESTORE, due_at=None)
    assert find_stage(endless, told, before=timedelta(days=9), at=later(minutes=minutes)) is None


def test_blind_is_who_is_still_to_judge_where_several_must_agree() -> None:
    amira, olga = reviewer(), reviewer("user:olga", roles=("operator",))
    assert is_blind(TWO, amira, [], settled=False)
    assert not is_blind(TWO, amira, [], settled=True)
    assert not is_blind(TWO, amira, [amira.id], settled=False)
    assert not is_blind(ONE, amira, [], settled=False)
    assert not is_blind(TWO, olga, [], settled=False)
    assert not is_blind(make_ticket(quorum=2, requested_by=amira.id), amira, [], settled=False)
    standing = settle(TWO, [make_answer(TWO, "user:bo", "approve")], at=later(minutes=1))
    hidden = hide_others(standing)
    assert (hidden.counted, hidden.ignored, "1 of 2" in hidden.reason) == ((), 0, False)


def test_whom_a_ticket_concerns() -> None:
    """Another tenant never; auditors read and say nothing; nobody steers their own request; no machine says a word."""
    everyone = {
        name: reviewer(f"user:{name}", roles=(name,))
        for name in ("ops_team", "admin", "operator", "auditor", "visitor")
    }
    read = {name for name, who in everyone.items() if may_read(ONE, who)}
    assert read == {"ops_team", "admin", "operator", "auditor"}
    assert not may_read(ONE, reviewer(tenant=TenantId("globex")))
    requester = reviewer("user:ana", roles=())
    own = make_ticket(requested_by=requester.id)
    assert may_read(own, requester)
    require_commenter(own, requester, NOON)
    for name in ("auditor", "visitor"):
        with raises(ReviewError.not_eligible):
            require_commenter(ONE, everyone[name], NOON)
        with raises(ReviewError.not_eligible):
            require_steward(ONE, everyone[name], NOON)
    require_steward(ONE, everyone["operator"], NOON)
    with raises(ReviewError.own_request):
        require_steward(make_ticket(requested_by=everyone["admin"].id), everyone["admin"], NOON)
    for check in (require_steward, require_commenter):
        with raises(ReviewError.machine):
            check(ONE, reviewer(REQUESTER, kind=PrincipalKind.AGENT), NOON)


def _queued(ticket: Ticket, priority: Priority = Priority.NORMAL) -> QueuedTicket:
    return QueuedTicket(
        ticket=ticket,
        settlement=settle(ticket, [], at=NOON),
        recorded=False,
        placement=Placement(priority=priority),
        leases=(),
        stages=(),
    )


def test_what_should_be_looked_at_first_sorts_first() -> None:
    """Priority before end before age; what never ends comes after what does."""
    endless = make_ticket(kind=TicketKind.RESTORE, due_at=None)
    order = [
        _queued(endless, Priority.URGENT),
        _queued(make_ticket(due_at=later(minutes=5))),
        _queued(make_ticket(due_at=later(minutes=9))),
        _queued(endless),
        _queued(make_ticket(due_at=later(minutes=1)), Priority.LOW),
    ]
    mixed = [order[place] for place in (3, 0, 4, 2, 1)]
    assert sorted(mixed, key=lambda one: place_in_queue(one.ticket, one.placement.priority)) == order


def test_every_part_of_a_filter_must_hold() -> None:
    queued = _queued(make_ticket(about="flood:7"))
    assert matches(QueueFilter(), queued)
    assert matches(QueueFilter(kind=TicketKind.APPROVAL, about="flood:", role="ops_team"), queued)
    assert matches(QueueFilter(due_before=later(hours=2)), queued)
    for wrong in (
        QueueFilter(kind=TicketKind.RESTORE),
        QueueFilter(about="fire"),
        QueueFilter(priority=Priority.LOW),
        QueueFilter(assignee=REQUESTER),
        QueueFilter(role="reviewer"),
        QueueFilter(holder=REQUESTER),
        QueueFilter(due_before=NOON),
        QueueFilter(kind=TicketKind.APPROVAL, about="fire"),
    ):
        assert not matches(wrong, queued)


def test_progress_is_nothing_before_the_first_answer() -> None:
    """And an open ticket says nothing about agreement."""
    amira = reviewer()
    none = measure_progress(amira.id, [], open_leases=1, held=2)
    assert (none.answered, none.median_seconds, none.settled, none.agreed) == (0, None, 0, 0)
    given = [
        GivenAnswer(ticket=ONE, answer=sealed(draft_by(amira, ONE, at=later(seconds=seconds))), settlement=None)
        for seconds in (10, 40, 20)
    ]
    some = measure_progress(amira.id, given, open_leases=0, held=0)
    assert (some.answered, some.median_seconds, some.settled) == (3, 20.0, 0)
