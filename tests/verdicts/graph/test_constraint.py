"""Sets of values: intersected, compared and found empty exactly."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.verdicts.graph.condition import Condition, Operand, Scalar
from assay.verdicts.graph.constraint import (
    Constraint,
    Span,
    breaches_of,
    constraint_of,
    is_empty,
    is_within,
    meet,
    member_of,
)
from assay.verdicts.graph.node import NodeId
from assay.verdicts.graph.obligation import FlatPredicate, Obligation, PredicateName
from assay.verdicts.graph.obligation_type import ObligationType

# Halves lie between whole operands, so that open and closed ends show.
_CANDIDATES: list[Scalar] = [*[Decimal(number) / 2 for number in range(-2, 14)], "a", "b", True, False]
_NUMBERS = st.integers(0, 5).map(Decimal)
_LISTS = st.lists(st.sampled_from(_CANDIDATES), max_size=3).map(tuple)
_ENDS = st.tuples(_NUMBERS, _NUMBERS)
_BOUND = ("must_not_exceed", "must_be_at_least", "must_be_below", "must_be_above")
_PAIRS = st.one_of(
    st.tuples(st.sampled_from(_BOUND), _NUMBERS),
    st.tuples(st.just("must_be_within"), _ENDS),
    st.tuples(st.sampled_from(("must_be_one_of", "must_not_be_one_of")), _LISTS),
    st.tuples(st.sampled_from(("must", "must_not", "must_equal", "must_not_equal")), st.sampled_from(_CANDIDATES)),
)


def _constraint(kind: str, value: object) -> Constraint | None:
    return constraint_of(Obligation(id=NodeId("o"), obligation_type=kind, value=value))  # type: ignore[arg-type]  # as given


def _made(pair: tuple[str, object]) -> Constraint:
    constraint = _constraint(*pair)
    assert constraint is not None
    return constraint


def _satisfies(pair: tuple[str, object], value: Scalar) -> bool:
    """The obligation types as the specification words them, one by one."""
    kind, operand = pair
    number = value if isinstance(value, Decimal) else None
    if kind == "must_be_within":
        assert isinstance(operand, tuple)
        return number is not None and operand[0] <= number <= operand[1]
    if kind in _BOUND:
        assert isinstance(operand, Decimal)
        if number is None:
            return False
        return {
            "must_not_exceed": number <= operand,
            "must_be_at_least": number >= operand,
            "must_be_below": number < operand,
            "must_be_above": number > operand,
        }[kind]
    members = operand if isinstance(operand, tuple) else (operand,)
    is_member = any(type(member) is type(value) and member == value for member in members)
    return is_member if kind in ("must_be_one_of", "must", "must_equal") else not is_member


@given(_PAIRS, st.sampled_from(_CANDIDATES))
def test_a_constraint_has_exactly_what_satisfies_the_obligation(pair: tuple[str, object], value: Scalar) -> None:
    """True is not 1, and a text is within no span."""
    assert _made(pair).has(member_of(value)) is _satisfies(pair, value)


@given(_PAIRS, _PAIRS, st.sampled_from(_CANDIDATES))
def test_what_satisfies_both_is_in_the_meeting(
    one: tuple[str, object], other: tuple[str, object], value: Scalar
) -> None:
    """And nothing else is."""
    both = meet(_made(one), _made(other))
    assert both.has(member_of(value)) is (_satisfies(one, value) and _satisfies(other, value))


@given(st.lists(_PAIRS, min_size=1, max_size=4))
def test_a_meeting_is_empty_exactly_when_nothing_satisfies_all(pairs: list[tuple[str, object]]) -> None:
    """Any number that satisfies whole operands has one among the halves, or a quarter beside it."""
    both = _made(pairs[0])
    for pair in pairs[1:]:
        both = meet(both, _made(pair))
    quarters: list[Scalar] = [Decimal(number) / 4 for number in range(-8, 40)]
    found = any(all(_satisfies(pair, value) for pair in pairs) for value in [*_CANDIDATES, *quarters, "another"])
    assert is_empty(both) is not found


@given(_PAIRS, _PAIRS)
def test_what_is_within_is_satisfied_with_it(inner: tuple[str, object], outer: tuple[str, object]) -> None:
    """The answer may be a careful no, never a false yes."""
    if is_within(_made(inner), _made(outer)):
        assert all(_satisfies(outer, value) for value in _CANDIDATES if _satisfies(inner, value))


@given(_PAIRS, st.sampled_from(_CANDIDATES))
def test_breaches_are_what_does_not_satisfy(pair: tuple[str, object], value: Scalar) -> None:
    """Of numbers, which are what bounds are about."""
    breached = any(part.has(member_of(value)) for part in breaches_of(_made(pair)))
    if isinstance(value, Decimal):
        assert breached is not _satisfies(pair, value)


@pytest.mark.parametrize(
    ("inner", "outer", "within"),
    [
        (("must_be_within", (Decimal(1), Decimal(2))), ("must_not_exceed", Decimal(2)), True),
        (("must_be_within", (Decimal(1), Decimal(2))), ("must_be_below", Decimal(2)), False),
        (("must_be_above", Decimal(2)), ("must_be_at_least", Decimal(2)), True),
        (("must_be_at_least", Decimal(2)), ("must_be_above", Decimal(2)), False),
        (("must_equal", Decimal(2)), ("must_not_exceed", Decimal(2)), True),
        (("must_not_equal", "a"), ("must_not_be_one_of", ("a", "b")), False),
        (("must_not_be_one_of", ("a", "b")), ("must_not_equal", "a"), True),
        (("must_not_exceed", Decimal(2)), ("must_be_one_of", (Decimal(1),)), False),
        (("must_not_equal", "a"), ("must_not_exceed", Decimal(2)), False),
    ],
)
def test_one_demand_may_imply_another(inner: tuple[str, object], outer: tuple[str, object], *, within: bool) -> None:
    """A closed end is not within an open one."""
    assert is_within(_made(inner), _made(outer)) is within


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("must_not_exceed", "5"),
        ("must_not_exceed", True),
        ("must_not_exceed", None),
        ("must_be_within", Decimal(5)),
        ("must_be_within", (Decimal(5),)),
        ("must_be_within", ("a", "b")),
        ("must_be_one_of", "a"),
        ("must_equal", None),
        ("must_equal", (Decimal(5),)),
        ("must_be_recorded_within", Decimal(5)),
        ("should", Decimal(5)),
        ("discretionary", None),
        ("must_sparkle", Decimal(5)),
    ],
)
def test_an_operand_that_does_not_fit_gives_no_constraint(kind: str, value: object) -> None:
    """Nor does a type that values alone do not decide."""
    assert _constraint(kind, value) is None


def test_must_without_a_value_wants_what_is_not_false() -> None:
    """And `must_not` without one wants false."""
    yes, no = member_of(True), member_of(False)
    assert [_made(("must", None)).has(member) for member in (yes, no)] == [True, False]
    assert [_made(("must_not", None)).has(member) for member in (yes, no)] == [False, True]


def test_a_predicate_over_time_is_not_judged_by_its_value() -> None:
    """Only the records tell."""
    predicate = FlatPredicate(name=PredicateName.WINDOW_SUM, max=Decimal(5), seconds=Decimal(60))
    assert constraint_of(Obligation(id=NodeId("o"), obligation_type="must", predicate=predicate)) is None


def test_a_condition_has_a_constraint_too() -> None:
    """It is written with the same types."""
    condition = Condition(metric="m", predicate=ObligationType.MUST_BE_ABOVE, value=_operand(5))
    assert constraint_of(condition) == Constraint(Span(Decimal(5), True, None, False))


def _operand(number: int) -> Operand:
    return Decimal(number)
