"""Where several must approve a bundle, each judges alone: nothing about the bundle tells what others answered."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec import Raw
from msgspec.structs import replace as replace_fields

from assay.claims.bundle import Decision
from assay.flows.claims.decide_claims import GatedClaims
from assay.flows.review.act_review import act_review, claim_wish
from assay.flows.review.tell_events import may_tell_of_others, tell_events
from assay.identity.principal import Principal
from assay.identity.risk import RiskTier
from assay.kernel.ids import PrincipalId
from assay.kernel.ledger import EntryKind
from assay.ports.database import Unit
from assay.ports.events import OutboxEvent
from assay.review.kind import TicketKind
from assay.review.ticket import Ticket
from tests.acting import caller_of, looking, view_desk
from tests.flows._claims import ClaimsDesk, copied_claims, opened_claims
from tests.flows._node import TENANT

_POLICY = """
id: three
version: "1"
approvals: {by_tier: {DELETE: [{role: ops_team, people: 3}], PRIVILEGE: [{role: security_team, people: 1}]}}
"""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("blind")
    with opened_claims(folder) as desk:
        desk.join("user:olaf", "ops_team", "reviewer")
        desk.policy(_POLICY)
    return folder


@pytest.fixture
def desk(template: Path, tmp_path: Path) -> Iterator[ClaimsDesk]:
    with opened_claims(copied_claims(template, tmp_path)) as opened:
        yield opened


def _who(desk: ClaimsDesk, name: str) -> Principal:
    found = desk.read(lambda unit: unit.identity.find_principal(TENANT, PrincipalId(name)))
    assert found is not None
    return found


def _approved_once(desk: ClaimsDesk) -> tuple[GatedClaims, Ticket]:
    """Otto approves; the bundle is gated again with that, and two more are missing."""
    gated, (ticket,) = desk.waiting(RiskTier.DELETE)
    again = desk.decide(ticket, "user:otto").gated
    assert again is not None
    assert (again.position, "2 of ops_team" in again.outcome.reason) == (2, True)
    return gated, ticket


def _told(desk: ClaimsDesk, gated: GatedClaims, viewer: Principal | None) -> list[bool]:
    """Whether each way of looking at the bundle tells that Otto has answered."""
    at = desk.at(minutes=4)
    view = desk.shown(gated.bundle_hash, viewer=viewer, at=at)
    # Who may list the claims of others: an auditor, beside being an approver.
    lister = None if viewer is None else replace_fields(viewer, roles=("auditor", *viewer.roles))
    (line,) = desk.listed(viewer=lister)
    return [
        bool(view.gated.bundle.audit_trail.human_approvals),
        "2 of ops_team" in view.gated.bundle.reason,
        view.gated.position == 2,
        len(view.decisions) == 2,
        "2 of ops_team" in (line.reason or ""),
    ]


def test_a_bundle_tells_an_approver_nothing_of_the_others_before_their_own_answer_counts(desk: ClaimsDesk) -> None:
    """Neither who approved, nor how many are missing, nor that it was decided again; everybody else sees it."""
    gated, ticket = _approved_once(desk)
    oda = _who(desk, "user:oda")
    assert not any(_told(desk, gated, oda))
    assert all(_told(desk, gated, _who(desk, "user:otto")))
    assert all(_told(desk, gated, None))
    own = desk.decide(ticket, "user:oda", at=desk.at(minutes=4)).gated
    assert own is not None
    assert (own.position, len(own.bundle.audit_trail.human_approvals)) == (3, 2)
    done = desk.decide(ticket, "user:olaf", at=desk.at(minutes=5)).gated
    assert done is not None
    assert (done.decision, len(done.bundle.audit_trail.human_approvals)) == (Decision.PUBLISH, 3)


def test_gating_again_and_an_answer_that_can_be_undone_tell_nothing_either(desk: ClaimsDesk) -> None:
    """Whoever could ask so before judging would not judge alone; `is_new` would tell as well."""
    gated, (ticket,) = desk.waiting(RiskTier.DELETE)
    before = desk.resume(gated.bundle_hash, credential=desk.session("user:oda"), at=desk.at(minutes=2))
    desk.decide(ticket, "user:otto")
    after = desk.resume(gated.bundle_hash, credential=desk.session("user:oda"), at=desk.at(minutes=4))
    assert after == before
    desk.use(desk=replace(desk.tools.desk, grace={TicketKind.APPROVAL: timedelta(minutes=9)}))
    held = desk.decide(ticket, "user:oda", at=desk.at(minutes=5))
    assert held.answered.takes_effect_at is not None
    assert held.gated == before


def test_events_about_answers_are_not_told_to_whoever_is_still_to_answer(desk: ClaimsDesk) -> None:
    """A rejection would settle the ticket, so an answer without a settlement is an approval."""
    gated, ticket = _approved_once(desk)

    def kinds(name: str) -> list[str]:
        viewer = _who(desk, name)

        def look(unit: Unit) -> tuple[OutboxEvent, ...]:
            events = unit.outbox.events(TENANT, after=0, limit=1000)
            about = [one for one in events if one.subject in (ticket.id, gated.bundle_hash)]
            assert may_tell_of_others(about)
            return tell_events(unit, about, viewer)

        return [one.type for one in desk.read(look)]

    seen = [EntryKind.CLAIMS_RECEIVED, EntryKind.CLAIMS_DECIDED, EntryKind.TICKET_OPENED]
    assert kinds("user:oda") == seen
    assert kinds("user:otto") == [*seen, EntryKind.TICKET_ANSWERED, EntryKind.CLAIMS_DECIDED]


@pytest.mark.parametrize("name", [EntryKind.CLAIMS_DECIDED, EntryKind.TICKET_ANSWERED])
def test_what_another_service_told_under_such_a_name_stops_no_stream(desk: ClaimsDesk, name: EntryKind) -> None:
    """It has a form of its own and is about no ticket; were it read as ours, no reader would ever come past it."""
    told = OutboxEvent(
        tenant_id=TENANT,
        position=1,
        ledger_sequence=1,
        type=name,
        subject="emitter:service:bell",
        occurred_at=desk.at(minutes=1),
        body=Raw(b"{}"),
    )
    viewer = _who(desk, "user:oda")
    assert desk.read(lambda unit: tell_events(unit, [told], viewer)) == (told,)


def test_a_lease_on_such_a_ticket_runs_out_by_itself(desk: ClaimsDesk) -> None:
    """One that ended with the answer would tell of it; the others see what they saw before."""
    _, (ticket,) = desk.waiting(RiskTier.DELETE)
    act_review(
        desk.tools,
        caller_of(desk.tools, desk.session("user:otto"), at=desk.at(minutes=2)),
        ticket.id,
        claim_wish(desk.tools),
    )
    oda = _who(desk, "user:oda")

    def shown() -> object:
        return view_desk(desk.tools, looking(oda, at=desk.at(minutes=4)), ticket.id)

    before = shown()
    desk.decide(ticket, "user:otto")
    assert shown() == before
