"""Mandates on a real node: signed on the desk, they stand for approvals within their limits, and never beyond them."""

import dataclasses
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from assay.adapters.clock import SystemClock
from assay.adapters.postgres.provision import provision
from assay.claims.bundle import Decision
from assay.flows.claims.backtest_claims import BacktestPolicy, backtest
from assay.flows.claims.decide_claims import GatedClaims
from assay.flows.errors import NotFoundError
from assay.flows.errors.claims import ClaimsFlowError
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.permits.mandate_settings import MandateSettings
from assay.flows.permits.mandates import (
    ListMandates,
    ListMandateUses,
    MandateProposal,
    MandateView,
    PreviewMandate,
    ProposeMandate,
    RevokeMandate,
    ShowMandate,
    mandate,
    mandate_uses,
    mandates,
    preview_mandate,
    propose_mandate,
    revoke_mandate,
)
from assay.flows.permits.permits import ClaimPermit, IssuePermit, claim_permit, issue_permit
from assay.flows.review.answer_desk import answer_desk
from assay.identity.errors import IdentityError
from assay.identity.principal import PrincipalChange, PrincipalKind
from assay.identity.risk import RiskTier
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import render_instant
from assay.permits.errors import PermitError
from assay.permits.mandate import ArgumentLimit, Budget
from assay.permits.permit import ToolCall, render_call
from assay.ports.damage import DamagedRecordError
from assay.review.draft import Reply
from assay.review.errors import ReviewError
from assay.surfaces.console.gist import gist_of
from tests.acting import amend_principal, caller_of
from tests.flows._claims import AGENT, ClaimsDesk, opened_claims
from tests.flows._people import ADMIN, TENANT
from tests.postgres_cluster import PostgresCluster
from tests.raising import is_of, raises


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClaimsDesk]:
    address = None
    if request.param == "postgres":
        cluster: PostgresCluster = request.getfixturevalue("postgres_cluster")
        name = cluster.create_database()
        provision(cluster.dsn(name), at=SystemClock().now())
        address = cluster.dsn(name, "assay_app")
    with opened_claims(tmp_path_factory.mktemp("mandates"), database=address) as desk:
        yield desk


class Till:
    """An agent that refunds: each till has a tool of its own, so that tests do not share mandates."""

    count = 0

    def __init__(self, desk: ClaimsDesk) -> None:
        Till.count += 1
        self.desk, self.tool, self.calls = desk, f"refund_{Till.count}", 0

    def terms(self, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
        made: dict[str, Any] = {
            "agent": AGENT,
            "tool": self.tool,
            "audience": "service:bank",
            "tier": RiskTier.DELETE,
            "purpose": "small refunds",
            "count": 10,
            "expires_at": render_instant(self.desk.at(hours=24)),
            "limits": (ArgumentLimit(argument="amount", minimum="1", maximum="50"),),
            "budget": Budget(argument="amount", total="100"),
        }
        return {**made, **changes}

    def propose(self, credential: str | None = None, **changes: Any) -> MandateProposal:  # noqa: ANN401 - any field
        caller = caller_of(self.desk.tools, credential or self.desk.agent, at=self.desk.at(minutes=1))
        return propose_mandate(self.desk.tools, caller, ProposeMandate(**self.terms(**changes))).value

    def sign(self, made: MandateProposal, *people: str, choice: str = "sign", minutes: int = 2) -> None:
        for person in people:
            at = self.desk.at(minutes=minutes)
            token = self.desk.session(person, seconds=minutes * 60)
            reply = Reply(choice=choice, seen=made.shown_hash, reason="the limits are small")
            answer_desk(self.desk.tools, self.desk.calling(token, at), made.ticket_id, reply)

    def signed(self, **changes: Any) -> MandateProposal:  # noqa: ANN401 - any field
        made = self.propose(**changes)
        self.sign(made, "user:otto")
        return made

    def bundle(self, amount: object, tier: RiskTier = RiskTier.DELETE, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
        self.calls += 1
        claim = self.desk.claim(tier, claim_type="DECISION", statement=f"refund {amount}, call {self.calls}")
        return self.desk.document(claim, id=f"{self.tool}-{self.calls}", **changes)

    def call(self, amount: object) -> ToolCall:
        return ToolCall(tool=self.tool, arguments={"amount": amount}, audience="service:bank")

    def gate(self, amount: object, *, minutes: int = 3, **changes: Any) -> GatedClaims:  # noqa: ANN401 - any field
        submission = {"tool_arguments": (render_call(self.call(amount)),)}
        given = self.bundle(amount, **changes)
        return self.desk.gate(given, submission=submission, at=self.desk.at(minutes=minutes))

    def show(self, made: MandateProposal, minutes: int = 9) -> MandateView:
        caller = caller_of(self.desk.tools, self.desk.agent, at=self.desk.at(minutes=minutes))
        return mandate(self.desk.tools, caller, ShowMandate(mandate_id=made.mandate_id))

    def revoke(self, made: MandateProposal, minutes: int = 5) -> MandateView:
        caller = caller_of(self.desk.tools, self.desk.agent, at=self.desk.at(minutes=minutes))
        request = RevokeMandate(mandate_id=made.mandate_id, reason="the season is over")
        return revoke_mandate(self.desk.tools, caller, request).value


def test_a_call_within_a_signed_mandate_needs_no_new_approval_and_cites_it(place: ClaimsDesk) -> None:
    till = Till(place)
    assert till.gate(20, minutes=1).decision is Decision.ESCALATE
    made = till.signed()
    gated = till.gate(20)
    assert gated.decision is Decision.PUBLISH
    assert gated.tickets == ()
    assert made.mandate_id in gated.outcome.reason
    caller = caller_of(place.tools, place.agent, at=place.at(minutes=4))
    permit = issue_permit(place.tools, caller, IssuePermit(bundle_hash=gated.bundle_hash)).value.permit
    assert permit.mandate_id == made.mandate_id
    view = till.show(made)
    assert (view.used_count, view.used_total, view.is_live) == (1, "20", True)
    (used,) = mandate_uses(place.tools, caller, ListMandateUses(mandate_id=made.mandate_id)).items
    assert (used.bundle_hash, used.amount) == (gated.bundle_hash, "20")
    # The same bundle again is answered with what is recorded: one use.
    place.resume(gated.bundle_hash)
    assert till.show(made).used_count == 1


@pytest.mark.parametrize(
    ("amount", "changes"),
    [
        (51, {}),
        (0, {}),
        ("all", {}),
        (20, {"tier": RiskTier.PRIVILEGE}),
        (20, {"required_approvals": ["user:sam"]}),
    ],
)
def test_whatever_is_outside_the_limits_waits_for_people(
    place: ClaimsDesk, amount: object, changes: dict[str, Any]
) -> None:
    till = Till(place)
    made = till.signed()
    assert till.gate(amount, **changes).decision is Decision.ESCALATE
    assert till.show(made).used_count == 0


def test_a_mandate_is_for_its_agent_its_audience_and_a_bundle_with_one_decision(place: ClaimsDesk) -> None:
    till = Till(place)
    till.signed()
    other = f"ai:{till.tool}"
    key = place.join(other.replace("_", "-"), kind=PrincipalKind.AGENT, risk_ceiling=RiskTier.PRIVILEGE)
    given = {**till.bundle(20), "origin_agent": other.replace("_", "-")}
    submission = {"tool_arguments": (render_call(till.call(20)),)}
    foreign = place.gate(given, credential=key, submission=submission, at=place.at(minutes=3))
    assert foreign.decision is Decision.ESCALATE
    elsewhere = {"tool_arguments": (render_call(ToolCall(tool=till.tool, arguments={"amount": 20}, audience="x")),)}
    assert place.gate(till.bundle(20), submission=elsewhere, at=place.at(minutes=3)).decision is Decision.ESCALATE
    fact = place.document(place.claim(RiskTier.DELETE), id=f"{till.tool}-fact")
    assert place.gate(fact, submission=submission, at=place.at(minutes=3)).decision is Decision.ESCALATE


def test_budget_count_start_and_expiry_end_it(place: ClaimsDesk) -> None:
    till = Till(place)
    made = till.signed(count=3)
    assert [till.gate(amount).decision for amount in (50, 40, 11, 10)] == [
        Decision.PUBLISH,
        Decision.PUBLISH,
        Decision.ESCALATE,
        Decision.PUBLISH,
    ]
    assert till.show(made).used_total == "100"
    assert not till.show(made).is_live
    late = Till(place)
    late.signed(starts_at=render_instant(place.at(minutes=20)), expires_at=render_instant(place.at(minutes=30)))
    assert late.gate(1, minutes=19).decision is Decision.ESCALATE
    assert late.gate(1, minutes=20).decision is Decision.PUBLISH
    assert late.gate(1, minutes=30).decision is Decision.ESCALATE


def test_a_revoked_mandate_covers_nothing_and_its_permits_cannot_be_claimed(place: ClaimsDesk) -> None:
    till = Till(place)
    made = till.signed()
    first, second = till.gate(5), till.gate(6)
    caller = caller_of(place.tools, place.agent, at=place.at(minutes=4))
    permit = issue_permit(place.tools, caller, IssuePermit(bundle_hash=first.bundle_hash)).value.permit
    assert till.revoke(made).ended_by == AGENT
    assert not till.revoke(made).is_live
    assert till.gate(5, minutes=5).decision is Decision.ESCALATE
    later = caller_of(place.tools, place.agent, at=place.at(minutes=6))
    call: dict[str, Any] = {"tool": till.tool, "audience": "service:bank", "arguments": {"amount": 5}}
    with raises(PermitError.mandate_refused, match="revoked"):
        claim_permit(place.tools, later, ClaimPermit(permit_id=permit.permit_id, **call))
    with raises(PermitError.mandate_refused, match="revoked"):
        issue_permit(place.tools, later, IssuePermit(bundle_hash=second.bundle_hash))


def test_a_large_mandate_needs_two_people_and_a_small_one_does_not(place: ClaimsDesk) -> None:
    till = Till(place)
    small = till.propose()
    assert (small.asked.signatures, small.asked.why_two) == (1, ())
    for change in (
        {"count": 21},
        {"expires_at": render_instant(place.at(hours=24 * 40))},
        {"budget": Budget(argument="amount", total="100.01")},
    ):
        assert till.propose(**change).asked.signatures == 2
    large = till.propose(count=21)
    till.sign(large, "user:otto")
    assert till.gate(5).decision is Decision.ESCALATE
    till.sign(large, "user:oda")
    assert till.gate(5).decision is Decision.PUBLISH
    assert till.show(large).signed_by == ("user:oda", "user:otto")
    strict = dataclasses.replace(place.tools, mandates=MandateSettings(single_count=0))
    caller = caller_of(strict, place.agent, at=place.at(minutes=1))
    assert propose_mandate(strict, caller, ProposeMandate(**till.terms(count=1))).value.asked.signatures == 2


def test_a_rejected_mandate_covers_nothing(place: ClaimsDesk) -> None:
    till = Till(place)
    made = till.propose()
    till.sign(made, "user:otto", choice="reject")
    assert till.gate(5).decision is Decision.ESCALATE
    with pytest.raises(NotFoundError):
        till.show(made)


def test_a_mandate_never_covers_privilege_and_none_is_signed_where_nobody_has_to_approve(place: ClaimsDesk) -> None:
    till = Till(place)
    with raises(PermitError.mandate_refused, match="below PRIVILEGE"):
        till.propose(tier=RiskTier.PRIVILEGE)
    with raises(PermitError.mandate_refused, match="need no mandate"):
        till.propose(tier=RiskTier.MODIFY)


def test_only_the_agent_itself_operators_and_reviewers_may_propose(place: ClaimsDesk) -> None:
    till = Till(place)
    with raises(IdentityError.role):
        till.propose(credential=place.session("user:otto", seconds=60))
    by_operator = till.propose(credential=place.session("user:olga", seconds=60))
    assert by_operator.asked.terms.agent == AGENT
    name = f"user:{till.tool.replace('_', '-')}"
    place.add(name, roles=("ops_team", "operator"))
    own = till.propose(credential=place.session(name, seconds=60))
    with raises(ReviewError.own_request):
        till.sign(own, name)


def test_the_signers_see_what_it_would_have_allowed_last_month(place: ClaimsDesk) -> None:
    till = Till(place)
    for amount in (20, 60, 30):
        till.gate(amount, minutes=0)
    waiting = till.gate(40, minutes=0)
    place.decide(place.find(waiting.tickets[0].ticket_id), "user:otto", "reject", at=place.at(seconds=30))
    preview = till.propose().asked.preview
    assert (preview.calls, preview.allowed, preview.amount) == (4, 3, "90")
    assert preview.refused_then == 1
    assert preview.allowed_calls[0].decision == "REFUSE"
    assert "must be at most 50" in preview.other_calls[0].reasons[0]
    caller = caller_of(place.tools, place.agent, at=place.at(minutes=1))
    again = preview_mandate(place.tools, caller, PreviewMandate(**till.terms(count=1)))
    assert (again.allowed, again.calls) == (1, 4)
    assert mandates(place.tools, caller, ListMandates(agent=AGENT)).next is None


def test_a_mandate_falls_with_the_role_of_its_signer(place: ClaimsDesk) -> None:
    till = Till(place)
    name = f"user:{till.tool.replace('_', '-')}"
    place.add(name, roles=("ops_team",))
    made = till.propose()
    till.sign(made, name)
    assert till.gate(5).decision is Decision.PUBLISH
    left = PrincipalChange(roles=("reviewer",))
    amend_principal(place.tools, TENANT, PrincipalId(name), left, by=ADMIN, at=place.at(minutes=5))
    assert till.gate(5, minutes=6).decision is Decision.ESCALATE
    assert "no longer active" in till.show(made).reasons[0]


def test_a_rejection_of_the_call_itself_outweighs_a_mandate(place: ClaimsDesk) -> None:
    till = Till(place)
    waiting = till.gate(5, minutes=1)
    till.signed()
    assert place.resume(waiting.bundle_hash, at=place.at(minutes=3)).decision is Decision.ESCALATE
    place.decide(place.find(waiting.tickets[0].ticket_id), "user:otto", "reject", at=place.at(minutes=4))
    assert place.resume(waiting.bundle_hash, at=place.at(minutes=5)).decision is Decision.REFUSE


def test_sixty_four_callers_never_exceed_budget_or_count(place: ClaimsDesk) -> None:
    """The amounts add up to more than the budget in every order, and there are more calls than uses."""
    till = Till(place)
    made = till.signed(count=9)
    amounts = [7, 11, 13, 17] * 16
    bundles = [(till.bundle(amount), render_call(till.call(amount))) for amount in amounts]

    def gate(given: tuple[dict[str, Any], str]) -> Decision:
        for _ in range(200):
            try:
                return place.gate(given[0], submission={"tool_arguments": (given[1],)}, at=place.at(minutes=3)).decision
            except ClaimsFlowError as error:
                if not is_of(error, ClaimsFlowError.busy):
                    raise
        raise AssertionError

    with ThreadPoolExecutor(64) as pool:
        decisions = list(pool.map(gate, bundles))
    published = [amount for amount, decision in zip(amounts, decisions, strict=True) if decision is Decision.PUBLISH]
    view = till.show(made)
    assert view.used_count == len(published) <= 9
    assert Decimal(view.used_total) == sum(published) <= 100
    # Nothing that still fitted was left: another call of the smallest amount does not fit either.
    assert view.used_count == 9 or Decimal(view.used_total) > 100 - 17


def test_a_decision_by_a_mandate_is_made_again_from_what_is_on_record(place: ClaimsDesk) -> None:
    till = Till(place)
    till.signed()
    gated = till.gate(5)
    caller = caller_of(place.tools, place.agent, at=place.at(minutes=9))
    found = backtest(place.tools, caller, BacktestPolicy())
    changed = {one.bundle_hash for one in (*found.backtest.newly_published, *found.backtest.changed)}
    assert gated.bundle_hash not in changed
    assert found.backtest.unchanged > 0
    audit_ledger(place.tools, TENANT, full=True)


def test_a_deleted_use_or_end_is_damage_and_gives_nothing_back(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("damage")
    with opened_claims(folder) as desk:
        till = Till(desk)
        made = till.signed(count=1)
        assert till.gate(5).decision is Decision.PUBLISH
    with sqlite3.connect(folder / "node" / "assay.db") as raw:
        raw.execute("DROP TRIGGER mandate_use_no_delete")
        raw.execute("DELETE FROM mandate_use")
    with opened_claims(folder) as desk:
        till.desk = desk
        with pytest.raises(DamagedRecordError, match=made.mandate_id):
            till.gate(5)


def test_terms_end_in_the_future(place: ClaimsDesk) -> None:
    with raises(PermitError.mandate_refused, match="in the future"):
        Till(place).propose(expires_at=render_instant(place.start - timedelta(hours=1)))


def test_a_mandate_ticket_is_readable(place: ClaimsDesk) -> None:
    """The console shows agent, tool, limits, budget, signers and last month's calls by name, from the signed text."""
    till = Till(place)
    till.gate(20, minutes=0)
    made = till.propose(count=30)
    shown = place.tools.database.read(lambda unit: unit.review.find_ticket(TENANT, made.ticket_id))
    assert shown is not None
    facts = gist_of(shown.shown, shown.kind)
    names = dict(facts)
    assert names["Agent"] == AGENT
    assert names["Tool"] == f"{till.tool} at service:bank"
    assert names["Limit"].startswith("amount")
    assert names["Budget"] == "amount: 100"
    assert names["Last 30 days"] == "1 of 1 calls, 20 in all"
    assert "30 calls" in names["Four eyes"]
    assert "refund 20" in names["Would have been allowed"]
