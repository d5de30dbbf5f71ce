"""Signals become standing in one pass: what moves it, how far, and what never does."""

from decimal import Decimal

import pytest

from assay.trust.errors import TrustError
from assay.trust.evolve import Fold
from assay.trust.fold_state import render_fold_state
from assay.trust.signal import SignalKind, TrustSignal
from tests.raising import raises
from tests.trust.signals import (
    KEY,
    OTHER_KEY,
    TICKET,
    at,
    emitted,
    endorsed,
    fold_of,
    instant,
    outcome,
    penalty,
    policy,
    registered,
    signal,
    standing,
)
from tests.trust.test_signal import BODIES

A, B = registered("user:a"), registered("user:b")
RIGHT, WRONG = Decimal("2.079442"), Decimal("3.465736")
ROOM = {"window": "PT1H", "per_window": 1000, "per_day": 1000}


def test_a_registered_agent_starts_where_the_policy_says() -> None:
    """Once: registering again gives nothing back."""
    assert standing(fold_of(A), "user:a") == 300
    assert standing(fold_of(A, penalty("user:a", 50), A), "user:a") == 250


def test_an_agent_that_nobody_registered_has_no_standing() -> None:
    """It can be neither judged, nor penalised, nor endorsed, nor endorse."""
    fold = fold_of(A, emitted(outcome("user:x")), penalty("user:x", 5), endorsed("user:x", "user:a"))
    fold.add(endorsed("user:a", "user:x"))
    fold.add(signal("ROLE_GRANTED", {"agent_id": "user:x", "role": "steward"}))
    assert fold.agent_ids() == ("user:a",)
    assert fold.find_standing("user:x", instant()) is None
    assert fold.checkpoint().endorsements == {}
    assert fold.roles_of("user:x") == {}
    with raises(TrustError.unknown_agent, match="user:x"):
        standing(fold, "user:x")


def test_a_right_outcome_adds_and_a_wrong_one_takes() -> None:
    assert standing(fold_of(A, emitted(outcome("user:a"))), "user:a") == 300 + RIGHT
    assert standing(fold_of(A, emitted(outcome("user:a", correct=False))), "user:a") == 300 - WRONG
    assert standing(fold_of(A, emitted(outcome("user:a", correct=None))), "user:a") == 300


def test_what_a_signal_did_to_standings_is_told() -> None:
    fold = fold_of(A, B)
    changes = fold.add(emitted(outcome("user:b"), outcome("user:a", correct=False)))
    assert [(change.agent_id, change.before, change.after) for change in changes] == [
        ("user:a", Decimal(300), 300 - WRONG),
        ("user:b", Decimal(300), 300 + RIGHT),
    ]
    assert fold.add(emitted(outcome("user:a"), status="PENDING")) == ()


@pytest.mark.parametrize("status", ["PENDING", "LEANING_TRUE", "UNDECIDED", "PENDING_HUMAN_REVIEW", "EXPIRED"])
def test_a_state_that_is_not_a_final_verdict_changes_nothing(status: str) -> None:
    assert standing(fold_of(A, emitted(outcome("user:a"), status=status)), "user:a") == 300


def test_a_state_that_nobody_signed_changes_nothing() -> None:
    assert standing(fold_of(A, emitted(outcome("user:a"), signed_by=None)), "user:a") == 300


@pytest.mark.clause("kaori", "law 5")
@pytest.mark.parametrize("kind", sorted(set(SignalKind) - {"TRUTHSTATE_EMITTED", "PENALTY_APPLIED"}))
def test_no_other_kind_of_signal_moves_a_standing(kind: str) -> None:
    """Endorsements, roles, probes, votes and windows are recorded; standing comes from signed states and people."""
    fold = fold_of(registered("user:amira"), registered("user:bo"))
    before = [standing(fold, agent_id) for agent_id in fold.agent_ids()]
    fold.add(signal(kind, BODIES[kind], by="user:amira"))
    assert [standing(fold, agent_id) for agent_id in ("user:amira", "user:bo")] == before


def test_a_penalty_is_applied_once_for_each_ticket() -> None:
    """It is people's decision: no limit holds it back, and it ends at zero."""
    fold = fold_of(A, penalty("user:a", 120.5))
    assert standing(fold, "user:a") == Decimal("179.5")
    assert fold.add(penalty("user:a", 120.5)) == ()
    fold.add(penalty("user:a", 900, ticket="tkt_" + "b" * 26))
    assert standing(fold, "user:a") == 0
    assert fold.checkpoint().tickets == (TICKET, "tkt_" + "b" * 26)


def _states(count: int, *, correct: bool, when: str, topic: str = "flood") -> list[TrustSignal]:
    return [
        emitted(
            outcome("user:a", correct=correct),
            truthkey=f"earth:{topic}:h3:cell-{when[8:13].lower()}-{number}:surface:2026-01-07T12:00Z",
            state_hash=f"{number:064x}",
            when=when,
        )
        for number in range(count)
    ]


def test_outcomes_move_a_standing_only_so_far_in_a_window_and_in_a_day() -> None:
    """Up and down apart; a new hour or day has room again."""
    fold = fold_of(A, *_states(6, correct=True, when=at(0, 10)))
    assert standing(fold, "user:a") == 310
    for one in _states(6, correct=False, when=at(0, 10), topic="storm"):
        fold.add(one)
    assert standing(fold, "user:a") == 300
    for hour in (11, 12, 13, 14, 15):
        for one in _states(6, correct=True, when=at(0, hour)):
            fold.add(one)
    assert standing(fold, "user:a") == 330
    for one in _states(6, correct=True, when=at(1, 10)):
        fold.add(one)
    assert standing(fold, "user:a", 1) == Decimal("329.884698") + 10


def test_standing_stays_on_its_scale() -> None:
    high = policy(initial_standing=999, limits=ROOM)
    assert standing(fold_of(A, emitted(outcome("user:a")), under=high), "user:a") == 1000
    low = policy(initial_standing=1, limits=ROOM)
    assert standing(fold_of(A, emitted(outcome("user:a", correct=False)), under=low), "user:a") == 0


def test_looking_at_a_standing_changes_nothing() -> None:
    """Decay is computed from the last change: whoever looked in between, and however often, sees the same later."""
    signals = [A, emitted(outcome("user:a")), penalty("user:a", 1, when=at(90))]
    under = policy(initial_standing=900)
    quiet, watched = fold_of(*signals[:2], under=under), fold_of(*signals[:2], under=under)
    seen = [standing(watched, "user:a", day) for day in range(90)]
    assert seen == sorted(seen, reverse=True)
    assert seen[89] < seen[0] < 903
    quiet.add(signals[2])
    watched.add(signals[2])
    assert render_fold_state(quiet.checkpoint()) == render_fold_state(watched.checkpoint())


def test_a_later_final_state_takes_back_what_the_earlier_one_did() -> None:
    """Exactly: as if only the later one had been there."""
    later = emitted(outcome("user:a", correct=False), state_hash="b" * 64, status="VERIFIED_FALSE")
    fold = fold_of(A, emitted(outcome("user:a")), later)
    assert standing(fold, "user:a") == 300 - WRONG
    assert fold.checkpoint().agents == fold_of(A, later).checkpoint().agents


def test_a_revision_leaves_those_alone_for_whom_nothing_changed() -> None:
    """And undoes what was applied for an agent that the later state does not judge."""
    fold = fold_of(A, B, emitted(outcome("user:a"), outcome("user:b")))
    changes = fold.add(emitted(outcome("user:a"), state_hash="b" * 64))
    assert [change.agent_id for change in changes] == ["user:b"]
    assert [standing(fold, "user:a"), standing(fold, "user:b")] == [300 + RIGHT, Decimal(300)]


def test_what_a_limit_cut_off_is_not_taken_back_later() -> None:
    under = policy(limits={"window": "PT1H", "per_window": 1, "per_day": 1})
    fold = fold_of(A, emitted(outcome("user:a")), under=under)
    assert standing(fold, "user:a") == 301
    fold.add(emitted(outcome("user:a", correct=None), state_hash="b" * 64))
    assert standing(fold, "user:a") == 300
    # The room that was taken is free again on the same day, and only then.
    fold.add(emitted(outcome("user:a"), truthkey=OTHER_KEY))
    assert standing(fold, "user:a") == 301
    fold.add(emitted(outcome("user:a", correct=None), truthkey=OTHER_KEY, state_hash="c" * 64, when=at(1)))
    assert fold.checkpoint().agents["user:a"].day_gain == 0


@pytest.mark.parametrize("order", ["ab", "aab", "aba"])
def test_the_same_state_counts_once_however_often_it_is_told(order: str) -> None:
    """Also when another came in between: a state that was replaced does not come back."""
    states = {
        "a": emitted(outcome("user:a")),
        "b": emitted(outcome("user:a", correct=False), state_hash="b" * 64),
    }
    assert standing(fold_of(A, *(states[name] for name in order)), "user:a") == 300 - WRONG


def test_an_inconclusive_state_takes_back_and_an_expired_one_does_not() -> None:
    first = emitted(outcome("user:a"))
    expired = emitted(outcome("user:a", correct=None), state_hash="b" * 64, status="EXPIRED")
    inconclusive = emitted(outcome("user:a", correct=None), state_hash="c" * 64, status="INCONCLUSIVE")
    assert standing(fold_of(A, first, expired), "user:a") == 300 + RIGHT
    assert standing(fold_of(A, first, inconclusive), "user:a") == 300


def test_after_the_revision_window_a_key_is_settled() -> None:
    """At its end a revision still counts; after it nothing about that key does, also not for others."""
    later = {"state_hash": "b" * 64, "status": "VERIFIED_FALSE"}
    wrong = outcome("user:a", correct=False)
    in_time = fold_of(A, emitted(outcome("user:a")), emitted(wrong, when=at(30), **later))
    assert standing(in_time, "user:a", 30) < 300
    late = fold_of(A, B, emitted(outcome("user:a")), emitted(wrong, outcome("user:b"), when=at(30, 11), **later))
    assert standing(late, "user:a", 30, 11) > 300
    assert standing(late, "user:b", 30, 11) == 300
    assert late.checkpoint().settled == (KEY,)


def test_voting_on_ones_own_observation_gains_nothing_more() -> None:
    """The vote of a reporter who was wrong twice over counts against them all the same."""
    vote = outcome("user:a", role="voter")
    assert standing(fold_of(A, emitted(outcome("user:a"), vote)), "user:a") == 300 + RIGHT
    wrong = [outcome("user:a", correct=False), outcome("user:a", correct=False, role="voter")]
    assert standing(fold_of(A, emitted(*wrong)), "user:a") == 300 - 2 * WRONG
    assert standing(fold_of(A, emitted(vote)), "user:a") == 300 + RIGHT


def test_an_observation_for_ones_own_probe_gains_what_the_policy_leaves() -> None:
    probe = signal("PROBE_CREATED", {"probe_id": "p", "created_by": "user:a"})
    again = signal("PROBE_CREATED", {"probe_id": "p", "created_by": "user:b"})
    state = emitted(outcome("user:a", probe_id="p"), outcome("user:b", probe_id="p"))
    fold = fold_of(A, B, probe, again, state)
    assert [standing(fold, "user:a"), standing(fold, "user:b")] == [Decimal(300), 300 + RIGHT]
    kept = {"self_endorsement": 0, "self_assignment": 0, "own_probe": 0.5, "own_observation": 0}
    half = fold_of(A, B, probe, state, under=policy(self_dealing=kept))
    assert standing(half, "user:a") == 300 + RIGHT / 2
    unknown = fold_of(A, emitted(outcome("user:a", probe_id="nowhere")))
    assert standing(unknown, "user:a") == 300 + RIGHT


def test_an_endorsement_is_replaced_taken_back_and_never_of_oneself() -> None:
    fold = fold_of(A, B, endorsed("user:b", "user:a", 0.5), endorsed("user:a", "user:a"))
    assert {name: one.weight for name, one in fold.endorsements_of("user:a").items()} == {"user:b": 500_000}
    fold.add(endorsed("user:b", "user:a", 0.25))
    assert fold.endorsements_of("user:a")["user:b"].weight == 250_000
    fold.add(endorsed("user:b", "user:a", 0))
    assert fold.endorsements_of("user:a") == {}
    fold.add(endorsed("user:b", "user:a", 0))
    assert fold.endorsements_of("user:b") == {}


def test_nobody_grants_a_role_to_themselves() -> None:
    fold = fold_of(A, signal("ROLE_GRANTED", {"agent_id": "user:a", "role": "official"}, by="user:a"))
    assert fold.roles_of("user:a") == {}


def test_an_assignment_by_another_stays_one() -> None:
    probe = signal("PROBE_CREATED", {"probe_id": "p", "created_by": "user:z"})
    own = signal("OBSERVER_ASSIGNED", {"probe_id": "p", "agent_id": "user:a"}, by="user:a")
    given = signal("OBSERVER_ASSIGNED", {"probe_id": "p", "agent_id": "user:a"})
    assert fold_of(A, probe, own).observers_of("p") == {"user:a": False}
    assert fold_of(A, probe, own, given, own).observers_of("p") == {"user:a": True}
    assert fold_of(A, given).observers_of("p") == {}


def test_a_signal_dated_earlier_takes_effect_at_the_logs_own_time() -> None:
    """Order matters only so: each instant is the latest that the log has seen."""
    dated = fold_of(A, registered("user:b", when=at(9)), emitted(outcome("user:a"), when=at(2)))
    logged = fold_of(A, registered("user:b", when=at(9)), emitted(outcome("user:a"), when=at(9)))
    assert render_fold_state(dated.checkpoint()) == render_fold_state(logged.checkpoint())


def test_profiles_decide_by_prefix_and_claim_type() -> None:
    under = policy(
        profiles={
            "sensors": {"agent_prefix": "sensor", "initial_standing": 100},
            "floods": {"claim_type": "earth.flood", "updates": {"correct": 0, "incorrect": 1}},
        }
    )
    fold = fold_of(A, registered("sensor:1"), registered("plain"), emitted(outcome("user:a")), under=under)
    assert [standing(fold, name) for name in ("user:a", "sensor:1", "plain")] == [300, 100, 300]


def test_a_checkpoint_under_another_policy_is_refused() -> None:
    state = fold_of(A).checkpoint()
    with raises(TrustError.policy_mismatch):
        Fold.resume(policy(theta_min=0.2), state)


def test_a_fold_in_parts_equals_the_fold_of_the_whole() -> None:
    signals = [A, B, emitted(outcome("user:a")), penalty("user:b", 7, when=at(40))]
    whole = fold_of(*signals).checkpoint()
    parts = Fold.resume(policy(), fold_of(*signals[:2]).checkpoint())
    for one in signals[2:]:
        parts.add(one)
    assert parts.checkpoint() == whole
    assert whole.signals == 4
