"""What is frozen is data: who is trusted how far at one instant, from signals and policy alone."""

from decimal import Decimal

import pytest

from assay.trust.errors import TrustError
from assay.trust.evolve import Fold
from assay.trust.freeze import freeze_trust
from assay.trust.policy import TrustPolicy
from assay.trust.signal import TrustSignal
from assay.truth.contract import Standing
from assay.truth.snapshot import AgentTrust, TrustSnapshot, parse_snapshot, render_snapshot, snapshot_hash
from tests.raising import raises
from tests.trust.signals import CLAIM_TYPE, at, endorsed, fold_of, instant, penalty, policy, registered, signal

A, B, C = registered("user:a"), registered("user:b"), registered("user:c")
EVERYONE = ("user:a", "user:b", "user:c", "user:x")
OPEN_NETWORK = {"bonus_per_weight": 0.05, "cap": 0.2, "decay_per_day": 0.05, "endorser_min_standing": 0}


def probe(theta_min: float | None = None, by: str = "user:z") -> TrustSignal:
    return signal("PROBE_CREATED", {"probe_id": "p", "created_by": by, "theta_min": theta_min})


def assigned(agent_id: str, by: str = "user:z") -> TrustSignal:
    return signal("OBSERVER_ASSIGNED", {"probe_id": "p", "agent_id": agent_id}, by=by)


def frozen(
    *signals: TrustSignal, under: TrustPolicy | None = None, day: int = 0, probe: str | None = None
) -> TrustSnapshot:
    fold = fold_of(*signals, under=under)
    return freeze_trust(fold, EVERYONE, claim_type=CLAIM_TYPE, probe=probe, at=instant(day))


def trust(snapshot: TrustSnapshot, agent_id: str = "user:a") -> AgentTrust:
    found = snapshot.find(agent_id)
    assert found is not None
    return found


@pytest.mark.clause("kaori", "9.1")
@pytest.mark.clause("kaori", "9.2")
def test_a_snapshot_holds_the_agents_that_are_known() -> None:
    """A share of the highest trust, a class and whether one is heard; who is unknown is left out, which is neutral."""
    snapshot = frozen(A)
    assert snapshot.agent_trusts == {
        "user:a": AgentTrust(standing=Standing.BRONZE, trust_score=Decimal("0.119203"), admissible=True)
    }
    assert snapshot.snapshot_time == instant()
    assert parse_snapshot(render_snapshot(snapshot)) == snapshot


@pytest.mark.clause("kaori", "9.3")
def test_the_same_question_to_the_same_fold_has_the_same_bytes() -> None:
    """In whatever order the agents are named, and after other questions; another question has another name."""
    fold = fold_of(A, B, C)
    first = freeze_trust(fold, EVERYONE, claim_type=CLAIM_TYPE, at=instant())
    other = freeze_trust(fold, EVERYONE, claim_type="earth.storm.v1", at=instant())
    again = freeze_trust(fold, reversed(EVERYONE * 2), claim_type=CLAIM_TYPE, at=instant())
    assert render_snapshot(first) == render_snapshot(again)
    assert first.snapshot_hash == snapshot_hash(first.agent_trusts) == other.snapshot_hash
    assert first.snapshot_id != other.snapshot_id


@pytest.mark.clause("kaori", "law 5")
def test_what_was_frozen_stays_when_trust_moves_on() -> None:
    """Truth holds a value, not something to ask."""
    fold = fold_of(A)
    snapshot = freeze_trust(fold, EVERYONE, claim_type=CLAIM_TYPE, at=instant())
    before = render_snapshot(snapshot)
    fold.add(penalty("user:a", 300))
    assert render_snapshot(snapshot) == before


def test_trust_is_not_frozen_before_what_is_already_known() -> None:
    fold = fold_of(A, registered("user:b", when=at(3)))
    with raises(TrustError.snapshot_instant, match="2026-01-11T10:00:00Z"):
        freeze_trust(fold, EVERYONE, claim_type=CLAIM_TYPE, at=instant(2))


def test_trust_in_a_probe_that_nobody_created_is_refused() -> None:
    with raises(TrustError.unknown_probe, match="`p`"):
        frozen(A, probe="p")


def test_an_agent_below_theta_min_is_recorded_and_not_heard() -> None:
    low = trust(frozen(A, penalty("user:a", 25)))
    assert (low.trust_score, low.admissible) == (Decimal("0.095349"), False)


def test_a_disabled_agent_is_known_and_not_heard() -> None:
    fold = fold_of(A, B)
    snapshot = freeze_trust(fold, EVERYONE, claim_type=CLAIM_TYPE, at=instant(), disabled={"user:a"})
    assert [trust(snapshot, name).admissible for name in ("user:a", "user:b")] == [False, True]


@pytest.mark.parametrize(
    ("by_type", "by_probe", "admissible"),
    [(None, None, True), (0.2, None, False), (None, 0.2, False), (0.11, 0.05, True), (0.2, 0.05, False)],
)
def test_theta_min_rises_from_policy_to_claim_type_to_probe(
    by_type: float | None, by_probe: float | None, *, admissible: bool
) -> None:
    """Each may ask for more, and none for less: newcomers have 0.119, the policy asks for 0.1."""
    profiles = {} if by_type is None else {"floods": {"claim_type": "earth.flood", "theta_min": by_type}}
    snapshot = frozen(A, probe(by_probe), under=policy(profiles=profiles), probe="p")
    assert trust(snapshot).admissible is admissible


def test_endorsements_add_to_trust_up_to_the_cap() -> None:
    """One whole weight adds a twentieth; however many endorse, no more than a fifth is added."""
    under = policy(network=OPEN_NETWORK)
    one = trust(frozen(A, B, endorsed("user:b", "user:a"), under=under))
    assert one.trust_score == Decimal("0.125163")
    crowd = [registered(f"user:f{number}") for number in range(9)]
    praise = [endorsed(f"user:f{number}", "user:a") for number in range(9)]
    many = trust(frozen(A, *crowd, *praise, under=under))
    assert many.trust_score == Decimal("0.143044")
    assert trust(frozen(A, *crowd, *praise, under=under, day=400)).trust_score == Decimal("0.119203")


def test_endorsers_without_a_record_add_nothing() -> None:
    assert trust(frozen(A, B, endorsed("user:b", "user:a"))).trust_score == Decimal("0.119203")


def test_an_assigned_observer_is_trusted_more_in_that_probe() -> None:
    assert trust(frozen(A, probe(), assigned("user:a"), probe="p")).trust_score == Decimal("0.131123")
    assert trust(frozen(A, probe(), assigned("user:a"))).trust_score == Decimal("0.119203")
    assert trust(frozen(A, probe(), probe="p")).trust_score == Decimal("0.119203")


def test_who_assigned_themselves_gains_nothing() -> None:
    assert trust(frozen(A, probe(), assigned("user:a", by="user:a"), probe="p")).trust_score == Decimal("0.119203")


def test_in_a_probe_of_ones_own_trust_is_halved() -> None:
    """Also for its assigned observer, who gains no bonus there."""
    own = frozen(A, probe(by="user:a"), assigned("user:a"), probe="p")
    assert trust(own).trust_score == Decimal("0.059601")
    assert not trust(own).admissible


@pytest.mark.parametrize(
    ("role", "expires", "expected"),
    [
        ("steward", None, "silver"),
        ("official", None, "authority"),
        ("unheard_of", None, "bronze"),
        ("official", at(1), "authority"),
        ("official", at(0), "bronze"),
    ],
)
def test_a_role_grants_at_least_its_class_until_it_ends(role: str, expires: str | None, expected: str) -> None:
    """The class alone: the trust score is the standing's."""
    granted = signal("ROLE_GRANTED", {"agent_id": "user:a", "role": role, "expires_at": expires})
    got = trust(frozen(A, granted))
    assert (got.standing, got.trust_score) == (Standing(expected), Decimal("0.119203"))


def test_a_role_never_lowers_a_class() -> None:
    granted = signal("ROLE_GRANTED", {"agent_id": "user:a", "role": "steward"})
    assert trust(frozen(A, granted, under=policy(initial_standing=900))).standing is Standing.AUTHORITY


def test_trust_decays_with_standing() -> None:
    fold = Fold(policy(initial_standing=900))
    fold.add(A)
    scores = [
        trust(freeze_trust(fold, EVERYONE, claim_type=CLAIM_TYPE, at=instant(day))).trust_score
        for day in (0, 1, 180, 3600)
    ]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] == Decimal("0.119204")  # 300 + 600 / 2^20, to six places
