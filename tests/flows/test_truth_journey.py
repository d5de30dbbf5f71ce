"""From observations to a signed state: both lanes, late observations, votes, and what is left of a crash."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from assay.flows.errors.truth import CompileTimeError, TruthFlowError
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.flows.truth.compile_truth import CompiledTruth, compile_truth, expire_truth
from assay.kernel.ledger import EntryKind
from assay.review.settle import SettlementState
from assay.truth.contract import VoteType
from assay.truth.status import TruthStatus, VerificationBasis
from tests.acting import looking, view_ticket
from tests.flows._node import TENANT
from tests.flows._people import LostError, at_once
from tests.flows._truth import POLICY, BeforeWriting, TruthDesk, critical_flood, in_force, opened_truth
from tests.raising import raises


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TruthDesk]:
    with opened_truth(tmp_path) as one:
        one.people()
        yield one


@pytest.fixture
def critical(tmp_path: Path) -> Iterator[TruthDesk]:
    with opened_truth(tmp_path, contract=critical_flood()) as one:
        one.people()
        for name in ("user:ann", "user:ben", "user:cem"):
            one.observe(name, claim_type="earth.flood.v2")
        one.score(local_vision=0.95)
        yield one


def _flooded(desk: TruthDesk) -> None:
    """Enough trusted reports, and machines that see water."""
    for name in ("user:eve", "user:fay", "user:ann"):
        desk.observe(name)
    desk.score(local_vision=0.95)


def _stale(desk: TruthDesk) -> list[str]:
    return desk.read(lambda unit: list(unit.truth.keys(TENANT, stale_only=True)))


@pytest.mark.clause("kaori", "15.1")
@pytest.mark.clause("kaori", "12.1")
def test_machines_and_agreement_verify_a_monitored_flood_and_nobody_is_asked(tmp_path: Path) -> None:
    """Trusted reporters, machines that see water, and a confidence that reaches the contract's threshold."""
    trusting = POLICY.replace("initial_standing: 300", "initial_standing: 700")
    weak = ("collusion_outvotes", "quick_authority", "spammer_heard", "sybils_lift_each_other")
    with opened_truth(tmp_path, policy=trusting, accept=weak) as desk:
        desk.people()
        _flooded(desk)
        final = desk.compile("12:40")
        assert (final.state.status, final.version) == (TruthStatus.VERIFIED_TRUE, 1)
        assert final.state.verification_basis in (
            VerificationBasis.IMPLICIT_CONSENSUS,
            VerificationBasis.AI_AUTOVALIDATION,
        )
        assert final.state.security is not None
        assert desk.entries(EntryKind.TICKET_OPENED) == []
        assert desk.entries(EntryKind.WINDOW_CHANGED) == []
        outcomes = desk.entries(EntryKind.TRUTH_STATE)[0]["signal"]["object"]["outcomes"]
        assert [one["correct"] for one in outcomes] == [True, True, True]


@pytest.mark.clause("kaori", "16.1")
@pytest.mark.clause("kaori", "17")
def test_a_flood_is_compiled_from_observations_and_all_of_it_is_in_the_ledger(desk: TruthDesk) -> None:
    """Read, trust, compile, sign, persist: Bronze in, Silver appended, Gold served, all of it in the ledger."""
    _flooded(desk)
    first = desk.compile("12:40")
    assert (first.version, first.is_new) == (1, True)
    assert first.state.claim["severity"] == "high"
    assert len(first.state.observation_ids) == 3
    kinds = [EntryKind.OBSERVATION_RECORDED, EntryKind.AI_SCORE_RECORDED, EntryKind.SNAPSHOT_FROZEN]
    assert [len(desk.entries(kind)) for kind in kinds] == [3, 6, 1]
    (body,) = desk.entries(EntryKind.TRUTH_STATE)
    assert body["state"]["truthkey"] == desk.truthkey
    assert body["state"]["security"]["state_hash"] == first.state.security.state_hash  # type: ignore[union-attr]  # sealed
    assert _stale(desk) == []
    gold = desk.read(lambda unit: list(unit.truth.gold(TENANT)))
    assert [(one.truthkey, one.version, one.status) for one in gold] == [(desk.truthkey, 1, first.state.status)]
    assert audit_ledger(desk.tools, TENANT, leave_mark=False).holds


@pytest.mark.clause("kaori", "15.2")
def test_a_critical_claim_waits_for_people_and_their_votes_verify_it(critical: TruthDesk) -> None:
    """The window opens by itself, people are shown the claim, and the state that their votes make is final."""
    waiting = critical.compile("12:40")
    assert waiting.state.status is TruthStatus.PENDING_HUMAN_REVIEW
    (event,) = critical.entries(EntryKind.WINDOW_CHANGED)
    assert (event["record"]["by"], event["record"]["kind"]) == ("policy:validation_flow", "WINDOW_OPENED")
    assert _stale(critical) == []
    ticket = critical.validation("12:41")
    assert "severity" in ticket.shown
    leaning = in_force(critical.vote("user:eve", at="12:50"))
    assert (leaning.state.status, leaning.version) == (TruthStatus.LEANING_TRUE, 2)
    final = in_force(critical.vote("user:gus", at="12:55"))
    assert (final.state.status, final.state.verification_basis) == (
        TruthStatus.VERIFIED_TRUE,
        VerificationBasis.HUMAN_CONSENSUS,
    )
    # Others may contradict as long as the window is open; its end settles the question.
    assert critical.validation("13:00").id == ticket.id
    expire_truth(critical.tools, TENANT, at=critical.now("18:40"))
    view = view_ticket(critical.tools, looking(None, at=critical.now("18:41")), ticket.id)
    assert (view.recorded, view.settlement.state, view.settlement.choice) == (True, SettlementState.SETTLED, "ratify")
    signal = critical.entries(EntryKind.TRUTH_STATE)[-1]["signal"]
    right = {(one["agent_id"], one["role"]): one["correct"] for one in signal["object"]["outcomes"]}
    assert right[("user:ann", "reporter")] is True
    assert right[("user:gus", "voter")] is True


def test_compiling_again_with_nothing_new_appends_nothing(desk: TruthDesk) -> None:
    """Unless it is forced; what the state itself did to trust does not change it."""
    _flooded(desk)
    first, head = desk.compile("12:40"), desk.head()
    again = desk.compile("12:45")
    assert (again.is_new, again.version, again.state, desk.head()) == (False, 1, first.state, head)
    forced = desk.compile("12:50", force=True)
    assert (forced.is_new, forced.version) == (True, 2)
    assert forced.state.security.semantic_hash == first.state.security.semantic_hash  # type: ignore[union-attr]  # sealed
    assert forced.state.security.state_hash != first.state.security.state_hash  # type: ignore[union-attr]  # sealed


def test_a_late_observation_appends_a_state_and_edits_none(desk: TruthDesk) -> None:
    """What was known before stays known as it was."""
    _flooded(desk)
    before = desk.compile("12:40")
    desk.observe("user:gus", {"severity": "critical", "water_level_meters": 3.5}, reported="12:59", at="15:00")
    assert _stale(desk) == [desk.truthkey]
    after = desk.compile("15:01")
    assert (after.version, len(after.state.observation_ids)) == (2, 4)
    history = desk.read(lambda unit: unit.truth.history(TENANT, desk.truthkey))
    assert [one.version for one in history] == [1, 2]
    known = desk.read(lambda unit: unit.truth.find_state(TENANT, desk.truthkey, known_at=desk.now("14:00")))
    assert known is not None
    assert known.state_hash == before.state.security.state_hash  # type: ignore[union-attr]  # sealed


def test_a_claim_that_changed_is_asked_about_anew(critical: TruthDesk) -> None:
    """The old question is withdrawn, and a vote on what is no longer claimed does not count."""
    critical.compile("12:40")
    old = critical.validation("12:41")
    critical.vote("user:eve", at="12:45")
    for name in ("user:eve", "user:fay", "user:gus"):
        other = {"severity": "low", "water_level_meters": 0.1}
        critical.observe(name, other, reported="12:50", at="12:52", claim_type="earth.flood.v2")
    changed = critical.compile("12:53")
    assert changed.state.claim["severity"] == "low"
    view = view_ticket(critical.tools, looking(None, at=critical.now("12:54")), old.id)
    assert (view.settlement.state, view.settlement.reason) == (SettlementState.WITHDRAWN, "the claim changed")
    new = critical.validation("12:54")
    assert new.id != old.id
    assert "vote_not_counted" in changed.state.transparency_flags or any(
        flag.startswith("vote") for flag in changed.state.transparency_flags
    )


def test_two_compilers_at_once_append_one_state_each_or_agree(desk: TruthDesk) -> None:
    """Of two who read the same, one is told and reads again; versions have no gaps."""
    _flooded(desk)
    jobs = [partial(compile_truth, desk.tools, TENANT, desk.truthkey, at=desk.now("12:40")) for _ in range(4)]
    results = at_once([*jobs])
    assert all(isinstance(one, CompiledTruth) for one in results), results
    assert sum(one.is_new for one in results if isinstance(one, CompiledTruth)) == 1
    assert len(desk.read(lambda unit: unit.truth.history(TENANT, desk.truthkey))) == 1


def test_a_record_that_comes_in_between_is_compiled_too(desk: TruthDesk) -> None:
    """The state that would have missed it is never written."""
    _flooded(desk)
    late = BeforeWriting(desk.tools.database, lambda: desk.observe("user:ben", reported="12:20"))
    compiled = compile_truth(replace(desk.tools, database=late), TENANT, desk.truthkey, at=desk.now("12:40"))
    assert (compiled.version, len(compiled.state.observation_ids)) == (1, 4)
    assert _stale(desk) == []


def test_a_key_that_never_rests_is_given_up(desk: TruthDesk) -> None:
    """After a few attempts the caller is told; nothing was written."""
    _flooded(desk)
    count = iter(range(100))
    late = BeforeWriting(
        desk.tools.database, lambda: desk.observe("user:ben", reported=f"12:{next(count):02}"), is_once=False
    )
    with raises(TruthFlowError.busy):
        compile_truth(replace(desk.tools, database=late), TENANT, desk.truthkey, at=desk.now("12:40"))
    assert desk.entries(EntryKind.TRUTH_STATE) == []


def test_a_crash_between_vote_and_compilation_leaves_a_stale_key(critical: TruthDesk) -> None:
    """The vote is recorded; whoever compiles next counts it."""
    critical.compile("12:40")
    ticket = critical.validation("12:41")
    token = critical.signed_in("user:eve", "12:50")
    critical.answer(ticket, token, "ratify", follow_ups=ROOM_FOLLOW_UPS, at=critical.now("12:50"))
    assert _stale(critical) == [critical.truthkey]
    assert critical.compile("12:55").state.status is TruthStatus.LEANING_TRUE
    assert _stale(critical) == []


def test_a_commit_that_fails_leaves_nothing_of_the_state(desk: TruthDesk) -> None:
    """No entry, no row, no signal, no ticket: all of it is one commit."""
    _flooded(desk)
    desk.compile("12:36")
    desk.observe("user:ben")
    head = desk.head()
    with pytest.raises(LostError):
        compile_truth(desk.failing().tools, TENANT, desk.truthkey, at=desk.now("12:40"))
    assert desk.head() == head
    assert _stale(desk) == [desk.truthkey]


def test_an_authority_overrides_and_the_dissent_is_recorded(critical: TruthDesk) -> None:
    """Whoever may not override is recorded and not counted."""
    critical.compile("12:40")
    tried = critical.vote("user:eve", VoteType.OVERRIDE, override_status=TruthStatus.VERIFIED_FALSE, at="12:50")
    assert in_force(tried).state.status is not TruthStatus.VERIFIED_FALSE
    final = critical.vote("user:gus", VoteType.OVERRIDE, override_status=TruthStatus.VERIFIED_FALSE, at="12:55")
    assert in_force(final).state.status is TruthStatus.VERIFIED_FALSE
    assert in_force(final).state.verification_basis is VerificationBasis.AUTHORITY_OVERRIDE


@pytest.mark.clause("kaori", "11.4")
def test_another_time_of_signing_is_recorded_with_its_reason(desk: TruthDesk) -> None:
    """Without an override it is the time of compilation."""
    _flooded(desk)
    state = desk.compile("12:40").state
    assert state.security is not None
    assert state.security.signed_at == desk.now("12:40")
    late = desk.compile("12:50", force=True, signed_at=desk.now("13:00"), signed_at_reason="the token was away").state
    assert late.security is not None
    assert late.security.signed_at == desk.now("13:00")
    assert late.compile_inputs.signed_at_reason == "the token was away"


def test_time_does_not_go_back_for_a_key(desk: TruthDesk) -> None:
    """A state for an earlier time than the last one's would rewrite what was known then."""
    _flooded(desk)
    desk.compile("12:40")
    with pytest.raises(CompileTimeError):
        desk.compile("12:39", force=True)


def test_what_is_missing_is_named(desk: TruthDesk, tmp_path: Path) -> None:
    """No contract, no policy, no key: each with its own code, and nothing is written."""
    foreign = desk.truthkey.replace("flood", "fire")
    with raises(TruthFlowError.not_released):
        compile_truth(desk.tools, TENANT, foreign, at=desk.now("12:40"))
    with raises(TruthFlowError.key_no_truth_key, match="assay key rotate truth"):
        compile_truth(replace(desk.tools, truth_signer=None), TENANT, desk.truthkey, at=desk.now("12:40"))
    assert tmp_path.exists()


def test_without_a_policy_nobodys_trust_can_be_told(tmp_path: Path) -> None:
    """The refusal says how to register one."""
    with opened_truth(tmp_path, policy=None) as desk:
        desk.observe("user:ann")
        with raises(TruthFlowError.trust_no_policy, match="assay trust policy register"):
            desk.compile()


@pytest.mark.clause("kaori", "law 4")
@pytest.mark.clause("kaori", "12.1")
def test_a_key_without_observations_is_unverified_and_signed(desk: TruthDesk) -> None:
    """Absence of evidence is not evidence."""
    compiled = desk.compile("12:40")
    assert (compiled.state.status, compiled.state.claim) == (TruthStatus.UNVERIFIED, {})
    assert compiled.state.security is not None
