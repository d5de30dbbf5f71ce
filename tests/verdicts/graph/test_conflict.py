"""Demands that cannot be met together at some instant."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.instant import Instant
from assay.verdicts.graph.conflict import Demand, find_conflicts
from assay.verdicts.graph.constraint import Constraint, constraint_of, is_empty, meet
from assay.verdicts.graph.node import NodeId
from assay.verdicts.graph.obligation import Obligation

_DAY = datetime(2020, 1, 1, tzinfo=UTC)
_OPERANDS = st.one_of(
    st.tuples(
        st.sampled_from(("must_not_exceed", "must_be_at_least", "must_be_below", "must_be_above", "must_equal")),
        st.integers(0, 4).map(Decimal),
    ),
    st.tuples(
        st.sampled_from(("must_be_one_of", "must_not_be_one_of")),
        st.lists(st.integers(0, 4).map(Decimal), min_size=1, max_size=3).map(tuple),
    ),
)
_DATES = st.tuples(st.none() | st.integers(0, 5), st.none() | st.integers(0, 5))


def _day(number: int | None) -> Instant | None:
    return None if number is None else Instant(_DAY + timedelta(days=number))


def _demand(name: str, kind: str, value: object, start: int | None = None, end: int | None = None) -> Demand:
    node = Obligation(
        id=NodeId(name),
        obligation_type=kind,
        value=value,  # type: ignore[arg-type]  # as given
        effective_date_start=_day(start),
        effective_date_end=_day(end),
    )
    constraint = constraint_of(node)
    assert constraint is not None
    return Demand(node, constraint)


def _pairs(*demands: Demand) -> list[tuple[str | None, str]]:
    return [
        (None if found.first is None else found.first.obligation.id, found.second.obligation.id)
        for found in find_conflicts(demands)
    ]


def test_bounds_that_leave_nothing_between_them_conflict() -> None:
    """An open end at the same number leaves nothing either."""
    most, least = _demand("most", "must_not_exceed", Decimal(5)), _demand("least", "must_be_at_least", Decimal(5))
    assert _pairs(most, least) == []
    assert _pairs(most, _demand("more", "must_be_above", Decimal(5))) == [("more", "most")]
    assert _pairs(_demand("less", "must_be_below", Decimal(5)), least) == [("least", "less")]


def test_what_ends_before_the_other_begins_does_not_conflict() -> None:
    """An end that is the other's beginning does: both ends belong."""
    low, high = ("must_not_exceed", Decimal(5)), ("must_be_above", Decimal(6))
    assert _pairs(_demand("a", *low, None, 1), _demand("b", *high, 2)) == []
    assert _pairs(_demand("a", *low, None, 2), _demand("b", *high, 2)) == [("a", "b")]
    assert _pairs(_demand("a", *low, 3), _demand("b", *high, None, 2)) == []


def test_an_earlier_bound_does_not_outlive_its_end() -> None:
    """The tightest bound that is over gives way to the next."""
    demands = (
        _demand("tight", "must_not_exceed", Decimal(1), 0, 1),
        _demand("loose", "must_not_exceed", Decimal(9), 0, 9),
        _demand("least", "must_be_at_least", Decimal(5), 2, 9),
        _demand("after", "must_be_above", Decimal(9), 3),
    )
    assert _pairs(*demands) == [("loose", "after")]


def test_three_may_contradict_where_no_two_do() -> None:
    """Then nobody is named as the other."""
    lists = [("a", (1, 2)), ("b", (2, 3)), ("c", (1, 3))]
    demands = [_demand(name, "must_be_one_of", tuple(map(Decimal, members))) for name, members in lists]
    assert _pairs(*demands) == [(None, "c")]


def test_a_point_that_is_excluded_is_a_conflict() -> None:
    """Bounds may meet in one number, which another obligation forbids."""
    demands = (
        _demand("a", "must_not_exceed", Decimal(5)),
        _demand("b", "must_be_at_least", Decimal(5)),
        _demand("c", "must_not_equal", Decimal(5)),
    )
    assert _pairs(*demands) == [(None, "c")]


def test_one_mistake_against_thousands_is_not_told_thousands_of_times() -> None:
    """So many are named, and no more."""
    many = [_demand(f"m{number}", "must_be_above", Decimal(9)) for number in range(300)]
    assert len(find_conflicts([_demand("a", "must_not_exceed", Decimal(5)), *many])) == 100


@given(st.lists(st.tuples(_OPERANDS, _DATES), max_size=6))
def test_a_conflict_is_found_exactly_when_some_day_has_one(
    rows: list[tuple[tuple[str, object], tuple[int | None, int | None]]],
) -> None:
    """Against looking at every day, with all demands that are in force on it."""
    demands = [
        _demand(str(number), kind, value, start, end)
        for number, ((kind, value), (start, end)) in enumerate(rows)
        if start is None or end is None or start <= end
    ]
    days = [Instant(_DAY + timedelta(days=number)) for number in range(-1, 7)]
    impossible = any(_is_impossible([each for each in demands if each.obligation.is_in_force(day)]) for day in days)
    assert bool(find_conflicts(demands)) is impossible


def _is_impossible(demands: list[Demand]) -> bool:
    both = Constraint()
    for demand in demands:
        both = meet(both, demand.constraint)
    return is_empty(both)
