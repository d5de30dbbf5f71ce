"""An approval is one person's, for exactly one bundle, in time, and counted once; anything else is refused."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.claims.bundle import Decision
from assay.claims.finding import FindingCode
from assay.flows.claims.decide_claims import decide_claims
from assay.flows.errors import FlowError
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.review.answer_desk import answer_desk
from assay.flows.review.answer_review import answer_review
from assay.flows.review.desk_settings import DeskSettings
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.review.settle_reviews import settle_reviews
from assay.flows.review.take_effect import EffectState
from assay.identity.principal import PrincipalKind
from assay.identity.risk import RiskTier
from assay.kernel.digest import digest_of
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.review.draft import Reply
from assay.review.errors import ReviewError
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket
from tests.acting import caller_of, disable_principal, issue_api_key
from tests.contract._kit import refused
from tests.flows._claims import AGENT, ClaimsDesk, copied_claims, opened_claims
from tests.flows._node import TENANT
from tests.flows._people import ADMIN, at_once

_TWO_OPS = """
id: two
version: "1"
approvals:
  by_tier:
    DELETE: [{role: ops_team, people: 2}]
    PRIVILEGE: [{role: ops_team, people: 1}, {role: security_team, people: 1}]
"""
_OTHER_ID = "3f0c7d52-8f0e-4a38-9a53-0d8f3ad5c119"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("claims")
    with opened_claims(folder):
        return folder


@pytest.fixture
def desk(template: Path, tmp_path: Path) -> Iterator[ClaimsDesk]:
    with opened_claims(copied_claims(template, tmp_path)) as opened:
        yield opened


def _approve(desk: ClaimsDesk, ticket: Ticket) -> None:
    """On the desk alone: nobody gates the bundle again."""
    reply, when = Reply(choice="approve", seen=ticket.shown_hash), desk.at(minutes=2)
    token = desk.session("user:otto")
    answer_review(desk.tools, caller_of(desk.tools, token, at=when), ticket.id, reply, follow_ups=ROOM_FOLLOW_UPS)


@pytest.mark.clause("claimbundle", "risk-tiers")
@pytest.mark.parametrize(
    ("tier", "role", "person"),
    [(RiskTier.DELETE, "ops_team", "user:otto"), (RiskTier.PRIVILEGE, "security_team", "user:sam")],
)
def test_a_team_approves_what_it_was_shown(desk: ClaimsDesk, tier: RiskTier, role: str, person: str) -> None:
    """The ticket shows every claim and the hash that the approval binds; the audit trail of the bundle names who."""
    gated, (ticket,) = desk.waiting(tier)
    assert ticket.eligible_roles == (role,)
    for words in (gated.bundle_hash, "The river is 30 m deep.", "a boat runs aground", f"FACT, {tier}"):
        assert words in ticket.shown
    done = desk.decide(ticket, person).gated
    assert done is not None
    assert (done.decision, done.is_new) == (Decision.PUBLISH, True)
    (trail,) = done.bundle.audit_trail.human_approvals
    assert (trail.approver, trail.decision, trail.reason) == (person, "APPROVED", "looked at it")
    assert desk.entries(EntryKind.CLAIMS_DECIDED)[-1]["approvals"] == [f"{ticket.id}/{person}"]
    assert audit_ledger(desk.tools, TENANT, full=True).holds


def test_a_title_says_what_is_to_be_approved(desk: ClaimsDesk) -> None:
    """In the agent's own words, quoted, in one line that can be read: nothing hides in it or turns it around."""
    told = {
        "delete the logs of March": '"delete the logs of March"',
        "l\u00f6sche\u00a0alle\n\tKonten": '"l\u00f6sche alle Konten"',
        'x" approved by user:olga \u202etxt.exe\x1b[2J': '"x\\" approved by user:olga \\u202etxt.exe\\u001b[2J"',
        "w" * 500: f'"{"w" * 100}\u2026"',
    }
    for number, (statement, title) in enumerate(told.items()):
        small = desk.claim(RiskTier.READ_ONLY, id="c-2", statement="the disk is full")
        grave = desk.claim(RiskTier.DELETE, id="c-1", statement=statement)
        for claims, more in (((grave,), ""), ((small, grave), " and 1 more")):
            ident = f"{_OTHER_ID[:-2]}{number}{len(claims)}"
            (asked,) = desk.gate(desk.document(*claims, id=ident)).tickets
            ticket = desk.find(asked.ticket_id)
            assert ticket.title == f"approve as ops_team: DELETE by {AGENT}: {title}{more}"


@pytest.mark.clause("claimbundle", "gate-recommendations")
def test_one_rejection_refuses_for_good(desk: ClaimsDesk) -> None:
    """In the commit that records the answer, with the reason; a later approval finds nothing to approve."""
    gated, (ticket,) = desk.waiting()
    done = desk.decide(ticket, "user:otto", "reject").gated
    assert done is not None
    assert (done.decision, done.outcome.findings[0].code) == (Decision.REFUSE, FindingCode.APPROVAL_REJECTED)
    assert desk.entries(EntryKind.TICKET_SETTLED, EntryKind.CLAIMS_DECIDED)[-1]["bundle_hash"] == gated.bundle_hash
    with refused("review.settled"):
        desk.decide(ticket, "user:oda")
    assert desk.resume(gated.bundle_hash).decision is Decision.REFUSE


def test_an_approval_that_nobody_gives_in_time_is_a_denial(desk: ClaimsDesk) -> None:
    """By the sweep, or by whoever looks first."""
    gated, (ticket,) = desk.waiting()
    late = desk.at(days=1, minutes=2)
    with refused("review.expired"):
        desk.decide(ticket, "user:otto", at=late)
    sweep = settle_reviews(desk.tools, TENANT, at=late, follow_ups=ROOM_FOLLOW_UPS)
    assert [one.denied for one in sweep.settled] == [True]
    done = desk.resume(gated.bundle_hash, at=late)
    assert (done.decision, done.outcome.findings[0].code) == (Decision.REFUSE, FindingCode.APPROVAL_EXPIRED)
    assert not done.is_new
    other, _ = desk.waiting(id=_OTHER_ID)
    assert desk.resume(other.bundle_hash, at=desk.at(days=2)).decision is Decision.REFUSE


def test_an_approval_in_time_that_can_still_be_undone_is_not_taken_for_silence(desk: ClaimsDesk) -> None:
    """Whoever looks at the bundle between its end and the sweep refuses nothing for good."""
    desk.use(desk=DeskSettings(grace={TicketKind.APPROVAL: timedelta(minutes=5)}))
    gated, (ticket,) = desk.waiting()
    assert ticket.due_at is not None
    given_at, late = Instant(ticket.due_at - timedelta(seconds=5)), Instant(ticket.due_at + timedelta(seconds=1))
    assert desk.decide(ticket, "user:otto", at=given_at).answered.takes_effect_at == ticket.due_at
    looked = desk.resume(gated.bundle_hash, at=late)
    assert (looked.decision, len(looked.tickets)) == (Decision.ESCALATE, 1)
    sweep = settle_reviews(desk.tools, TENANT, at=late, follow_ups=ROOM_FOLLOW_UPS)
    assert [one.state for one in sweep.effects] == [EffectState.COUNTS]
    assert desk.resume(gated.bundle_hash, at=late).decision is Decision.PUBLISH


def test_neither_a_machine_nor_the_asker_nor_an_outsider_approves(desk: ClaimsDesk) -> None:
    _, (ticket,) = desk.waiting()
    reply = Reply(choice="approve", seen=ticket.shown_hash)
    robot = desk.join("service:robot", "ops_team", kind=PrincipalKind.SERVICE)
    for credential, code in ((robot, "review.machine"), (desk.agent, "review.machine")):
        with refused(code):
            answer_review(
                desk.tools,
                caller_of(desk.tools, credential, at=desk.at(minutes=2)),
                ticket.id,
                reply,
                follow_ups=ROOM_FOLLOW_UPS,
            )
    with refused("review.not_eligible"):
        desk.decide(ticket, "user:sam")
    key, _ = issue_api_key(desk.tools, TENANT, PrincipalId("user:otto"), by=ADMIN, at=desk.start)
    with refused("identity.session_required"):
        answer_review(
            desk.tools, caller_of(desk.tools, key, at=desk.at(minutes=2)), ticket.id, reply, follow_ups=ROOM_FOLLOW_UPS
        )


def test_a_person_who_asks_does_not_approve(desk: ClaimsDesk) -> None:
    """Four eyes: a person may submit a bundle as its origin, and then somebody else looks at it."""
    asker = desk.join("user:asker", "ops_team", risk_ceiling=RiskTier.PRIVILEGE)
    gated = desk.gate(desk.document(desk.claim(RiskTier.DELETE), origin_agent="user:asker"), credential=asker)
    ticket = desk.find(gated.tickets[0].ticket_id)
    with refused("review.own_request"):
        desk.decide(ticket, "user:asker")
    done = desk.decide(ticket, "user:otto").gated
    assert done is not None
    assert done.decision is Decision.PUBLISH


def test_an_approval_is_bound_to_what_was_shown(desk: ClaimsDesk) -> None:
    """It is for one bundle: not another's ticket, not a changed bundle, and not after another took its place."""
    gated, (ticket,) = desk.waiting()
    other, (other_ticket,) = desk.waiting(id=_OTHER_ID)
    with refused("review.stale_ticket"):
        desk.decide(ticket, "user:otto", seen=other_ticket.shown_hash)
    desk.decide(other_ticket, "user:oda")
    assert desk.resume(gated.bundle_hash).decision is Decision.ESCALATE
    changed = desk.document(desk.claim(RiskTier.DELETE, statement="The river is 31 m deep."))
    second = desk.resume(gated.bundle_hash, changed)
    assert (second.decision, second.is_new) == (Decision.ESCALATE, True)
    with refused("claims.superseded"):
        desk.decide(ticket, "user:otto")
    with refused("claims.superseded"):
        desk.resume(gated.bundle_hash)
    done = desk.decide(desk.find(second.tickets[0].ticket_id), "user:otto", at=desk.at(minutes=6)).gated
    assert done is not None
    assert done.decision is Decision.PUBLISH
    assert other.bundle_hash != done.bundle_hash


def test_an_approval_is_given_once_and_used_once(desk: ClaimsDesk) -> None:
    """The bundle is published once: whoever brings it again is told that it is not new."""
    gated, (ticket,) = desk.waiting()
    desk.decide(ticket, "user:otto")
    with refused("review.settled", "review.already_answered"):
        desk.decide(ticket, "user:otto")
    head = desk.head()
    again = desk.gate(desk.document(desk.claim(RiskTier.DELETE)), at=desk.at(minutes=9))
    assert (again.bundle_hash, again.decision, again.is_new) == (gated.bundle_hash, Decision.PUBLISH, False)
    with refused("claims.not_resumable"):
        desk.resume(gated.bundle_hash, desk.document(id=_OTHER_ID))
    assert desk.head() == head


def test_an_approval_that_was_not_used_in_time_is_asked_for_again(desk: ClaimsDesk) -> None:
    """Given in time, and used after it ran out: another person is asked, and the old answer counts no more."""
    gated, (ticket,) = desk.waiting()
    _approve(desk, ticket)
    late = desk.resume(gated.bundle_hash, at=desk.at(days=2))
    assert (late.decision, late.is_new) == (Decision.ESCALATE, True)
    assert "does not count: expired" in late.outcome.reason
    (again,) = late.tickets
    assert again.ticket_id != ticket.id
    done = desk.decide(desk.find(again.ticket_id), "user:oda", at=desk.at(days=2, minutes=1)).gated
    assert done is not None
    assert done.decision is Decision.PUBLISH


def test_n_of_m_are_different_people(desk: ClaimsDesk) -> None:
    desk.policy(_TWO_OPS)
    gated, (ticket,) = desk.waiting()
    assert ticket.quorum == 2
    first = desk.decide(ticket, "user:otto").gated
    assert first is not None
    assert (first.decision, len(first.tickets)) == (Decision.ESCALATE, 1)
    assert "expected approval by 1 of ops_team" in first.outcome.reason
    with refused("review.already_answered"):
        desk.decide(ticket, "user:otto", at=desk.at(minutes=4))
    second = desk.decide(ticket, "user:oda", at=desk.at(minutes=4)).gated
    assert second is not None
    assert second.decision is Decision.PUBLISH
    assert gated.bundle_hash == second.bundle_hash


def test_nobody_stands_for_two_roles(desk: ClaimsDesk) -> None:
    """Unless the policy says that one person may."""
    desk.policy(_TWO_OPS)
    _, (ops, security) = desk.waiting(RiskTier.PRIVILEGE)
    desk.decide(ops, "user:both")
    with refused("claims.approver_refused"):
        desk.decide(security, "user:both", at=desk.at(minutes=4))
    done = desk.decide(security, "user:sam", at=desk.at(minutes=5)).gated
    assert done is not None
    assert done.decision is Decision.PUBLISH
    desk.policy(_TWO_OPS.replace('"1"', '"2"') + "  distinct_people: false\n", at=desk.at(minutes=6))
    _, (ops, security) = desk.waiting(RiskTier.PRIVILEGE, id=_OTHER_ID)
    desk.decide(ops, "user:both", at=desk.at(minutes=7))
    alone = desk.decide(security, "user:both", at=desk.at(minutes=8)).gated
    assert alone is not None
    assert alone.decision is Decision.PUBLISH


def test_a_bundle_may_ask_for_one_person_by_name(desk: ClaimsDesk) -> None:
    """Then only that person's approval counts, and others of the same role are told so."""
    gated = desk.gate(desk.document(required_approvals=["user:oda"]))
    assert (gated.decision, gated.outcome.required_approvals) == (Decision.ESCALATE, ("user:oda",))
    ticket = desk.find(gated.tickets[0].ticket_id)
    with refused("claims.approver_refused"):
        desk.decide(ticket, "user:otto")
    done = desk.decide(ticket, "user:oda").gated
    assert done is not None
    assert done.decision is Decision.PUBLISH
    with refused("claims.approver"):
        desk.gate(desk.document(required_approvals=["The Boss"], id=_OTHER_ID))


def test_a_deferral_can_be_rejected(desk: ClaimsDesk) -> None:
    unsure = {"method": "semantic_entropy", "value": 0.9, "gate_recommendation": "EXECUTE"}
    gated = desk.gate(desk.document(desk.claim(uncertainty=unsure)))
    (asked,) = gated.tickets
    ticket = desk.find(asked.ticket_id)
    assert (ticket.kind, ticket.due_at) == (TicketKind.DEFERRAL, None)
    done = desk.decide(ticket, "user:rita", "reject").gated
    assert done is not None
    assert done.decision is Decision.REFUSE


def test_a_denial_is_not_waved_through_by_a_watching_policy(desk: ClaimsDesk) -> None:
    """Who changes the policy while people are asked does not change what they answered."""
    _, (ticket,) = desk.waiting()
    desk.policy('id: watch\nversion: "1"\nmode: audit_only\n', at=desk.at(minutes=2))
    done = desk.decide(ticket, "user:otto", "reject").gated
    assert done is not None
    assert done.decision is Decision.REFUSE


def test_a_rejection_that_comes_while_the_gates_run_is_heard(desk: ClaimsDesk) -> None:
    """What was decided rests on what people had said by then; the commit looks again."""
    desk.policy(_TWO_OPS.replace("people: 2", "people: 1"))
    gated, (ticket,) = desk.waiting()
    _approve(desk, ticket)
    strict = 'id: strict\nversion: "1"\nevidence: {least_confidence: 0.95}\n'
    meddled = desk.interrupted_by(lambda: desk.policy(strict, at=desk.at(minutes=3)))
    done = decide_claims(meddled.tools, TENANT, gated.bundle_hash, at=desk.at(minutes=4))
    assert done.decision is Decision.DEFER


def test_of_many_that_decide_at_once_one_publishes(desk: ClaimsDesk) -> None:
    gated, (ticket,) = desk.waiting()
    _approve(desk, ticket)
    done = at_once([lambda: desk.resume(gated.bundle_hash)] * 4)
    assert [getattr(one, "decision", one) for one in done] == [Decision.PUBLISH] * 4
    assert [getattr(one, "is_new", None) for one in done].count(True) == 1


def test_a_disabled_agent_publishes_nothing(desk: ClaimsDesk) -> None:
    """Also with an approval that was given before."""
    gated, (ticket,) = desk.waiting()
    disable_principal(desk.tools, TENANT, PrincipalId(AGENT), by=ADMIN, at=desk.at(minutes=2))
    done = desk.decide(ticket, "user:otto").gated
    assert done is not None
    assert (done.bundle_hash, done.decision) == (gated.bundle_hash, Decision.REFUSE)


def test_approvals_of_other_things_are_left_alone(desk: ClaimsDesk) -> None:
    """A ticket of the same kind that no bundle opened is answered as before, also one that names a bundle's hash."""
    for about in (None, f"bundle:{digest_of(b'x')}"):
        ticket = desk.ticket(about=about)
        desk.answer(ticket, desk.session("user:otto"), "reject", follow_ups=ROOM_FOLLOW_UPS, reason="no")
    assert desk.entries(EntryKind.CLAIMS_DECIDED) == []
    reply = Reply(choice="approve", seen=desk.ticket().shown_hash)
    caller = desk.calling(desk.session("user:otto"), desk.at(minutes=1))
    assert answer_desk(desk.tools, caller, desk.ticket().id, reply).regated is None


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(order=st.permutations(["user:otto", "user:sam", "user:rita", "user:oda"]))
def test_whatever_the_order_nothing_is_published_before_both_teams_approved(desk: ClaimsDesk, order: list[str]) -> None:
    """A law: PUBLISH exactly from the moment on when one of each team has said yes."""
    desk.policy(_TWO_OPS)
    made = desk.document(desk.claim(RiskTier.PRIVILEGE), id=str(digest_of(repr((order, desk.head())).encode())))
    gated = desk.gate(made)
    tickets = {one.role: desk.find(one.ticket_id) for one in gated.tickets}
    heard: set[str] = set()
    for minute, person in enumerate(order):
        for role, ticket in sorted(tickets.items(), key=str):
            # A refusal is what most of these meet.
            with suppress(ReviewError, FlowError):
                desk.decide(ticket, person, at=desk.at(minutes=10 + minute))
                heard.add(str(role))
        now = decide_claims(desk.tools, TENANT, gated.bundle_hash, at=desk.at(minutes=20 + minute))
        assert (now.decision is Decision.PUBLISH) is (heard == {"ops_team", "security_team"})
