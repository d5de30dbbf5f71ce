"""A root cause opens once per episode, absorbs what follows, and a conclusion starts the count anew."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.delivery.errors import DeliveryError
from assay.delivery.outcome import Outcome
from assay.delivery.rule import RuleId
from assay.delivery.trigger import (
    BatchRule,
    Comparison,
    Move,
    TriggerRule,
    Watch,
    batch_id_at,
    begin_batching,
    closed_batches,
    conclude_watch,
    end_batching,
    follow,
    follow_batch,
    provoke,
)
from tests.delivery.answers import RULE
from tests.delivery.signals import make_outcome
from tests.identity.people import NOON, later
from tests.raising import raises

_S, _F, _P, _I = Outcome.SUCCESS, Outcome.FAILURE, Outcome.PARTIAL, Outcome.INDETERMINATE
_RULE = TriggerRule()
_DAILY = BatchRule()
_histories = st.lists(st.sampled_from(list(Outcome)), max_size=40)


def _moves(history: list[Outcome], rule: TriggerRule = _RULE, watch: Watch | None = None) -> tuple[Watch, list[Move]]:
    watch, moves = watch or Watch(), []
    for outcome in history:
        found = follow(watch, outcome, rule)
        watch = found.watch
        moves.append(found.move)
    return watch, moves


@pytest.mark.clause("pramana", "7.4.2")
@pytest.mark.clause("pramana", "11.9")
@pytest.mark.parametrize(
    ("comparison", "opens_at"), [(Comparison.REACH, 2), (Comparison.EXCEED, 3)], ids=["reach", "exceed"]
)
def test_the_third_failure_opens_or_the_fourth_where_it_must_exceed(comparison: Comparison, opens_at: int) -> None:
    _, moves = _moves([_F] * 6, TriggerRule(comparison=comparison))
    expected = [Move.NONE] * opens_at + [Move.OPEN] + [Move.ABSORB] * (5 - opens_at)
    assert moves == expected


@pytest.mark.clause("pramana", "7.4.2")
@pytest.mark.parametrize("other", [_S, _P, _I])
def test_any_other_outcome_ends_the_run(other: Outcome) -> None:
    assert Move.OPEN not in _moves([_F, _F, other, _F, _F])[1]


def test_an_open_item_absorbs_everything_until_a_person_concludes() -> None:
    watch, moves = _moves([_F, _F, _F, _S, _F, _F, _F])
    assert moves.count(Move.OPEN) == 1
    assert (watch.is_open, watch.absorbed) == (True, 4)
    after = conclude_watch(watch, at=NOON)
    assert (after.streak, after.is_open) == (0, False)
    assert _moves([_F, _F, _F], watch=after)[1] == [Move.NONE, Move.NONE, Move.OPEN]


@given(_histories, st.integers(1, 5), st.sampled_from(list(Comparison)))
def test_there_is_at_most_one_opening_without_a_conclusion(
    history: list[Outcome], threshold: int, comparison: Comparison
) -> None:
    watch, moves = _moves(history, TriggerRule(threshold=threshold, comparison=comparison))
    needed = threshold + (comparison is Comparison.EXCEED)
    longest = max(map(len, "".join("f" if one is _F else " " for one in history).split()), default=0)
    assert moves.count(Move.OPEN) == (longest >= needed)
    assert watch.is_open == (longest >= needed)
    assert all(after is Move.ABSORB for before, after in pairwise(moves) if before is not Move.NONE)


def test_two_wrong_steps_open_an_item_at_once_or_join_the_open_one() -> None:
    opened = provoke(Watch())
    assert (opened.move, opened.watch.is_open) == (Move.OPEN, True)
    joined = provoke(opened.watch)
    assert (joined.move, joined.watch.absorbed) == (Move.ABSORB, 1)


def test_what_is_not_open_is_not_concluded() -> None:
    with raises(DeliveryError.trigger):
        conclude_watch(Watch(), at=NOON)


@pytest.mark.clause("pramana", "7.4.3")
@pytest.mark.clause("pramana", "12.3")
@pytest.mark.parametrize(
    ("signals", "expected"),
    [
        ([(_F, "a"), (_F, "b")], _F),
        ([(_F, "a"), (_F, "a"), (_F, "a")], _I),
        ([(_F, "a"), (_F, "b"), (_S, "c"), (_S, "d")], _I),
        ([(_F, "a"), (_F, "b"), (_F, "c"), (_S, "d"), (_S, "e")], _F),
        ([(_F, "a"), (_P, "b")], _I),
        ([(_S, "a")], _I),
    ],
)
def test_a_batch_is_one_failure_only_if_most_failed_in_two_sessions(
    signals: list[tuple[Outcome, str]], expected: Outcome
) -> None:
    history = [make_outcome(outcome, session=session) for outcome, session in signals]
    [batch] = closed_batches(history, _DAILY, now=later(hours=12))
    assert (batch.outcome, batch.signals) == (expected, len(signals))


@pytest.mark.clause("pramana", "7.4.3")
def test_a_batch_is_looked_at_when_its_window_has_ended_and_never_twice() -> None:
    history = [make_outcome(session="a"), make_outcome(session="b", at=later(hours=11, minutes=59))]
    assert closed_batches(history, _DAILY, now=later(hours=11, minutes=59)) == ()
    [batch] = closed_batches(history, _DAILY, now=later(hours=12))
    assert (batch.starts_at, batch.ends_at) == (later(hours=-12), later(hours=12))
    found = follow_batch(Watch(), batch, TriggerRule(threshold=1, batching=_DAILY))
    assert found.move is Move.OPEN
    with raises(DeliveryError.trigger, match="before"):
        follow_batch(found.watch, batch, _RULE)


@pytest.mark.clause("pramana", "7.4.3")
def test_windows_of_another_length_go_on_from_where_the_last_one_ended() -> None:
    """An operator who changes the length neither stops the looking nor has anything looked at twice."""
    [day] = closed_batches([make_outcome()], _DAILY, now=later(hours=12))
    watch = follow_batch(Watch(), day, TriggerRule(batching=_DAILY)).watch
    other = BatchRule(window_seconds=5 * 3600 + 60)
    [late] = closed_batches([make_outcome(at=later(hours=13))], other, now=later(days=1))
    assert late.starts_at < day.ends_at < late.ends_at
    assert follow_batch(watch, late, TriggerRule(batching=other)).watch.batched_until == late.ends_at


def test_batching_begins_with_the_window_of_its_first_signal_and_ends_with_it() -> None:
    begun = begin_batching(Watch(streak=2), NOON, _DAILY)
    assert (begun.batched_until, begun.streak) == (later(hours=-12), 2)
    assert begin_batching(begun, later(days=3), _DAILY) == begun
    assert end_batching(begun) == end_batching(Watch(streak=2)) == Watch(streak=2)


def test_three_bad_days_open_one_item() -> None:
    history = [make_outcome(session=session, at=later(days=day)) for day in range(4) for session in ("a", "b")]
    watch, moves = Watch(), []
    for batch in closed_batches(history, _DAILY, now=later(days=5)):
        found = follow_batch(watch, batch, TriggerRule(batching=_DAILY))
        watch = found.watch
        moves.append(found.move)
    assert moves == [Move.NONE, Move.NONE, Move.OPEN, Move.ABSORB]


@pytest.mark.clause("pramana", "7.4.3")
def test_all_signals_of_a_batch_share_an_id_that_rule_and_window_give() -> None:
    first = batch_id_at(RULE, NOON, _DAILY)
    assert first == batch_id_at(RULE, later(hours=11), _DAILY)
    assert first != batch_id_at(RULE, later(hours=12), _DAILY)
    assert first != batch_id_at(RuleId("OTHER-1"), NOON, _DAILY)
    [batch] = closed_batches([make_outcome()], _DAILY, now=later(days=1))
    assert batch.batch_id == first


def test_batches_are_of_one_rule() -> None:
    with raises(DeliveryError.trigger, match="one rule"):
        closed_batches([make_outcome(), make_outcome(rule=RuleId("B-2"))], _DAILY, now=later(days=1))


def test_settings_that_make_no_sense_are_refused() -> None:
    assert _RULE.batching is None
    for make in (
        lambda: TriggerRule(threshold=0),
        lambda: BatchRule(window_seconds=0),
        lambda: BatchRule(min_sessions=0),
    ):
        with raises(DeliveryError.trigger):
            make()
