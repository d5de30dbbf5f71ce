"""What people decided stays decided: evidence is sealed with a round, and only a person opens the next one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.flows.errors.identity import IdentityFlowError
from assay.flows.errors.truth import TruthFlowError
from assay.flows.truth.compile_truth import expire_truth
from assay.flows.truth.replay_truth import replay_truth
from assay.identity.errors import IdentityError
from assay.kernel.ledger import EntryKind
from assay.truth.contract import VoteType
from assay.truth.status import TruthStatus, VerificationBasis
from assay.truth.window import WindowEventKind
from tests.flows._node import TENANT
from tests.flows._truth import TruthDesk, critical_flood, in_force, opened_truth
from tests.raising import raises

OPENED, CLOSED, ABORTED = WindowEventKind.OPENED, WindowEventKind.CLOSED, WindowEventKind.ABORTED
BY_PEOPLE = (TruthStatus.VERIFIED_TRUE, VerificationBasis.HUMAN_CONSENSUS)
OTHER = {"severity": "high", "water_level_meters": 1.3}
V2 = "earth.flood.v2"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TruthDesk]:
    """Three reporters in the critical lane; the window is open from 12:40 to 18:40."""
    with opened_truth(tmp_path, contract=critical_flood()) as opened:
        opened.people()
        opened.trust("user:mal")
        for name in ("user:ann", "user:ben", "user:cem"):
            opened.observe(name, claim_type=V2)
        opened.score(local_vision=0.95)
        opened.compile("12:40")
        yield opened


def _verify(desk: TruthDesk) -> None:
    desk.vote("user:eve", at="12:50")
    state = in_force(desk.vote("user:gus", at="12:55")).state
    assert (state.status, state.verification_basis) == BY_PEOPLE


def _all_replay(desk: TruthDesk) -> None:
    last = desk.read(lambda unit: unit.truth.find_state(TENANT, desk.truthkey))
    assert last is not None
    for version in range(1, last.version + 1):
        finding = replay_truth(desk.tools, TENANT, truthkey=desk.truthkey, version=version)
        assert finding.holds, finding.problems


@pytest.mark.parametrize("at", ["13:00", "18:40", "1T09:00"])
def test_no_later_report_undoes_what_people_verified(desk: TruthDesk, at: str) -> None:
    """Neither while the window is open nor after it: it is recorded, told, and waits for the next round."""
    _verify(desk)
    before = desk.compile("12:56").state
    desk.observe("user:mal", OTHER, at=at, reported="12:05", claim_type=V2)
    after = desk.compile(at).state
    assert (after.status, after.verification_basis) == BY_PEOPLE
    assert (after.claim, after.observation_ids) == (before.claim, before.observation_ids)
    assert "late_observation" in after.transparency_flags
    assert len(after.compile_inputs.observation_hashes) == 4
    _all_replay(desk)


def test_trust_that_moved_meanwhile_does_not_move_a_sealed_claim(desk: TruthDesk) -> None:
    """Its reporters rose by it, and would weigh more now."""
    _verify(desk)
    before = desk.compile("12:56").state
    desk.trust("user:ann", "official")
    desk.observe("user:mal", OTHER, at="13:00", claim_type=V2)
    after = desk.compile("13:01", fresh_trust=True).state
    assert after.compile_inputs.trust_snapshot_hash == before.compile_inputs.trust_snapshot_hash
    assert (after.status, after.claim) == (before.status, before.claim)


def test_a_person_opens_the_next_round_and_then_everything_is_heard(desk: TruthDesk) -> None:
    """By an operator who is signed in; the votes of the round before do not count in it."""
    _verify(desk)
    desk.observe("user:mal", OTHER, at="1T09:00", claim_type=V2)
    desk.compile("1T09:01")
    with raises(IdentityFlowError.session_required):
        desk.window(OPENED, credential=desk.operator, at="1T09:05", closes="1T12:00")
    operator = desk.signed_in("user:op", "1T09:05")
    state = in_force(desk.window(OPENED, credential=operator, at="1T09:05", closes="1T12:00")).state
    assert len(state.observation_ids) == 4
    assert state.status not in (TruthStatus.VERIFIED_TRUE, TruthStatus.INCONCLUSIVE)
    desk.vote("user:eve", at="1T09:06")
    again = in_force(desk.vote("user:gus", at="1T09:07")).state
    assert (again.status, again.verification_basis) == BY_PEOPLE
    assert len(again.compile_inputs.sealed_at) == 1
    assert len(desk.compile("1T09:08", force=True).state.compile_inputs.sealed_at) == 2
    _all_replay(desk)


def test_a_reviewer_opens_the_next_round_only_with_a_reason(desk: TruthDesk) -> None:
    _verify(desk)
    reviewer = desk.signed_in("user:fay", "1T09:05")
    with raises(TruthFlowError.window_refused, match="reason"):
        desk.window(OPENED, credential=reviewer, at="1T09:05", closes="1T12:00", reason=" ")
    desk.window(OPENED, credential=reviewer, at="1T09:05", closes="1T12:00", reason="a gauge was wrong")
    assert desk.validation("1T09:06").opened_by == "user:fay"


def test_a_challenge_is_heard_until_the_window_ends(desk: TruthDesk) -> None:
    """The first final state does not close the question."""
    _verify(desk)
    disputed = in_force(desk.vote("user:fay", VoteType.CHALLENGE, at="12:57")).state
    assert disputed.status is TruthStatus.PENDING_HUMAN_REVIEW
    assert "disputed" in disputed.transparency_flags
    _all_replay(desk)


def test_the_end_of_the_window_settles_the_question(desk: TruthDesk) -> None:
    _verify(desk)
    expire_truth(desk.tools, TENANT, at=desk.now("18:40"))
    assert desk.compile("18:41").state.status is TruthStatus.VERIFIED_TRUE
    with raises(TruthFlowError.no_open_ticket):
        desk.validation("18:42")


def test_after_an_inconclusive_round_what_is_new_asks_people_again(desk: TruthDesk) -> None:
    """Reported by somebody who is heard: an unknown agent asks nobody."""
    assert desk.compile("18:40").state.status is TruthStatus.INCONCLUSIVE
    desk.observe("user:nobody", OTHER, at="18:50", claim_type=V2)
    assert desk.compile("18:51").state.status is TruthStatus.INCONCLUSIVE
    desk.observe("user:mal", OTHER, at="19:00", claim_type=V2)
    again = desk.compile("19:01").state
    assert (again.status, len(again.observation_ids)) == (TruthStatus.PENDING_HUMAN_REVIEW, 4)
    assert len(desk.entries(EntryKind.WINDOW_CHANGED)) == 2
    desk.vote("user:eve", at="19:10")
    assert in_force(desk.vote("user:gus", at="19:11")).state.status is TruthStatus.VERIFIED_TRUE
    _all_replay(desk)


def test_a_decided_round_is_not_called_off(desk: TruthDesk) -> None:
    """Aborting is an operator's, in person and with a reason; nobody undoes a final state by it."""
    desk.vote("user:eve", at="12:50")
    with raises(IdentityError.role):
        desk.window(ABORTED, credential=desk.signed_in("user:fay", "12:51"), at="12:51")
    with raises(IdentityFlowError.session_required):
        desk.window(ABORTED, credential=desk.operator, at="12:51")
    with raises(TruthFlowError.window_refused, match="reason"):
        desk.window(ABORTED, credential=desk.signed_in("user:op", "12:51"), at="12:51", reason="")
    in_force(desk.vote("user:gus", at="12:55"))
    with raises(TruthFlowError.window_refused, match="decided"):
        desk.window(ABORTED, credential=desk.signed_in("user:op", "12:56"), at="12:56")
    desk.window(CLOSED, credential=desk.signed_in("user:op", "12:57"), at="12:57")
    with raises(TruthFlowError.window_refused, match="open window"):
        desk.window(ABORTED, credential=desk.signed_in("user:op", "12:58"), at="12:58")
    assert desk.compile("12:59").state.status is TruthStatus.VERIFIED_TRUE


def test_a_round_that_was_called_off_leaves_the_one_before_it_in_force(desk: TruthDesk) -> None:
    _verify(desk)
    desk.observe("user:mal", OTHER, at="13:00", claim_type=V2)
    operator = desk.signed_in("user:op", "1T09:05")
    desk.window(OPENED, credential=operator, at="1T09:05", closes="1T12:00")
    aborted = in_force(desk.window(ABORTED, credential=operator, at="1T09:10")).state
    assert (aborted.status, aborted.verification_basis) == BY_PEOPLE
    assert {"late_observation", "window_aborted"} <= {*aborted.transparency_flags}
    _all_replay(desk)


def test_where_people_come_first_they_are_asked_with_the_first_state(tmp_path: Path) -> None:
    """Although no machine has judged yet: nothing else would ever ask them."""
    with opened_truth(tmp_path, contract=critical_flood(risk_profile="monitor")) as desk:
        desk.people()
        assert desk.compile("12:20").state.status is TruthStatus.UNVERIFIED
        assert desk.entries(EntryKind.WINDOW_CHANGED) == []
        desk.observe("user:ann", claim_type=V2)
        assert desk.compile("12:40").state.status is TruthStatus.PENDING
        assert desk.validation("12:41").due_at == desk.now("18:40")


def test_nobody_s_own_vote_verifies_the_own_report(desk: TruthDesk) -> None:
    desk.observe("user:gus", claim_type=V2, at="12:41")
    desk.compile("12:42")
    desk.vote("user:eve", at="12:50")
    state = in_force(desk.vote("user:gus", at="12:55")).state
    assert state.status is TruthStatus.LEANING_TRUE
    assert "voter_is_reporter" in state.transparency_flags


def _both_versions(desk: TruthDesk) -> None:
    """`earth.flood.v1` and, beside it, a newer one."""
    desk.people()
    desk.release(text=critical_flood())


@pytest.mark.parametrize("is_compiled", [False, True])
def test_whoever_is_not_heard_does_not_change_the_law_of_a_key(tmp_path: Path, *, is_compiled: bool) -> None:
    """Neither before its first state nor after; a later version speaks once an operator asks for it."""
    with opened_truth(tmp_path) as desk:
        _both_versions(desk)
        desk.observe("user:ann")
        if is_compiled:
            desk.compile("12:35")
        desk.observe("user:nobody", at="12:36", claim_type=V2)
        assert desk.compile("12:40").state.claim_type == "earth.flood.v1"
        desk.observe("user:ben", at="12:41", claim_type=V2)
        assert desk.compile("12:42").state.claim_type == "earth.flood.v1"
        moved = desk.compile("12:43", claim_type=V2).state
        assert (moved.claim_type, moved.compile_inputs.claim_type_id) == (V2, V2)
        desk.observe("user:cem", at="12:44")
        assert desk.compile("12:45").state.claim_type == V2


def test_a_state_that_says_nothing_binds_no_key_to_its_version(tmp_path: Path) -> None:
    with opened_truth(tmp_path) as desk:
        _both_versions(desk)
        desk.observe("user:nobody")
        assert desk.compile("12:35").state.status is TruthStatus.UNVERIFIED
        desk.observe("user:ann", at="12:36", claim_type=V2)
        assert desk.compile("12:40").state.claim_type == V2


def test_an_event_stands_though_its_key_cannot_be_compiled(desk: TruthDesk) -> None:
    """It is durable: the answer has it, and says what failed, so that nobody sends it twice."""
    desk.compile("13:30", force=True)
    done = desk.window(CLOSED, credential=desk.signed_in("user:op", "13:00"), at="13:00")
    assert (done.state, done.code) == (None, "truth.compile_time")
    assert done.problem
    assert len(desk.entries(EntryKind.WINDOW_CHANGED)) == 2
    assert desk.compile("13:31").state.status is TruthStatus.INCONCLUSIVE
