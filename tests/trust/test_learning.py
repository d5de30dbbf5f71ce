"""What final states teach about reporters: added up exactly, limited by the policy, taken back with a revised state."""

import json
from decimal import Decimal
from typing import Any

import pytest

from assay.trust.evolve import Fold
from assay.trust.fold_state import parse_fold_state, render_fold_state
from assay.trust.freeze import freeze_trust
from assay.trust.signal import TrustSignal, parse_signal, render_signal
from assay.truth.competence import Competence
from tests.trust.signals import (
    CLAIM_TYPE,
    OTHER_KEY,
    at,
    emitted,
    endorsed,
    instant,
    outcome,
    policy,
    registered,
)

_RULE: dict[str, Any] = {
    "by_people": 3,
    "by_reporters": 1,
    "per_day": 24,
    "memory": 50,
    "recent": 12,
    "shared_errors": 3,
    "shared_share": 0.5,
    "mutual_endorsement": 0,
}


def _lesson(said: str = '"high"', weight: object = 1, **shares: object) -> dict[str, object]:
    believed = {f'"{value}"': share for value, share in shares.items()}
    return {"field": "severity", "weight": weight, "said": said, "shares": believed, "is_listed": True}


def _taught(*lessons: dict[str, object], agent: str = "user:a", people: bool = False, **more: Any) -> TrustSignal:  # noqa: ANN401
    return emitted(outcome(agent, lessons=list(lessons)), by_people=people, **more)


def _fold(*signals: TrustSignal, **rule: object) -> Fold:
    fold = Fold(policy(competence={**_RULE, **rule}))
    for one in (registered("user:a"), registered("user:b"), *signals):
        fold.add(one)
    return fold


def _competence(fold: Fold, agent: str = "user:a", day: int = 40) -> Competence | None:
    found = freeze_trust(fold, ["user:a", "user:b"], claim_type=CLAIM_TYPE, at=instant(day)).find(agent)
    assert found is not None
    return found.competence


def _key(number: int) -> str:
    return f"earth:flood:h3:8861892c41fffff:surface:2026-01-{number:02d}T12:00Z"


def test_a_lesson_adds_what_the_others_believe_to_the_column_of_what_was_said() -> None:
    competence = _competence(_fold(_taught(_lesson(high=0.75, low=0.25))))
    assert competence is not None
    field = competence.fields["severity"]
    assert (field.right, field.wrong) == (Decimal("0.75"), Decimal("0.25"))
    assert field.matrix == {'"high"': {'"high"': Decimal("0.75")}, '"low"': {'"high"': Decimal("0.25")}}


def test_people_teach_more_than_the_reporters_themselves() -> None:
    """By a state that people settled one report counts as three, by one that follows from reports as one."""
    by_people = _competence(_fold(_taught(_lesson(high=1), people=True)))
    by_reporters = _competence(_fold(_taught(_lesson(high=1))))
    assert by_people is not None
    assert by_reporters is not None
    assert by_people.fields["severity"].right == 3 * by_reporters.fields["severity"].right


def test_one_day_teaches_no_more_than_the_policy_allows() -> None:
    many = [
        _taught(_lesson(high=1), truthkey=_key(number), state_hash=f"{number:064d}", people=True)
        for number in range(1, 9)
    ]
    competence = _competence(_fold(*many, per_day=10))
    assert competence is not None
    assert competence.fields["severity"].right == 10


def test_what_is_remembered_is_scaled_to_the_policy_s_memory() -> None:
    many = [_taught(_lesson(high=0.5, low=0.5), truthkey=_key(n), state_hash=f"{n:064d}") for n in range(1, 9)]
    competence = _competence(_fold(*many, memory=4))
    assert competence is not None
    field = competence.fields["severity"]
    assert field.right + field.wrong == 4


def test_a_revised_state_teaches_as_if_it_were_the_first() -> None:
    """Within the revision window the later state's lessons replace the earlier one's."""
    first = _taught(_lesson(high=1))
    second = _taught(_lesson(low=1), state_hash="b" * 64, when=at(1))
    both, only = _competence(_fold(first, second)), _competence(_fold(second))
    assert both == only


def test_the_same_state_again_teaches_nothing_more() -> None:
    one = _taught(_lesson(high=1))
    assert _competence(_fold(one, one)) == _competence(_fold(one))


def test_a_number_teaches_bias_and_spread_in_tolerances() -> None:
    def off(distance: float) -> dict[str, object]:
        return {"field": "level", "weight": 1, "said": "=", "distance": distance}

    competence = _competence(_fold(_taught(off(2)), _taught(off(1), truthkey=OTHER_KEY, state_hash="b" * 64)))
    assert competence is not None
    field = competence.fields["level"]
    assert (field.bias, field.spread) == (Decimal("1.5"), Decimal("2.5"))
    assert (field.right, field.wrong) == (Decimal("0.7"), Decimal("1.3"))


def test_a_policy_without_the_block_learns_nothing() -> None:
    fold = Fold(policy())
    for one in (registered("user:a"), _taught(_lesson(high=1))):
        fold.add(one)
    snapshot = freeze_trust(fold, ["user:a"], claim_type=CLAIM_TYPE, at=instant(2))
    assert snapshot.agent_trusts["user:a"].competence is None
    assert b"competence" not in render_fold_state(fold.checkpoint())


def test_a_checkpoint_with_learning_resumes_to_the_same_bytes() -> None:
    later = _taught(_lesson(low=1), truthkey=OTHER_KEY, state_hash="b" * 64, when=at(1))
    whole = _fold(_taught(_lesson(high=1)), later)
    half = _fold(_taught(_lesson(high=1)))
    resumed = Fold.resume(half.policy, parse_fold_state(render_fold_state(half.checkpoint())))
    resumed.add(later)
    assert render_fold_state(resumed.checkpoint()) == render_fold_state(whole.checkpoint())


def test_a_signal_without_lessons_has_the_bytes_it_always_had() -> None:
    plain = json.loads(render_signal(emitted(outcome("user:a"))))
    assert set(plain["object"]["outcomes"][0]) == {"agent_id", "role", "correct", "quality", "probe_id"}
    assert "by_people" not in plain["object"]
    taught = _taught(_lesson(high=1))
    assert parse_signal(render_signal(taught)) == taught


def _erring(number: int, *agents: str, wrong: bool = True) -> TrustSignal:
    lesson = _lesson(low=1) if wrong else _lesson(high=1)
    outcomes = [outcome(agent, lessons=[lesson]) for agent in agents]
    return emitted(*outcomes, truthkey=_key(number), state_hash=f"{number:064d}", by_people=False)


def _kin(fold: Fold) -> list[str | None]:
    return [None if (found := _competence(fold, name)) is None else found.kin for name in ("user:a", "user:b")]


def test_agents_whose_errors_coincide_are_one_group() -> None:
    assert _kin(_fold(*[_erring(number, "user:a", "user:b") for number in (1, 2)])) == [None, None]
    assert _kin(_fold(*[_erring(number, "user:a", "user:b") for number in (1, 2, 3)])) == ["user:a", "user:a"]


def test_errors_that_are_few_among_shared_reports_make_no_group() -> None:
    """Three equal errors in eight shared reports: less than half."""
    signals = [_erring(number, "user:a", "user:b", wrong=number <= 3) for number in range(1, 9)]
    assert _kin(_fold(*signals)) == [None, None]


def test_agents_who_endorse_each_other_are_one_group_and_gain_nothing_by_it() -> None:
    high = {"network": {"bonus_per_weight": 0.05, "cap": 0.2, "decay_per_day": 0.05, "endorser_min_standing": 0}}
    scores = []
    for pairs in ([("user:a", "user:b"), ("user:b", "user:a")], [("user:b", "user:a")]):
        fold = Fold(policy(competence=_RULE, **high))
        for one in (registered("user:a"), registered("user:b"), *(endorsed(by, whom) for by, whom in pairs)):
            fold.add(one)
        trust = freeze_trust(fold, ["user:a", "user:b"], claim_type=CLAIM_TYPE, at=instant(0))
        scores.append(trust.agent_trusts["user:a"].trust_score)
        kin = trust.agent_trusts["user:b"].competence
        assert (kin is not None) is (len(pairs) == 2)
    assert scores[0] < scores[1]


@pytest.mark.parametrize("change", [{"by_people": 0.5}, {"recent": 1}, {"memory": 0}, {"surprise": 1}])
def test_a_block_that_makes_no_sense_is_refused(change: dict[str, object]) -> None:
    from assay.trust.errors import PolicyError

    with pytest.raises(PolicyError):
        policy(competence={**_RULE, **change})
