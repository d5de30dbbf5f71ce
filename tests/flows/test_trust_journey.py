"""Trust: who may log which signal, how standing moves, marks, penalties by people, and another policy's view."""

from collections.abc import Callable, Iterator
from dataclasses import replace as renewed
from decimal import Decimal
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.flows.errors import NotFoundError
from assay.flows.errors.identity import IdentityFlowError, NotSignedInError
from assay.flows.errors.truth import TruthFlowError
from assay.flows.known import get_ticket
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.review.settle_reviews import settle_reviews
from assay.flows.trust.check_trust import check_trust
from assay.flows.trust.fold_shelf import FoldShelf
from assay.flows.trust.fold_trust import fold_trust, keep_marks
from assay.flows.trust.standings import compare_policies, freeze_agents, list_standings
from assay.flows.truth.compile_truth import compile_truth
from assay.identity.errors import IdentityError
from assay.kernel.errors import Error
from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.ledger import EntryKind
from assay.review.errors import ReviewError
from assay.trust.errors import PolicyError, SignalError
from assay.trust.lint import lint_policy, report_hash
from assay.trust.parse_policy import parse_policy
from assay.trust.signal import (
    AgentRegistered,
    DisputeRaised,
    Endorsement,
    ProbeCreated,
    RoleGranted,
    SignalKind,
    TrustSignal,
    TruthstateEmitted,
)
from assay.truth.contract import Standing
from assay.truth.status import TruthStatus
from tests.acting import disable_principal
from tests.acting_truth import record_signal, register_policy, request_penalty
from tests.flows._node import TENANT, damage
from tests.flows._people import ADMIN
from tests.flows._truth import POLICY, TruthDesk, critical_flood, in_force, opened_truth
from tests.raising import raises


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TruthDesk]:
    with opened_truth(tmp_path, contract=critical_flood()) as one:
        one.people()
        yield one


def _verified(desk: TruthDesk) -> None:
    """A final state: three were right, and two confirmed it."""
    for name in ("user:ann", "user:ben"):
        desk.observe(name, claim_type="earth.flood.v2")
    desk.observe("user:cem", {"severity": "low", "water_level_meters": 1}, claim_type="earth.flood.v2")
    desk.score(local_vision=0.95)
    desk.compile("12:40")
    desk.vote("user:eve", at="12:50")
    final = in_force(desk.vote("user:gus", at="12:55"))
    assert final.state.status is TruthStatus.VERIFIED_TRUE


def _standing(desk: TruthDesk, name: str, at: str = "13:00") -> Decimal:
    (view,) = list_standings(desk.tools, TENANT, at=desk.now(at), agents=[name]).agents
    return view.standing


def test_a_final_state_raises_those_who_were_right_and_lowers_those_who_were_not(desk: TruthDesk) -> None:
    """Reporters by what they said, voters by what they chose; an observation alone moves nothing."""
    desk.observe("user:ann", claim_type="earth.flood.v2", reported="12:01")
    assert _standing(desk, "user:ann") == 300
    _verified(desk)
    assert _standing(desk, "user:ann") > 300
    assert _standing(desk, "user:cem") < 300
    assert _standing(desk, "user:gus") > 300
    assert _standing(desk, "user:fay") == 300


@pytest.mark.clause("kaori", "9.1")
def test_a_snapshot_is_frozen_data_that_later_signals_do_not_change(desk: TruthDesk) -> None:
    """It is in the ledger whole, and only those who reported or voted are in it."""
    _verified(desk)
    bodies = desk.entries(EntryKind.SNAPSHOT_FROZEN)
    agents = [set(body["snapshot"]["agent_trusts"]) for body in bodies]
    assert agents[0] == {"user:ann", "user:ben", "user:cem"}
    assert agents[-1] == {"user:ann", "user:ben", "user:cem", "user:eve", "user:gus"}
    states = desk.entries(EntryKind.TRUTH_STATE)
    named = [one["state"]["compile_inputs"]["trust_snapshot_hash"] for one in states]
    assert set(named) == {body["snapshot"]["snapshot_hash"] for body in bodies}


def test_who_is_disabled_is_known_and_not_heard(desk: TruthDesk) -> None:
    desk.observe("user:eve", claim_type="earth.flood.v2")
    disable_principal(desk.tools, TENANT, PrincipalId("user:eve"), by=ADMIN, at=desk.now("12:31"))
    compiled = desk.compile("12:40")
    assert (compiled.state.status, compiled.state.transparency_flags) == (
        TruthStatus.UNVERIFIED,
        ("reporter_not_heard",),
    )


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (SignalKind.AGENT_REGISTERED, AgentRegistered(agent_id="user:new")),
        (SignalKind.ROLE_GRANTED, RoleGranted(agent_id="user:ann", role="official")),
        (SignalKind.PROBE_CREATED, ProbeCreated(probe_id="p-1", created_by="user:eve")),
    ],
)
def test_signals_that_give_something_need_a_role(desk: TruthDesk, kind: SignalKind, body: object) -> None:
    key = desk.key("user:eve")
    with raises(IdentityError.role):
        desk.signal(kind, body, credential=key, by="user:eve")  # type: ignore[arg-type]  # a case of the table


@pytest.mark.parametrize("theta_min", ["7", "1.000001", "-0.1", "NaN", "Infinity"])
def test_an_admissibility_threshold_that_is_no_share_is_refused(desk: TruthDesk, theta_min: str) -> None:
    """Also of a signal that was made in Python and read from no text: beyond 1 it would admit nobody, for ever."""
    body = ProbeCreated(probe_id="p-1", created_by="user:eve", theta_min=Decimal(theta_min))
    before = desk.head()
    with pytest.raises(Error) as refused:
        desk.signal(SignalKind.PROBE_CREATED, body, credential=desk.operator, by="user:op")
    assert refused.value.code == ("trust.signal" if Decimal(theta_min).is_finite() else "truth.number")
    assert desk.head() == before


def test_endorsements_and_disputes_are_anybodys_own(desk: TruthDesk) -> None:
    """And nobody else's."""
    key, body = desk.key("user:eve"), Endorsement(endorsed="user:ann", weight=Decimal("0.5"))
    assert desk.signal(SignalKind.ENDORSEMENT, body, credential=key, by="user:eve").is_new
    (view,) = list_standings(desk.tools, TENANT, at=desk.now("13:00"), agents=["user:ann"]).agents
    assert (view.endorsed_by, view.standing) == (("user:eve",), Decimal(300))
    dispute = DisputeRaised(truthkey=desk.truthkey, state_hash="0" * 64)
    assert desk.signal(SignalKind.DISPUTE_RAISED, dispute, credential=key, by="user:eve").is_new
    with raises(TruthFlowError.trust_signal_refused):
        desk.signal(SignalKind.ENDORSEMENT, body, credential=key, by="user:fay")


def test_nobody_hands_in_what_only_the_system_may_say(desk: TruthDesk) -> None:
    """A state's outcome, from whomever it comes."""
    body = TruthstateEmitted(
        truthkey=desk.truthkey,
        claim_type="earth.flood.v2",
        state_hash="0" * 64,
        status=TruthStatus.VERIFIED_TRUE,
        outcomes=(),
    )
    with raises(TruthFlowError.trust_signal_refused, match="expected one of"):
        desk.signal(SignalKind.TRUTHSTATE_EMITTED, body, credential=desk.operator, by="user:op")
    assert len(SignalKind) == 16


def test_a_signal_is_logged_once_and_never_from_the_future(desk: TruthDesk) -> None:
    key = desk.key("user:eve")
    signal = TrustSignal(
        signal_id="e-1",
        kind=SignalKind.ENDORSEMENT,
        agent_id="user:eve",
        occurred_at=desk.now("12:10"),
        object=Endorsement(endorsed="user:ann", weight=Decimal("0.5")),
    )
    first = record_signal(desk.tools, signal, credential=key, at=desk.now("12:20"))
    again = record_signal(desk.tools, signal, credential=key, at=desk.now("12:30"))
    assert (first.is_new, again.is_new, again.sequence_number) == (True, False, first.sequence_number)
    other = replace(signal, object=Endorsement(endorsed="user:ann", weight=Decimal(1)))
    with raises(TruthFlowError.record_conflict):
        record_signal(desk.tools, other, credential=key, at=desk.now("12:30"))
    with raises(TruthFlowError.trust_signal_refused, match="expected a time up to"):
        record_signal(desk.tools, signal, credential=key, at=desk.now("12:05"))
    with pytest.raises(SignalError):
        record_signal(desk.tools, b"{}", credential=key, at=desk.now("12:05"))


def test_without_a_valid_credential_nothing_is_done(desk: TruthDesk) -> None:
    """Every door is the same door."""
    head, at = desk.head(), desk.now("12:30")
    body = Endorsement(endorsed="user:b", weight=Decimal(1))
    doors: list[Callable[[], object]] = [
        lambda: desk.signal(SignalKind.ENDORSEMENT, body, credential="x", by="user:eve"),
        lambda: register_policy(desk.tools, POLICY, credential="x", at=at),
        lambda: request_penalty(desk.tools, "user:ann", Decimal(1), reason="r", credential="x", at=at),
    ]
    for door in doors:
        with pytest.raises(NotSignedInError):
            door()
    assert desk.head() == head


def test_a_policy_is_registered_once_and_the_latest_is_in_force(desk: TruthDesk) -> None:
    """The same again changes nothing, another body under its id is refused, and inheritance is resolved."""
    at = desk.now("12:30")
    again = register_policy(desk.tools, POLICY, credential=desk.operator, at=at)
    assert not again.is_new
    with raises(TruthFlowError.trust_policy_changed):
        register_policy(
            desk.tools,
            POLICY.replace("initial_standing: 300", "initial_standing: 310"),
            credential=desk.operator,
            at=at,
        )
    with raises(IdentityError.role):
        register_policy(desk.tools, POLICY, credential=desk.admin, at=at)
    with pytest.raises(NotFoundError):
        list_standings(desk.tools, TENANT, at=at, policy_hash="0" * 64)
    assert list_standings(desk.tools, TENANT, at=at, policy_hash=again.policy.policy_hash).policy_id == "flow_v1"
    with pytest.raises(PolicyError):
        register_policy(desk.tools, "id: [", credential=desk.operator, at=at)
    child = "id: flow_v2\nversion: 2\nextends: flow_v1\ninitial_standing: 320\n"
    session = desk.signed_in("user:op", "12:30")
    assert register_policy(desk.tools, child, credential=session, at=at).is_new
    views = list_standings(desk.tools, TENANT, at=at)
    assert (views.policy_id, {view.standing for view in views.agents}) == ("flow_v2", {Decimal(320)})


def test_the_policy_in_force_is_changed_by_a_person_who_is_there(desk: TruthDesk) -> None:
    """A key that lies about somewhere changes nobody's standing."""
    child, head = "id: flow_v2\nversion: 2\nextends: flow_v1\ninitial_standing: 320\n", desk.head()
    with raises(IdentityFlowError.session_required):
        register_policy(desk.tools, child, credential=desk.operator, at=desk.now("12:30"))
    with raises(IdentityError.role):
        register_policy(desk.tools, child, credential=desk.signed_in("user:eve", "12:30"), at=desk.now("12:30"))
    assert desk.entries(EntryKind.TRUST_POLICY)[-1]["policy_id"] == "flow_v1"
    assert desk.head() > head  # the two who signed in, and nothing else


_WEAK = "id: flow_lax\nversion: 2\nextends: flow_v1\nlimits: {per_day: 500, per_window: 500, window: P1D}\n"


def test_a_policy_is_registered_with_its_weaknesses_only_by_whoever_names_each(desk: TruthDesk) -> None:
    """What it lets happen is found by linting, is accepted by its codes, and goes on record with the report's hash."""
    session, at = desk.signed_in("user:op", "12:30"), desk.now("12:30")
    report = lint_policy(parse_policy(_WEAK, parents={"flow_v1": POLICY}))
    codes = [one.code.value for one in report.findings]
    assert "quick_authority" in codes
    for accept in ([], codes[1:], [*codes, "spammer_heard_often"]):
        with raises(TruthFlowError.trust_policy_weak, match="quick_authority"):
            register_policy(desk.tools, _WEAK, credential=session, accept=accept, at=at)
    assert register_policy(desk.tools, _WEAK, credential=session, accept=codes, at=at).is_new
    linted = desk.entries(EntryKind.TRUST_POLICY)[-1]["linted"]
    assert linted["report_hash"] == report_hash(report)
    assert [one["code"] for one in linted["findings"]] == codes
    assert desk.entries(EntryKind.TRUST_POLICY)[0]["linted"]["findings"] == []


def test_another_policy_reads_the_same_log_and_nothing_changes(desk: TruthDesk) -> None:
    _verified(desk)
    head = desk.head()
    other = "id: what_if\nversion: 1\nextends: flow_v1\nupdates: {correct: 9, incorrect: 5}\n"
    found = compare_policies(desk.tools, TENANT, other, claim_type="earth.flood.v2", at=desk.now("13:00"))
    assert "user:ann" in {one.agent_id for one in found.differences}
    assert desk.head() == head


def _marked(desk: TruthDesk) -> None:
    """A mark of all there is, left by this node."""
    eager = renewed(desk.tools, folds=FoldShelf(mark_every=1))
    eager.database.read(lambda unit: fold_trust(unit, eager, TENANT))
    keep_marks(eager, TENANT)


def test_a_mark_shortens_the_way_and_changes_no_answer(desk: TruthDesk) -> None:
    _verified(desk)
    before = list_standings(desk.tools, TENANT, at=desk.now("13:00"))
    folded = desk.read(lambda unit: fold_trust(unit, desk.tools, TENANT))
    keep_marks(desk.tools, TENANT)
    assert folded.since_mark > 0
    _marked(desk)
    desk.tools = renewed(desk.tools, folds=FoldShelf())
    assert desk.read(lambda unit: fold_trust(unit, desk.tools, TENANT)).since_mark == 0
    assert list_standings(desk.tools, TENANT, at=desk.now("13:00")) == before
    finding = check_trust(desk.tools, TENANT)
    assert (finding.problems, finding.marked) == ((), folded.through)


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("UPDATE trust_mark SET text = replace(text, '300000000', '900000000')", "trust.mark_unsigned"),
        (
            "UPDATE trust_signal SET text = replace(text, 'user:ann', 'user:ben') WHERE kind = 'AGENT_REGISTERED'",
            "trust.log_differs",
        ),
        ("DELETE FROM trust_signal WHERE kind = 'TRUTHSTATE_EMITTED'", "trust.log_differs"),
        ("UPDATE trust_mark SET text = '{}'", "trust.mark_unsigned"),
        ("UPDATE trust_mark SET through = through - 1", "trust.mark_unsigned"),
        ("UPDATE trust_mark SET signature = ''", "trust.mark_unsigned"),
    ],
)
def test_a_mark_or_a_log_that_was_changed_is_found(desk: TruthDesk, tmp_path: Path, statement: str, code: str) -> None:
    """The ledger says what was signalled, whatever the tables say."""
    _verified(desk)
    _marked(desk)
    damage(tmp_path / "node", statement)
    assert {problem.code for problem in check_trust(desk.tools, TENANT).problems} == {code}


def test_a_mark_that_cannot_be_read_costs_only_time(desk: TruthDesk, tmp_path: Path) -> None:
    _verified(desk)
    before = list_standings(desk.tools, TENANT, at=desk.now("13:00"))
    _marked(desk)
    damage(tmp_path / "node", "UPDATE trust_mark SET text = '{}'")
    desk.tools = renewed(desk.tools, folds=FoldShelf())
    assert list_standings(desk.tools, TENANT, at=desk.now("13:00")) == before


def test_a_penalty_is_what_people_decide(desk: TruthDesk) -> None:
    """Whoever asks does not decide, nor does the agent it is about; the signal names ticket and answers."""
    asker = desk.join("user:hal", "reviewer")
    desk.trust("user:hal")
    ticket = request_penalty(
        desk.tools, "user:eve", Decimal("12.5"), reason="sold pictures", credential=asker, at=desk.now("12:30")
    )
    opened = desk.read(lambda unit: get_ticket(unit, TENANT, TicketId(ticket.ticket_id)))
    before = _standing(desk, "user:eve")
    for name in ("user:hal", "user:eve"):
        with raises(ReviewError.own_request):
            desk.answer(
                opened, desk.signed_in(name, "12:40"), "apply", follow_ups=ROOM_FOLLOW_UPS, at=desk.now("12:40")
            )
    desk.answer(opened, desk.signed_in("user:fay", "12:50"), "apply", follow_ups=ROOM_FOLLOW_UPS, at=desk.now("12:50"))
    assert _standing(desk, "user:eve") == before - Decimal("12.5")
    body = desk.entries(EntryKind.TRUST_SIGNAL)[-1]
    assert (body["ticket_id"], body["signal"]["kind"]) == (ticket.ticket_id, "PENALTY_APPLIED")
    assert len(body["signal"]["object"]["answer_hashes"]) == 1


def test_a_penalty_that_was_dismissed_or_forgotten_is_none(desk: TruthDesk) -> None:
    asker = desk.join("user:hal", "reviewer")
    at = desk.now("12:30")
    first = request_penalty(desk.tools, "user:eve", Decimal(1), reason="r", credential=asker, at=at)
    session = desk.signed_in("user:fay", "12:50")
    opened = desk.read(lambda unit: get_ticket(unit, TENANT, TicketId(first.ticket_id)))
    desk.answer(opened, session, "dismiss", follow_ups=ROOM_FOLLOW_UPS, at=desk.now("12:50"), reason="no proof")
    request_penalty(desk.tools, "user:eve", Decimal(1), reason="r", credential=asker, at=at)
    swept = settle_reviews(desk.tools, TENANT, at=desk.now("8T12:30"), follow_ups=ROOM_FOLLOW_UPS)
    assert [one.denied for one in swept.settled] == [True]
    assert _standing(desk, "user:eve", "8T12:30") == 300


@pytest.mark.parametrize(
    ("agent", "points", "error"),
    [
        ("user:nobody", Decimal(1), NotFoundError),
        ("user:eve", Decimal(0), SignalError),
        ("user:eve", Decimal(1001), SignalError),
    ],
)
def test_a_penalty_that_could_not_be_applied_is_not_asked_for(
    desk: TruthDesk, agent: str, points: Decimal, error: type[Error]
) -> None:
    head = desk.head()
    with pytest.raises(error):
        request_penalty(desk.tools, agent, points, reason="r", credential=desk.operator, at=desk.now("12:30"))
    assert desk.head() == head


def test_what_is_frozen_for_a_claim_type_can_be_looked_at(desk: TruthDesk) -> None:
    """All agents, or some; for a probe with what it gives."""
    at = desk.now("12:30")
    whole = freeze_agents(desk.tools, TENANT, claim_type="earth.flood.v2", at=at)
    assert len(whole.agent_trusts) == 6
    probe = ProbeCreated(probe_id="p-1", created_by="user:eve")
    desk.signal(SignalKind.PROBE_CREATED, probe, credential=desk.operator, by="user:op")
    own = freeze_agents(desk.tools, TENANT, claim_type="earth.flood.v2", at=at, agents=["user:eve"], probe="p-1")
    assert own.agent_trusts["user:eve"].standing is Standing.EXPERT
    assert own.agent_trusts["user:eve"].trust_score < whole.agent_trusts["user:eve"].trust_score


def test_a_state_does_not_raise_itself(desk: TruthDesk) -> None:
    """While people's answer stands, so does the trust that they answered about, also when fresh trust is asked for."""
    _verified(desk)
    again = desk.compile("13:00")
    fresh = compile_truth(desk.tools, TENANT, desk.truthkey, at=desk.now("13:01"), fresh_trust=True)
    assert (again.is_new, fresh.is_new) == (False, False)


def test_trust_that_changed_counts_for_the_next_record_or_when_fresh_trust_is_asked_for(desk: TruthDesk) -> None:
    desk.observe("user:ann", claim_type="earth.flood.v2")
    first = desk.compile("12:40")
    grant = RoleGranted(agent_id="user:ann", role="specialist")
    desk.signal(SignalKind.ROLE_GRANTED, grant, credential=desk.admin, by="user:root", at="12:41")
    assert not desk.compile("12:42").is_new
    fresh = compile_truth(desk.tools, TENANT, desk.truthkey, at=desk.now("12:43"), fresh_trust=True)
    assert fresh.is_new
    assert fresh.state.compile_inputs.trust_snapshot_hash != first.state.compile_inputs.trust_snapshot_hash
