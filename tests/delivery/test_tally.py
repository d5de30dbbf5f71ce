"""The counters are those of the text, and always equal a recount of the history."""

import json
from datetime import timedelta
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.delivery.errors import DeliveryError
from assay.delivery.outcome import Outcome
from assay.delivery.rule import RuleId
from assay.delivery.tally import (
    Alert,
    AlertRule,
    Tally,
    check_alert,
    check_tally,
    count,
    recount,
    recount_rules,
    series,
    taint,
)
from assay.delivery.trigger import Move, TriggerRule, Watch, follow
from assay.kernel.instant import Instant
from tests.delivery.answers import RULE
from tests.identity.people import NOON, later
from tests.raising import raises

_S, _F, _P, _I = Outcome.SUCCESS, Outcome.FAILURE, Outcome.PARTIAL, Outcome.INDETERMINATE
_LETTERS = {"s": _S, "f": _F, "p": _P, "i": _I}
_VECTORS = Path(__file__).parents[1] / "vectors" / "delivery" / "counters.json"
_CASES: list[dict[str, Any]] = json.loads(_VECTORS.read_text())["cases"]
_histories = st.lists(st.sampled_from(list(Outcome)), max_size=60)


@pytest.mark.clause("pramana", "7.4.2")
@pytest.mark.clause("pramana", "11.8")
def test_each_signal_moves_the_counters_of_the_text() -> None:
    """Worked by hand from the five steps of 7.4.2."""
    steps = [
        (_S, Tally(total=1, success=1)),
        (_F, Tally(total=2, success=1, failure=1, consecutive_failures=1)),
        (_F, Tally(total=3, success=1, failure=2, consecutive_failures=2)),
        (_P, Tally(total=4, success=1, failure=2, partial=1)),
        (_F, Tally(total=5, success=1, failure=3, partial=1, consecutive_failures=1)),
        (_I, Tally(total=6, success=1, failure=3, partial=1, indeterminate=1)),
    ]
    tally = Tally()
    for outcome, expected in steps:
        tally = count(tally, outcome)
        assert tally == expected
    assert tally.confidence == 1 / 6
    assert tally.decided_confidence == 1 / 4


@pytest.mark.clause("pramana", "7.4.2")
@pytest.mark.clause("pramana", "11.8")
@pytest.mark.clause("pramana", "11.9")
@pytest.mark.parametrize("case", _CASES, ids=lambda case: case["history"] or "nothing")
def test_histories_have_the_counters_and_the_openings_worked_by_hand(case: dict[str, Any]) -> None:
    tally, watch, opened = Tally(), Watch(), 0
    for letter in case["history"]:
        tally = count(tally, _LETTERS[letter])
        followed = follow(watch, _LETTERS[letter], TriggerRule())
        watch, opened = followed.watch, opened + (followed.move is Move.OPEN)
    names = ("total", "success", "failure", "partial", "indeterminate", "consecutive_failures")
    assert {name: getattr(tally, name) for name in names} == {name: case[name] for name in names}
    assert opened == case["opens"]
    told = case["confidence"]
    assert tally.confidence == (None if told is None else told[0] / told[1])


@pytest.mark.clause("pramana", "7.4.2")
@given(_histories)
def test_counting_on_equals_a_recount(history: list[Outcome]) -> None:
    tally = reduce(count, history, Tally())
    assert tally == recount(history)
    assert check_tally(tally, history) == ()
    assert tally.total == tally.success + tally.failure + tally.partial + tally.indeterminate


@given(_histories, _histories)
def test_a_recount_in_two_parts_is_a_recount(first: list[Outcome], second: list[Outcome]) -> None:
    assert reduce(count, second, recount(first)) == recount(first + second)


@given(st.lists(st.tuples(st.sampled_from([RuleId("A-1"), RuleId("B-2")]), st.sampled_from(list(Outcome)))))
def test_rules_are_counted_apart(history: list[tuple[RuleId, Outcome]]) -> None:
    found = recount_rules(history)
    assert set(found) == {rule for rule, _ in history}
    for rule, tally in found.items():
        assert tally == reduce(count, (outcome for name, outcome in history if name == rule), Tally())


def test_a_wrong_counter_is_told() -> None:
    good = recount([_F, _F])
    assert check_tally(replace(good, failure=3), [_F, _F]) == ("failure: expected 2, got 3",)


def test_of_nothing_there_is_no_confidence() -> None:
    assert (Tally().confidence, Tally().decided_confidence, Tally().adjusted_confidence) == (None, None, None)
    assert recount([_P]).decided_confidence is None
    assert recount([_P]).confidence == 0


def test_luck_is_counted_beside_the_specified_counters() -> None:
    before = recount([_S, _S, _F, _S])
    after = taint(before)
    assert (after.confidence, after.adjusted_confidence) == (0.75, 0.5)
    assert replace(after, tainted_success=0) == before
    assert taint(recount([_S, _S, _F, _S])) == after
    assert taint(after, -1) == before


@pytest.mark.parametrize("number", [-1, 3])
def test_only_a_success_can_be_luck(number: int) -> None:
    with raises(DeliveryError.trigger):
        taint(recount([_S, _S]), number)


@pytest.mark.clause("pramana", "7.4.2")
def test_a_series_shows_each_bucket_alone() -> None:
    history = [(later(hours=-1), _S), (NOON, _F), (later(minutes=59), _S), (later(hours=5), _F)]
    found = series(history, bucket=timedelta(hours=1))
    assert [(point.starts_at, point.tally.total) for point in found] == [
        (later(hours=-1), 1), (NOON, 2), (later(hours=5), 1),
    ]  # fmt: skip
    with raises(DeliveryError.trigger):
        series(history, bucket=timedelta())


@given(st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(list(Outcome)))))
def test_the_buckets_of_a_series_add_up(history: list[tuple[int, Outcome]]) -> None:
    points = series([(Instant(NOON + timedelta(seconds=at)), one) for at, one in history], bucket=timedelta(hours=6))
    assert sum(point.tally.total for point in points) == len(history)
    assert sum(point.tally.failure for point in points) == sum(one is _F for _, one in history)


def test_an_alert_needs_enough_outcomes_and_sees_through_luck() -> None:
    rule = AlertRule(min_total=4, min_confidence=0.5)
    good = recount([_S, _S, _F, _F])
    assert check_alert(RULE, good, rule) is None
    assert check_alert(RULE, Tally(), rule) is None
    assert check_alert(RULE, recount([_F]), rule) is None
    lucky = taint(good)
    assert check_alert(RULE, lucky, rule) == Alert(rule_id=RULE, confidence=0.25, tally=lucky)
