"""What cannot be compared is a person's; what is exact decides, also where only a rounded number can be shown."""

from typing import Any

import pytest
from msgspec.structs import replace

from assay.verdicts.case import expected_of, open_case, parse_case
from assay.verdicts.envelope import ModelAnswer, Verdict, VerifierStatus
from assay.verdicts.fastpath import state_assertions
from assay.verdicts.verify import Verification, expected_verdict, judge_all, verify


def _max(value: object, *earlier: object) -> dict[str, Any]:
    return {
        "obligations": [
            {"id": "o", "type": "must_not_exceed_in_window", "metric": "x", "value": 100, "unit": "mg", "window": 600}
        ],
        "measurement": {"x": value},
        "earlier": [{"ago": 60 + place, "measurement": {"x": one}} for place, one in enumerate(earlier)],
    }


def _run(value: object, *earlier: object, unit: str | None = None) -> dict[str, Any]:
    named = {} if unit is None else {"unit": unit}
    flat = {"name": "debounce", "op": "lte", "value": 100, "seconds": 60}
    return {
        "obligations": [{"id": "o", "type": "must", "metric": "x", "flat": flat, **named}],
        "measurement": {"x": value},
        "earlier": [{"ago": 50 * (place + 1), "measurement": {"x": one}} for place, one in enumerate(earlier)],
    }


def _verdict(case: dict[str, Any]) -> Verdict:
    return expected_of(open_case(parse_case(case))).verdict


def _mg(value: float) -> dict[str, object]:
    return {"value": value, "unit": "mg"}


def _ug(value: float) -> dict[str, object]:
    return {"value": value, "unit": "ug"}


@pytest.mark.clause("ski", "5.3")
@pytest.mark.parametrize("case", [_max(_ug(999)), _max(_mg(40), _ug(999)), _max(_mg(40), "x"), _max("much")])
def test_a_maximum_with_another_unit_or_kind_is_no_breach_but_a_persons(case: dict[str, Any]) -> None:
    """A unit is never converted, so 999 ug is not more than 100 mg; that it is not less either, nobody computed."""
    assert _verdict(case) is Verdict.DISCRETIONARY


@pytest.mark.clause("ski", "5.3")
@pytest.mark.parametrize("other", [_ug(1), "a text", True, _mg(1)])
@pytest.mark.parametrize("dropped", [None, 5])
def test_a_breach_in_its_unit_is_hidden_by_nothing_beside_it(other: object, dropped: int | None) -> None:
    """400 mg are more than 100 mg, whatever else is in the window or was dropped from it."""
    assert _verdict(_max(_mg(400), other) | {"dropped": dropped}) is Verdict.FLAG
    assert _verdict(_max(_mg(40), _mg(400), other) | {"dropped": dropped}) is Verdict.FLAG


def test_a_maximum_in_its_unit_is_decided() -> None:
    assert (_verdict(_max(_mg(40), _mg(50))), _verdict(_max(_mg(40), _mg(500)))) == (Verdict.CLEAR, Verdict.FLAG)


@pytest.mark.clause("ski", "5.3")
@pytest.mark.parametrize(
    "case", [_run(_mg(150), _mg(150), _ug(150)), _run(_mg(150), _ug(150), _mg(150)), _run(_ug(150), unit="mg")]
)
def test_a_run_over_mixed_units_is_a_persons(case: dict[str, Any]) -> None:
    """Without a unit in the graph, records that name different ones cannot be one run."""
    assert _verdict(case) is Verdict.DISCRETIONARY


def test_a_run_that_is_long_enough_needs_nothing_from_before_it() -> None:
    """Two records 100 s apart are over the limit for 60 s: what an older one in another unit says changes nothing."""
    assert _verdict(_run(_mg(150), _mg(150), _mg(150), _ug(1))) is Verdict.FLAG


def _honestly(case: dict[str, Any], *, satisfied: bool | None = None) -> Verification:
    opened = open_case(parse_case(case))
    judgements = judge_all(opened.docket, opened.telemetry, opened.facts)
    stated = state_assertions(opened.docket, opened.telemetry, opened.facts, judgements)
    if satisfied is not None:
        stated = tuple(replace(one, satisfied=satisfied) for one in stated)
    answer = ModelAnswer(
        reasoning="as shown",
        formalizable_assertions=stated,
        kg_citations=(),
        verdict=expected_verdict(judgements, is_mapped=True),
    )
    return verify(opened.docket, opened.telemetry, opened.facts, answer)


_AVERAGE = {
    "obligations": [{"id": "o", "type": "must_average_within", "metric": "x", "value": [0, 100], "window": 600}],
    "measurement": {"x": 100.00000000000001},
    "earlier": [{"ago": 60 + n, "measurement": {"x": 100}} for n in range(3)],
}
_SUM = {
    "obligations": [
        {
            "id": "o",
            "type": "must",
            "metric": "x",
            "flat": {"name": "window_sum", "op": "lte", "value": 1000000, "seconds": 600},
        }
    ],
    "measurement": {"x": 1000000},
    "earlier": [{"ago": 60, "measurement": {"x": 0.000000001}}],
}


@pytest.mark.clause("ski", "4.5")
@pytest.mark.parametrize("case", [_AVERAGE, _SUM])
def test_a_number_that_rounds_onto_the_limit_makes_no_honest_model_a_liar(case: dict[str, Any]) -> None:
    """The model repeats the number that it was shown, and says what is exactly so: that is no contradiction."""
    result = _honestly(case).result
    assert result.status is VerifierStatus.AGREED, result.divergences


@pytest.mark.clause("ski", "4.5")
@pytest.mark.parametrize("case", [_AVERAGE, _SUM])
def test_who_goes_by_the_rounded_number_is_told_the_exact_truth(case: dict[str, Any]) -> None:
    """By the number that was shown the demand is met, so it is no contradiction; but it is not so."""
    assert _honestly(case, satisfied=True).result.status is VerifierStatus.NEURO_SYMBOLIC_DIVERGENCE
