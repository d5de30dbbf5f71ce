"""A case in a file is what a rule and a record would be, and its right answer is the verifier's."""

from typing import Any

import pytest

from assay.verdicts.case import expected_of, open_case, parse_case
from assay.verdicts.envelope import Verdict
from assay.verdicts.errors import VerdictsError
from tests.contract._kit import refused
from tests.raising import raises

LIMIT = {"id": "ob-1", "type": "must_not_exceed", "metric": "nox", "value": 50, "unit": "mg/m3"}


def case(measurement: dict[str, Any], *obligations: dict[str, Any], **more: Any) -> dict[str, Any]:  # noqa: ANN401  fields of a case
    return {"obligations": list(obligations or (LIMIT,)), "measurement": measurement, **more}


@pytest.mark.parametrize(
    ("given", "verdict", "classes"),
    [
        (case({"nox": {"value": 51, "unit": "mg/m3"}}), Verdict.FLAG, ("breached",)),
        (case({"nox": 50}), Verdict.CLEAR, ("satisfied",)),
        (case({"nox": {"value": 51, "unit": "kg"}}), Verdict.DISCRETIONARY, ("undetermined",)),
        (case({}), Verdict.DISCRETIONARY, ("undetermined",)),
        (case({"nox": 51, "start_up": True}, exemptions={"ob-1": ["start_up == true"]}), Verdict.CLEAR, ("exempt",)),
        (case({"nox": 51}, exemptions={"ob-1": ["a mild winter"]}), Verdict.DISCRETIONARY, ("undetermined",)),
        (
            case({}, {"id": "o", "type": "must_be_recorded_within", "metric": "cal", "window": 60}),
            Verdict.NULL_STALE,
            ("stale",),
        ),
        (
            case(
                {},
                {"id": "o", "type": "must_be_recorded_within", "metric": "cal", "window": 60},
                earlier=[{"ago": 59, "measurement": {"cal": 1}}],
            ),
            Verdict.CLEAR,
            ("satisfied",),
        ),
        (case({"m": 1}, {"id": "o", "type": "ought", "metric": "m"}), Verdict.DISCRETIONARY, ("judgement",)),
        (
            case({"m": 3}, {"id": "o", "type": "must", "metric": "m", "flat": {"name": "exists"}}),
            Verdict.CLEAR,
            ("satisfied",),
        ),
    ],
)
def test_a_case_comes_to_what_the_verifier_says(
    given: dict[str, Any], verdict: Verdict, classes: tuple[str, ...]
) -> None:
    opened = open_case(parse_case(given))
    found = expected_of(opened)
    assert (found.verdict, found.classes) == (verdict, classes)
    assert opened.prompt == open_case(parse_case(given)).prompt
    assert opened.prompt.endswith("answer\n")


@pytest.mark.parametrize(
    "given",
    [
        {},
        case({}, extra=1),
        {**case({}), "obligations": [{"id": "o"}]},
        [],
        case({}, {"id": "o", "type": "must", "metric": "m", "flat": {"name": "levitate"}}),
        case({}, {"id": "o", "type": "must", "metric": "m", "flat": {"name": "exists", "odd": 1}}),
        case({}, {"id": "o", "type": "must_not_exceed", "metric": "m", "value": {"a": 1}}),
    ],
)
def test_what_is_no_case_is_refused(given: object) -> None:
    with raises(VerdictsError.case):
        open_case(parse_case(given))


@pytest.mark.clause("ski", "3.3")
def test_a_range_may_be_written_as_in_a_graph() -> None:
    ends = {"id": "o", "type": "must_be_within", "metric": "m", "value": {"min": 1, "max": 3}}
    assert [expected_of(open_case(parse_case(case({"m": m}, ends)))).verdict for m in (1, 3.5)] == [
        Verdict.CLEAR,
        Verdict.FLAG,
    ]


@pytest.mark.parametrize("value", [{"min": 1}, {}, {"min": 1, "max": 2, "unit": "g"}, [{"a": 1}]])
def test_another_object_for_a_value_is_refused_with_what_it_has(value: object) -> None:
    with raises(VerdictsError.case, match="where a range has min and max"):
        open_case(parse_case(case({"m": 1}, {"id": "o", "type": "must_be_within", "metric": "m", "value": value})))


def test_a_record_that_no_node_would_take_is_refused() -> None:
    with refused("telemetry.form"):
        open_case(parse_case(case({"a": [1, 2]})))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"exemptions": {"p": ["x == 1"]}}, "some of"),
        ({"obligations": [{"id": "o", "type": "must", "metric": "m"}] * 2}, "an id each"),
        ({"obligations": [{"id": "o", "type": "must_equal", "metric": "m", "value": 2**53 + 1}]}, "binary64"),
        ({"measurement": {"m": 2**60}}, "2\\^53"),
    ],
)
def test_a_case_that_no_graph_and_no_record_could_hold_is_refused(more: dict[str, object], told: str) -> None:
    """Two obligations of one id, exemptions of none, and numbers that would be rounded before they are compared."""
    case = {"obligations": [{"id": "o", "type": "must", "metric": "m"}], "measurement": {"m": 1}} | more
    with raises(VerdictsError.case, match=told):
        open_case(parse_case(case))


def test_an_id_is_the_same_however_its_letters_are_composed() -> None:
    """As in a graph: what a model may name is what the slice has."""
    limit = {"id": "e\u0301\u0327", "type": "must_not_exceed", "metric": "m", "value": 1}
    opened = open_case(
        parse_case({"obligations": [limit], "measurement": {"m": 2}, "exemptions": {"\u0229\u0301": ["m == 2"]}})
    )
    assert [check.obligation_id for check in opened.docket.checks] == ["\u0229\u0301"]
    assert expected_of(opened).verdict is Verdict.CLEAR
