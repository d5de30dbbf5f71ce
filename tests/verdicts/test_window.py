"""Windows over earlier records: open at the far end, closed at as_of, exact, and recorded as facts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.verdicts.graph.obligation import Obligation, PredicateName
from assay.verdicts.predicate import Doubt, Judgement, Outcome, compile_check, judge, observe
from assay.verdicts.telemetry import Telemetry
from assay.verdicts.window import facts_at, window_facts
from assay.verdicts.window_fact import WindowFact, buffer_record
from assay.verdicts.window_plan import plan_window
from tests.verdicts.judging import flat, obligation, record, vector_cases

OPS = {name.value: name for name in PredicateName}


def demanded(case: dict[str, Any]) -> Obligation:
    if "flat" not in case:
        return obligation("ob", case["type"], "m", case["value"], window=case.get("window_seconds"))
    fields = {key: OPS[value] if key == "op" else value for key, value in case["fields"].items()}
    return flat("ob", OPS[case["flat"]], "m", **fields)


def sent(place: int, time: str, value: object) -> Telemetry:
    return record({"m": value}, at=f"2026-03-02T{time}Z", name=f"t-{place}")


def looked_at(
    one: Obligation, now: Telemetry, earlier: list[Telemetry], dropped: Telemetry | None = None
) -> tuple[WindowFact, Judgement]:
    check = compile_check(one)
    assert check.plan is not None
    facts = window_facts(
        [check.plan],
        now,
        [buffer_record(one) for one in earlier],
        dropped_until=None if dropped is None else dropped.timestamp,
    )
    found = judge(check, now.readings, facts)
    # What is in doubt is not observed.
    assert observe(check, now.readings, facts) == (None if found.truth is None else facts["ob"].shown)
    return facts["ob"], found


@pytest.mark.clause("ski", "4.1")
@pytest.mark.parametrize("case", vector_cases("window/predicates"), ids=lambda case: case["name"])
def test_a_window_decides_as_written(case: dict[str, Any]) -> None:
    *earlier, now = [sent(place, time, value) for place, (time, value) in enumerate(case["records"])]
    fact, found = looked_at(demanded(case), now, earlier)
    assert fact.shown == case["shown"]
    assert found.outcome == case["outcome"]


@given(st.permutations(range(6)), st.lists(st.floats(-1e9, 1e9), min_size=6, max_size=6))
def test_the_order_in_which_records_came_changes_nothing(order: list[int], values: list[float]) -> None:
    """A late record takes its place in time; sums are exact, so no order rounds differently."""
    earlier = [sent(place, f"11:5{place}:00", value) for place, value in enumerate(values)]
    now = sent(9, "12:00:00", 1)
    for one in (
        obligation("ob", "must_average_within", "m", [0, 5], window=3600),
        flat("ob", PredicateName.DEBOUNCE, "m", seconds=120, op=PredicateName.LTE, value=0),
        obligation("ob", "must_be_recorded_within", "m", 60),
    ):
        assert looked_at(one, now, earlier) == looked_at(one, now, [earlier[place] for place in order])


def test_a_copy_of_the_record_itself_is_not_counted_twice() -> None:
    one = flat("ob", PredicateName.WINDOW_COUNT, "m", seconds=60, op=PredicateName.LTE, value=1)
    now = sent(1, "12:00:00", 1)
    assert looked_at(one, now, [now])[0].records == 1


def test_a_window_that_reaches_back_to_dropped_records_is_in_doubt() -> None:
    dropped = sent(0, "11:30:00", 1)
    now = sent(9, "12:00:00", 10)
    average = obligation("ob", "must_average_within", "m", [0, 50], window=3600)
    assert looked_at(average, now, [], dropped)[1].doubt is Doubt.WINDOW
    assert looked_at(average, now, [sent(1, "11:45:00", 99)], dropped)[1].doubt is Doubt.WINDOW
    short = obligation("ob", "must_average_within", "m", [0, 50], window=1800)
    assert looked_at(short, now, [], dropped)[1].outcome is Outcome.SATISFIED


def test_a_maximum_that_is_exceeded_stays_exceeded_whatever_was_dropped() -> None:
    peak = obligation("ob", "must_not_exceed_in_window", "m", 50, window=3600)
    dropped, now = sent(0, "11:30:00", 1), sent(9, "12:00:00", 60)
    assert looked_at(peak, now, [], dropped)[1].outcome is Outcome.BREACHED


_SETTLED: list[tuple[Obligation, list[Telemetry], Telemetry, Telemetry | None, Doubt]] = [
    (
        obligation("ob", "must_not_exceed_in_window", "m", 50, window=3600),
        [sent(1, "11:40:00", "n/a")],
        sent(9, "12:00:00", 60),
        None,
        Doubt.KIND,
    ),
    (
        flat("ob", PredicateName.WINDOW_COUNT, "m", seconds=3600, op=PredicateName.LTE, value=1),
        [sent(1, "11:40:00", 1)],
        sent(9, "12:00:00", 60),
        sent(0, "11:30:00", 1),
        Doubt.WINDOW,
    ),
    (
        obligation("ob", "must_be_recorded_within", "m", 3600),
        [],
        sent(9, "12:00:00", "2026-03-02T11:20:00Z"),
        sent(0, "11:30:00", 1),
        Doubt.WINDOW,
    ),
]


@pytest.mark.clause("ski", "5.3")
@pytest.mark.parametrize(("one", "earlier", "now", "dropped", "doubt"), _SETTLED)
def test_a_doubt_that_cannot_matter_is_none_and_an_old_fact_with_it_decides_as_it_did(
    one: Obligation, earlier: list[Telemetry], now: Telemetry, dropped: Telemetry | None, doubt: Doubt
) -> None:
    """Entries keep their facts: a replay finds the cautious one again, and is left with the same doubt."""
    fact, found = looked_at(one, now, earlier, dropped)
    assert (fact.doubt, found.outcome) == (None, Outcome.SATISFIED if fact.kind == "age" else Outcome.BREACHED)
    check = compile_check(one)
    assert check.plan is not None
    until = None if dropped is None else dropped.timestamp
    kept = [buffer_record(record) for record in earlier]
    facts = facts_at([check.plan], buffer_record(now), kept, dropped_until=until, is_cautious=True)
    assert judge(check, now.readings, facts).doubt is doubt


def test_freshness_is_in_doubt_only_where_evidence_may_have_been_dropped() -> None:
    fresh = obligation("ob", "must_be_recorded_within", "m", 3600)
    now = sent(9, "12:00:00", None)
    assert looked_at(fresh, now, [], sent(0, "11:30:00", 1))[1].doubt is Doubt.WINDOW
    assert looked_at(fresh, now, [], sent(0, "10:30:00", 1))[1].outcome is Outcome.STALE
    assert looked_at(fresh, now, [sent(1, "11:40:00", 1)], sent(0, "11:30:00", 1))[1].truth is True
    since = flat("ob", PredicateName.SINCE_LAST, "m", op=PredicateName.GTE, value_seconds=60)
    assert looked_at(since, now, [], sent(0, "01:00:00", 1))[1].doubt is Doubt.WINDOW


def test_a_run_may_have_begun_before_what_is_kept() -> None:
    bounce = flat("ob", PredicateName.DEBOUNCE, "m", seconds=3600, op=PredicateName.LTE, value=50)
    now, dropped = sent(9, "12:00:00", 60), sent(0, "11:30:00", 60)
    assert looked_at(bounce, now, [], dropped)[1].doubt is Doubt.WINDOW
    assert looked_at(bounce, now, [sent(1, "11:40:00", 10)], dropped)[1].truth is True
    assert looked_at(bounce, sent(9, "12:00:00", "60"), [])[1].doubt is Doubt.KIND
    assert looked_at(bounce, sent(9, "12:00:00", None), [])[1].doubt is Doubt.MISSING


@pytest.mark.parametrize("value", [1.7e308, -1.7e308])
def test_a_sum_beyond_every_number_is_left_to_a_person(value: float) -> None:
    """It can be neither shown to the model nor recorded; its average can."""
    total = flat("ob", PredicateName.WINDOW_SUM, "m", seconds=600, op=PredicateName.LTE, value=5)
    mean = flat("ob", PredicateName.WINDOW_AVG, "m", seconds=600, op=PredicateName.LTE, value=5)
    now, earlier = sent(9, "12:00:00", value), [sent(1, "11:59:00", value)]
    fact, judgement = looked_at(total, now, earlier)
    assert (fact.shown, judgement.truth, judgement.outcome) == (None, None, Outcome.UNDETERMINED)
    assert looked_at(mean, now, earlier)[1].truth is (value < 0)


def test_units_within_a_window_must_agree() -> None:
    def with_unit(place: int, time: str, unit: str) -> Telemetry:
        return sent(place, time, {"value": 10, "unit": unit})

    named = obligation("ob", "must_average_within", "m", [0, 50], window=3600, unit="kg")
    unnamed = obligation("ob", "must_average_within", "m", [0, 50], window=3600)
    kilo, gram = with_unit(1, "11:50:00", "kg"), with_unit(2, "11:55:00", "g")
    now = with_unit(9, "12:00:00", "kg")
    assert looked_at(named, now, [kilo])[1].truth is True
    assert looked_at(named, now, [gram])[1].doubt is Doubt.UNIT
    assert looked_at(unnamed, now, [kilo])[1].truth is True
    assert looked_at(unnamed, now, [gram])[1].doubt is Doubt.UNIT


@pytest.mark.parametrize(
    "one",
    [
        flat("ob", PredicateName.WINDOW_SUM, "m", op=PredicateName.LTE, value=1),
        flat("ob", PredicateName.WINDOW_SUM, "m", seconds=60),
        flat("ob", PredicateName.WINDOW_SUM, "m", seconds=60, op=PredicateName.LTE, value="x"),
        flat("ob", PredicateName.DEBOUNCE, "m", seconds=60),
        flat("ob", PredicateName.SINCE_LAST, "m", value_seconds=60),
        obligation("ob", "must_be_recorded_within", "m", "a while"),
        obligation("ob", "must_be_recorded_within", None, 60),
        obligation("ob", "must_not_exceed", "m", 60),
    ],
)
def test_a_predicate_that_lacks_what_it_needs_has_no_plan(one: Obligation) -> None:
    assert plan_window(one) is None


@pytest.mark.clause("ski", "4.1")
def test_evidence_that_says_no_is_none() -> None:
    """`inspected: false` a minute ago is no inspection; `true` is one."""
    fresh = obligation("ob", "must_be_recorded_within", "m", 600)
    now = sent(9, "12:00:00", True)
    assert looked_at(fresh, now, [sent(1, "11:59:00", False)])[1].outcome is Outcome.STALE
    assert looked_at(fresh, now, [sent(1, "11:59:00", True)])[1].outcome is Outcome.SATISFIED


@pytest.mark.clause("ski", "4.1")
@pytest.mark.parametrize(
    ("stated", "outcome"),
    [
        ("2026-03-02T11:59:59.999999Z", Outcome.SATISFIED),
        ("2026-03-02T12:00:00Z", Outcome.STALE),
        ("2026-03-02T13:00:00+01:00", Outcome.STALE),
        ("2026-03-02T12:00:01Z", Outcome.STALE),
        ("2026-03-02T11:50:00Z", Outcome.STALE),
    ],
)
def test_a_record_is_no_evidence_of_its_own_freshness(stated: str, outcome: Outcome) -> None:
    """It may state when something was done before it; its own instant, or a later one, would make itself fresh."""
    fresh = obligation("ob", "must_be_recorded_within", "m", 600)
    fact, found = looked_at(fresh, sent(9, "12:00:00", stated), [])
    assert (found.outcome, fact.records) == (outcome, 1 if stated < "2026-03-02T12:00:00Z" else 0)


def test_no_time_at_all_since_the_last_is_a_limit_too() -> None:
    """A limit of 0 s is not taken for one that was left out."""
    since = flat("ob", PredicateName.SINCE_LAST, "m", op=PredicateName.LTE, value_seconds=0, seconds=600)
    plan = plan_window(since)
    assert plan is not None
    assert plan.operand == 0
