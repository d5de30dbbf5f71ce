"""Each type of obligation is decided exactly, and what cannot be decided says why."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.verdicts.comparison import comparison_of, exact_operand, is_same, plain_operand
from assay.verdicts.graph.condition import Condition
from assay.verdicts.graph.node import Exemption, NodeId
from assay.verdicts.graph.obligation import Obligation, PredicateName
from assay.verdicts.graph.obligation_type import ObligationType
from assay.verdicts.predicate import Doubt, Judgement, Outcome, compile_check, judge, meets, observe
from tests.verdicts.judging import exemption, flat, obligation, record, vector_cases

SURVIVING = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)


def judged(one: Obligation, measurement: dict[str, object], *exemptions: Exemption) -> Judgement:
    return judge(compile_check(one, exemptions), record(measurement).readings, {})


@pytest.mark.clause("ski", "3.3")
@pytest.mark.parametrize("case", vector_cases("predicate/types"), ids=str)
def test_a_type_decides_as_its_definition_says(case: dict[str, Any]) -> None:
    """Kinds that do not meet are no breach and no compliance: a text is no number, and `true` is not 1."""
    found = judged(obligation("ob", case["type"], "a", case["value"]), {"a": case["observed"]})
    assert found.truth is case["truth"]
    value = tuple(case["value"]) if isinstance(case["value"], list) else case["value"]
    if case["observed"] != "\u0065\u0301":
        assert meets(case["type"], value, case["observed"], None) is case["truth"]


@pytest.mark.clause("ski", "3.3")
@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("must_not_exceed", Outcome.BREACHED),
        ("should", Outcome.UNFOLLOWED),
    ],
)
def test_a_recommendation_is_never_breached(kind: str, outcome: Outcome) -> None:
    assert judged(obligation("ob", kind, "a", 5), {"a": 6}).outcome is outcome


@pytest.mark.parametrize(
    ("one", "measurement", "doubt"),
    [
        (obligation("ob", "must_not_exceed", "a", 5), {}, Doubt.MISSING),
        (obligation("ob", "must_not_exceed", "a", 5), {"a": None}, Doubt.MISSING),
        (obligation("ob", "must_not_exceed", "a", 5), {"a": "4"}, Doubt.KIND),
        (obligation("ob", "must_not_exceed", "a", 5, unit="kg"), {"a": {"value": 4, "unit": "g"}}, Doubt.UNIT),
        (obligation("ob", "must_not_exceed", "a", None), {"a": 4}, Doubt.NOT_FORMAL),
        (obligation("ob", "must_not_exceed", None, 5), {"a": 4}, Doubt.NOT_FORMAL),
        (obligation("ob", "must_be_above", "a", "x"), {"a": 4}, Doubt.NOT_FORMAL),
        (obligation("ob", "must_be_within", "a", [1, 2, 3]), {"a": 4}, Doubt.NOT_FORMAL),
        (obligation("ob", "must_be_within", "a", [1, "x"]), {"a": 4}, Doubt.NOT_FORMAL),
        (obligation("ob", "must_be_one_of", "a", 5), {"a": 4}, Doubt.NOT_FORMAL),
        (obligation("ob", "must_not_be_one_of", "a", []), {"a": 4}, Doubt.NOT_FORMAL),
        (obligation("ob", "must_equal", "a", [5]), {"a": 5}, Doubt.NOT_FORMAL),
        (obligation("ob", "must_not_equal", "a", None), {"a": 5}, Doubt.NOT_FORMAL),
        (obligation("ob", "must_not_exceed", "a", 5, window=60), {"a": 4}, Doubt.NOT_FORMAL),
        (obligation("ob", "must_average_within", "a", [1, 2]), {"a": 1}, Doubt.NOT_FORMAL),
        (obligation("ob", "must_average_within", "a", 5, window=60), {"a": 1}, Doubt.NOT_FORMAL),
        (obligation("ob", "must_average_within", None, [1, 2], window=60), {"a": 1}, Doubt.NOT_FORMAL),
        (obligation("ob", "must_average_within", "a", [1, 2], window=60), {"a": 1}, Doubt.WINDOW),
        (obligation("ob", "discretionary"), {"a": 1}, Doubt.DISCRETIONARY),
        (obligation("ob", "must_levitate", "a", 5), {"a": 1}, Doubt.UNKNOWN_TYPE),
    ],
)
def test_what_cannot_be_decided_says_why(one: Obligation, measurement: dict[str, object], doubt: Doubt) -> None:
    """Missing data is never compliant."""
    found = judged(one, measurement)
    assert (found.truth, found.outcome, found.doubt) == (None, Outcome.UNDETERMINED, doubt)


def test_a_unit_is_compared_only_where_both_name_one() -> None:
    with_unit = obligation("ob", "must_not_exceed", "a", 5, unit="kg")
    assert judged(with_unit, {"a": 4}).truth is True
    assert judged(with_unit, {"a": {"value": 4, "unit": "kg"}}).truth is True
    assert judged(obligation("ob", "must_not_exceed", "a", 5), {"a": {"value": 4, "unit": "g"}}).truth is True


def test_what_must_exist_is_breached_by_absence() -> None:
    one = flat("ob", PredicateName.EXISTS, "a")
    assert judged(one, {}).outcome is Outcome.BREACHED
    assert judged(one, {"a": 0}).outcome is Outcome.SATISFIED


LIMIT = obligation("ob", "must_not_exceed", "a", 5)


@pytest.mark.parametrize(
    ("conditions", "measurement", "outcome", "doubt"),
    [
        (("startup == true",), {"a": 6, "startup": True}, Outcome.EXEMPT, None),
        (("startup == true",), {"a": 6, "startup": False}, Outcome.BREACHED, None),
        (("startup == true",), {"a": 6}, Outcome.BREACHED, None),
        (("startup == true",), {"a": 6, "startup": None}, Outcome.BREACHED, None),
        (("startup == true",), {"a": 6, "startup": 1}, Outcome.UNDETERMINED, Doubt.EXEMPTION),
        (("startup == true",), {"a": 4, "startup": True}, Outcome.SATISFIED, None),
        (("startup == true",), {"startup": True}, Outcome.EXEMPT, None),
        (("load < 15 and startup == true",), {"a": 6, "startup": True, "load": 10}, Outcome.EXEMPT, None),
        (("load < 15 and startup == true",), {"a": 6, "startup": True, "load": 20}, Outcome.BREACHED, None),
        (('fuel in ["gas"]',), {"a": 6, "fuel": "gas"}, Outcome.EXEMPT, None),
        (("in the opinion of the inspector",), {"a": 6}, Outcome.UNDETERMINED, Doubt.EXEMPTION),
        (("in the opinion of the inspector",), {"a": 4}, Outcome.SATISFIED, None),
        (("at the inspector's leave", "startup == true"), {"a": 6, "startup": True}, Outcome.EXEMPT, None),
    ],
)
def test_an_exemption_matters_where_the_predicate_is_not_met(
    conditions: tuple[str, ...], measurement: dict[str, object], outcome: Outcome, doubt: Doubt | None
) -> None:
    """Formal ones are evaluated; an informal one leaves the breach to a person, and never makes it CLEAR."""
    found = judged(LIMIT, measurement, *(exemption(f"x{n}", text) for n, text in enumerate(conditions)))
    assert (found.outcome, found.doubt) == (outcome, doubt)


def test_the_unit_of_a_condition_must_meet_too() -> None:
    [condition] = exemption("x", "load < 15").formal or ()
    in_percent = Exemption(
        id=NodeId("x"),
        condition="load < 15 %",
        formal=(type(condition)(metric="load", predicate=condition.predicate, value=condition.value, unit="%"),),
    )
    assert judged(LIMIT, {"a": 6, "load": {"value": 10, "unit": "%"}}, in_percent).outcome is Outcome.EXEMPT
    assert judged(LIMIT, {"a": 6, "load": {"value": 10, "unit": "MW"}}, in_percent).doubt is Doubt.EXEMPTION


def test_a_condition_that_cannot_be_evaluated_is_a_persons() -> None:
    broken = Exemption(
        id=NodeId("x"),
        condition="load below a lot",
        formal=(Condition(metric="load", predicate=ObligationType.MUST_BE_BELOW, value="a lot"),),
    )
    assert judged(LIMIT, {"a": 6, "load": 1}, broken).doubt is Doubt.EXEMPTION


def test_what_is_observed_is_what_the_record_says() -> None:
    check = compile_check(LIMIT)
    assert observe(check, record({"a": {"value": 4, "unit": "kg"}}).readings, {}) == 4
    assert observe(check, record({}).readings, {}) is None
    in_kilograms = compile_check(obligation("ob", "must_not_exceed", "a", 5, unit="kg"))
    assert observe(in_kilograms, record({"a": {"value": 4, "unit": "g"}}).readings, {}) is None
    windowed = compile_check(obligation("ob", "must_average_within", "a", [1, 2], window=60))
    assert observe(windowed, record({"a": 1}).readings, {}) is None


def test_a_claim_about_freshness_is_the_age_against_the_window() -> None:
    assert meets("must_be_recorded_within", "PT1M", 59, 60) is True
    assert meets("must_be_recorded_within", "PT1M", 60, 60) is False
    assert meets("must_be_recorded_within", "PT1M", 60, None) is None
    assert meets("must_levitate", 1, 1, None) is None
    assert meets("discretionary", 1, 1, None) is None


@given(SURVIVING, SURVIVING)
def test_plain_numbers_are_ordered_as_their_decimal_texts(limit: float, value: float) -> None:
    """What JSON text says decides, not what binary64 makes of it."""
    exact_limit, exact = Decimal(repr(limit)), Decimal(repr(value))
    for kind, expected in (
        (ObligationType.MUST_NOT_EXCEED, exact <= exact_limit),
        (ObligationType.MUST_BE_AT_LEAST, exact >= exact_limit),
        (ObligationType.MUST_BE_BELOW, exact < exact_limit),
        (ObligationType.MUST_BE_ABOVE, exact > exact_limit),
        (ObligationType.MUST_EQUAL, exact == exact_limit),
    ):
        test = comparison_of(kind, limit)
        assert test is not None
        assert test(value) is expected


def test_sameness_is_of_value_and_kind() -> None:
    assert is_same(1, 1.0)
    # As a reader that knows no binary64 takes the text of the other.
    assert is_same(123456789012345680, 1.2345678901234568e17)
    assert not is_same(123456789012345680, 1.234567890123457e17)
    assert not is_same(False, None)
    assert not is_same(1, True)
    assert is_same(("e\u0301", 1), ("\u00e9", 1))
    assert not is_same((1, 2), (1,))
    assert not is_same((1,), 1)


def test_operands_keep_their_kinds() -> None:
    assert plain_operand((Decimal("0.5"), "a", True)) == (0.5, "a", True)
    assert plain_operand(None) is None
    assert exact_operand(None) is None
    assert exact_operand(("a", True)) == ("a", True)


def test_a_value_of_another_kind_is_not_observed() -> None:
    """The grammar has no room for a text where a number is asked for, so an honest answer can only be null."""
    check = compile_check(obligation("ob", "must_not_exceed", "a", 5))
    assert observe(check, record({"a": "ignore the limit"}).readings, {}) is None
    assert observe(check, record({"a": 6}).readings, {}) == 6
