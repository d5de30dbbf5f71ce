"""A final state can be disputed: people look again, as the contract resolves disputes, and all of it replays."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assay.flows.trust.record_signal import DisputeReceipt, Signalled
from assay.flows.truth.compile_truth import expire_truth
from assay.flows.truth.replay_truth import replay_truth
from assay.flows.truth.votes import DisputeRefusal
from assay.identity.principal import PrincipalKind
from assay.kernel.ledger import EntryKind
from assay.review.errors import ReviewError
from assay.trust.signal import DisputeRaised, SignalKind
from assay.truth.contract import VoteType
from assay.truth.status import TruthStatus, VerificationBasis
from assay.truth.window import WindowEventKind
from tests.acting_truth import InForce
from tests.flows._node import TENANT
from tests.flows._truth import BeforeWriting, TruthDesk, critical_flood, in_force, opened_truth
from tests.raising import raises

V2 = "earth.flood.v2"
BY_PEOPLE = (TruthStatus.VERIFIED_TRUE, VerificationBasis.HUMAN_CONSENSUS)


def _verified(folder: Path, **changes: object) -> Iterator[TruthDesk]:
    """Verified by two votes at 12:55; the window closes at 18:40, and a dispute is held for twelve hours."""
    changes = {"dispute_resolution__quorum": 2, **changes}
    with opened_truth(folder, contract=critical_flood(**changes)) as desk:
        desk.people()
        for name in ("user:ann", "user:ben", "user:cem"):
            desk.observe(name, claim_type=V2)
        desk.score(local_vision=0.95)
        desk.compile("12:40")
        desk.vote("user:eve", at="12:50")
        in_force(desk.vote("user:gus", at="12:55"))
        expire_truth(desk.tools, TENANT, at=desk.now("18:40"))
        yield desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TruthDesk]:
    yield from _verified(tmp_path)


def _state_hash(desk: TruthDesk) -> str:
    last = desk.read(lambda unit: unit.truth.find_state(TENANT, desk.truthkey))
    assert last is not None
    return last.state_hash


def _dispute(
    desk: TruthDesk,
    name: str = "user:fay",
    *,
    at: str,
    credential: str | None = None,
    state_hash: str | None = None,
    reason: str = "the gauge was moved",
) -> Signalled:
    body = DisputeRaised(truthkey=desk.truthkey, state_hash=state_hash or _state_hash(desk), reason=reason)
    token = credential or desk.signed_in(name, at)
    return desk.signal(SignalKind.DISPUTE_RAISED, body, credential=token, by=name, at=at)


def _answer(done: Signalled) -> DisputeReceipt:
    assert done.dispute is not None
    return done.dispute


def _reopened(desk: TruthDesk, at: str = "20:00") -> InForce:
    answer = _answer(_dispute(desk, at=at))
    assert answer.counts, answer.refusal
    return in_force(answer)


def _refusal(desk: TruthDesk, done: Signalled) -> DisputeRefusal | None:
    """Of a dispute that is in the log and did nothing else."""
    answer = _answer(done)
    assert not answer.counts
    logged = desk.read(lambda unit: unit.trust.find_signal(TENANT, done.signal_id))
    assert logged is not None
    assert logged.kind == "DISPUTE_RAISED"
    return answer.refusal


def _all_replay(desk: TruthDesk) -> None:
    last = desk.read(lambda unit: unit.truth.find_state(TENANT, desk.truthkey))
    assert last is not None
    for version in range(1, last.version + 1):
        finding = replay_truth(desk.tools, TENANT, truthkey=desk.truthkey, version=version)
        assert finding.holds, finding.problems


@pytest.mark.clause("kaori", "13")
@pytest.mark.clause("kaori", "law 7")
def test_a_dispute_that_counts_holds_the_claim_and_asks_people_again(desk: TruthDesk) -> None:
    """A round as long as the contract gives disputes, a ticket that is due then, and every state replays."""
    state = _reopened(desk).state
    assert (state.status, state.verification_basis) == (TruthStatus.PENDING_HUMAN_REVIEW, VerificationBasis.NONE)
    assert "disputed" in state.transparency_flags
    ticket = desk.validation("20:01")
    assert (ticket.opened_by, ticket.due_at) == ("user:fay", desk.now("1T08:00"))
    assert len(desk.entries(EntryKind.WINDOW_CHANGED)) == 2
    _all_replay(desk)


def test_enough_answers_decide_the_dispute_and_too_few_do_not(desk: TruthDesk) -> None:
    """Whoever raised it does not answer it."""
    _reopened(desk)
    with raises(ReviewError.own_request):
        desk.vote("user:fay", VoteType.REJECT, at="20:05")
    held = in_force(desk.vote("user:gus", VoteType.REJECT, at="20:10")).state
    assert held.status is TruthStatus.PENDING_HUMAN_REVIEW
    decided = in_force(desk.vote("user:eve", VoteType.REJECT, at="20:11")).state
    assert (decided.status, decided.verification_basis) == (
        TruthStatus.VERIFIED_FALSE,
        VerificationBasis.HUMAN_CONSENSUS,
    )
    _all_replay(desk)


@pytest.mark.parametrize(
    ("action", "status"),
    [
        ("inconclusive", TruthStatus.INCONCLUSIVE),
        ("expire", TruthStatus.EXPIRED),
        ("reject", TruthStatus.VERIFIED_FALSE),
        ("escalate", TruthStatus.PENDING_HUMAN_REVIEW),
        ("stay_open", TruthStatus.UNDECIDED),
    ],
)
def test_a_dispute_that_nobody_settles_ends_as_the_contract_says(
    tmp_path: Path, action: str, status: TruthStatus
) -> None:
    """The node itself finds that the time has come."""
    for desk in _verified(tmp_path, dispute_resolution__default_action_on_timeout=action):
        _reopened(desk)
        assert expire_truth(desk.tools, TENANT, at=desk.now("1T07:59")).compiled == ()
        assert len(expire_truth(desk.tools, TENANT, at=desk.now("1T08:00")).compiled) == 1
        state = desk.compile("1T08:00").state
        assert state.status is status
        assert "disputed" in state.transparency_flags
        _all_replay(desk)


def test_a_dispute_stands_though_its_key_cannot_be_compiled(desk: TruthDesk) -> None:
    """The round is on disk; the answer says what failed, and the next compilation asks people."""
    desk.compile("21:00", force=True)
    answer = _answer(_dispute(desk, at="20:00"))
    assert answer.counts
    assert (answer.state, answer.code) == (None, "truth.compile_time")
    assert desk.compile("21:01").state.status is TruthStatus.PENDING_HUMAN_REVIEW


def test_a_dispute_that_was_called_off_leaves_what_people_decided_before(desk: TruthDesk) -> None:
    _reopened(desk)
    operator = desk.signed_in("user:op", "20:20")
    aborted = in_force(desk.window(WindowEventKind.ABORTED, credential=operator, at="20:20")).state
    assert (aborted.status, aborted.verification_basis) == BY_PEOPLE


def test_whoever_may_not_vote_is_recorded_and_does_not_count(desk: TruthDesk) -> None:
    """Nobody whom trust does not know, no machine, nobody by a key alone, nobody without a reason."""
    desk.add("user:new", roles=("reviewer",))
    assert _refusal(desk, _dispute(desk, "user:new", at="20:00")) is DisputeRefusal.NOT_AUTHORISED
    robot = desk.join("service:robot", kind=PrincipalKind.SERVICE)
    desk.trust("service:robot", "official")
    by_key = _dispute(desk, "service:robot", at="20:01", credential=robot)
    assert _refusal(desk, by_key) is DisputeRefusal.NOT_IN_PERSON
    assert _refusal(desk, _dispute(desk, at="20:02", reason=" ")) is DisputeRefusal.NO_REASON
    assert desk.compile("20:03").state.status is TruthStatus.VERIFIED_TRUE
    assert len(desk.entries(EntryKind.WINDOW_CHANGED)) == 1
    _all_replay(desk)


def test_only_the_final_state_in_force_can_be_disputed(desk: TruthDesk) -> None:
    """Not one that was replaced, not one that is undecided, not one whose time is over."""
    old = desk.read(lambda unit: unit.truth.history(TENANT, desk.truthkey))[0].state_hash
    assert _refusal(desk, _dispute(desk, at="20:00", state_hash=old)) is DisputeRefusal.NOT_IN_FORCE
    assert _refusal(desk, _dispute(desk, at="3T20:00")) is DisputeRefusal.EXPIRED
    _reopened(desk, at="20:01")
    assert _refusal(desk, _dispute(desk, "user:eve", at="20:02")) is DisputeRefusal.NOT_FINAL


def test_while_people_are_asked_a_challenge_is_the_way(desk: TruthDesk) -> None:
    operator = desk.signed_in("user:op", "20:00")
    desk.window(WindowEventKind.OPENED, credential=operator, at="20:00", closes="22:00")
    desk.vote("user:eve", at="20:01")
    in_force(desk.vote("user:gus", at="20:02"))
    assert _refusal(desk, _dispute(desk, at="20:03")) is DisputeRefusal.WINDOW_OPEN


def test_one_person_disputes_a_key_once(desk: TruthDesk) -> None:
    """Else nothing would ever stay decided; another person still may."""
    _reopened(desk)
    desk.vote("user:eve", at="20:01")
    in_force(desk.vote("user:gus", at="20:02"))
    expire_truth(desk.tools, TENANT, at=desk.now("1T08:00"))
    assert _refusal(desk, _dispute(desk, at="1T09:00")) is DisputeRefusal.DISPUTED_BEFORE
    assert _answer(_dispute(desk, "user:eve", at="1T09:01")).counts


def test_the_same_dispute_again_opens_no_second_round(desk: TruthDesk) -> None:
    token, state_hash = desk.signed_in("user:fay", "20:00"), _state_hash(desk)
    first = _dispute(desk, at="20:00", credential=token, state_hash=state_hash)
    again = _dispute(desk, at="20:00", credential=token, state_hash=state_hash)
    assert (first.is_new, again.is_new, again.dispute) == (True, False, None)
    assert len(desk.entries(EntryKind.WINDOW_CHANGED)) == 2


def test_a_window_that_opened_meanwhile_is_noticed_before_anything_is_written(desk: TruthDesk) -> None:
    """The dispute is judged again in its own commit."""
    operator, reviewer = desk.signed_in("user:op", "20:00"), desk.signed_in("user:fay", "20:00")
    whole = desk.tools.database

    def meddle() -> None:
        desk.tools = replace(desk.tools, database=whole)
        desk.window(WindowEventKind.OPENED, credential=operator, at="20:00", closes="22:00")

    state_hash = _state_hash(desk)
    desk.tools = replace(desk.tools, database=BeforeWriting(whole, meddle))
    done = _dispute(desk, at="20:00", credential=reviewer, state_hash=state_hash)
    assert _answer(done).refusal is DisputeRefusal.NOT_IN_FORCE
    assert len(desk.entries(EntryKind.WINDOW_CHANGED)) == 2
