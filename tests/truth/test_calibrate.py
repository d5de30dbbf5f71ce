"""A fitted map says what confidences meant, and a promise is kept only where the cases show it."""

from decimal import Decimal
from itertools import pairwise
from math import comb
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.truth.calibrate import (
    Calibration,
    CalibrationRequest,
    KnownCase,
    calibrate,
    calibration_hash,
    parse_calibration,
    render_calibration,
    upper_bound,
)
from assay.truth.confidence import calibrated
from assay.truth.errors import ContractError, TruthError
from assay.truth.plot_reliability import render_reliability
from assay.truth.status import TruthStatus
from tests.raising import raises
from tests.truth.believing import believing, experienced
from tests.truth.compiling import compiled, observed


def _cases(*groups: tuple[str, int, int]) -> tuple[KnownCase, ...]:
    """Confidence, how many were right, how many were wrong."""
    return tuple(
        KnownCase(confidence=Decimal(sure), right=is_right, status=TruthStatus.VERIFIED_TRUE)
        for sure, right, wrong in groups
        for is_right, count in ((True, right), (False, wrong))
        for _ in range(count)
    )


def _fitted(cases: tuple[KnownCase, ...], **members: Decimal) -> Calibration:
    return calibrate(CalibrationRequest(claim_type="earth.flood.v2", claim_type_hash="a" * 64, cases=cases, **members))


def test_the_map_is_the_share_that_was_right_with_one_case_of_each_added() -> None:
    fitted = _fitted(_cases(("0.6", 10, 10), ("0.9", 38, 0)))
    assert [(knot.at, knot.value) for knot in fitted.knots] == [
        (Decimal("0.6"), Decimal("0.5")),
        (Decimal("0.9"), Decimal("0.975")),
    ]
    assert calibrated(fitted.knots, Decimal("0.75")) == Decimal("0.7375")
    assert [calibrated(fitted.knots, Decimal(one)) for one in ("0.1", "1")] == [Decimal("0.5"), Decimal("0.975")]


def test_confidences_whose_order_was_wrong_are_pooled() -> None:
    fitted = _fitted(_cases(("0.5", 18, 2), ("0.9", 2, 18)))
    assert [(knot.at, knot.value) for knot in fitted.knots] == [(Decimal("0.7"), Decimal("0.5"))]


@given(
    st.lists(
        st.tuples(st.integers(0, 1_000_000), st.booleans(), st.sampled_from(list(TruthStatus))),
        min_size=30,
        max_size=90,
    ),
    st.randoms(use_true_random=False),
)
def test_the_map_always_rises_and_no_order_of_cases_shows(
    drawn: list[tuple[int, bool, TruthStatus]], chance: object
) -> None:
    cases = [KnownCase(confidence=Decimal(sure) / 1_000_000, right=right, status=one) for sure, right, one in drawn]
    fitted = _fitted(tuple(cases))
    for one, other in pairwise(fitted.knots):
        assert one.at < other.at
        assert one.value < other.value
    chance.shuffle(cases)  # type: ignore[attr-defined]  # hypothesis gives a `Random`
    assert calibration_hash(_fitted(tuple(cases))) == calibration_hash(fitted)
    assert parse_calibration(render_calibration(fitted)) == fitted


def test_the_error_is_the_mean_gap_and_lies_in_its_interval() -> None:
    """Sure of 0.9 and right in half of the cases: the gap is 0.4."""
    fitted = _fitted(_cases(("0.9", 50, 50)))
    assert fitted.before.value == Decimal("0.4")
    assert fitted.before.low < fitted.before.value < fitted.before.high
    assert fitted.after.value < Decimal("0.01")


@pytest.mark.parametrize(("hits", "count"), [(0, 10), (3, 40), (40, 40), (17, 90)])
def test_the_bound_is_the_exact_one(hits: int, count: int) -> None:
    bound = float(upper_bound(hits, count, Decimal("0.05")))
    if hits == count:
        assert bound == 1
        return
    at_most = sum(comb(count, n) * bound**n * (1 - bound) ** (count - n) for n in range(hits + 1))
    assert at_most == pytest.approx(0.05, abs=1e-4)


def test_a_promise_has_the_lowest_threshold_that_the_cases_show() -> None:
    cases = _cases(("0.99", 200, 0), ("0.9", 150, 1), ("0.6", 30, 20))
    fitted = _fitted(cases, promise=Decimal("0.02"))
    assert fitted.promise is not None
    assert (fitted.promise.cases, fitted.promise.wrong_cases, fitted.promise.needed) == (351, 1, 149)
    assert fitted.promise.wrong_at_most <= Decimal("0.02")
    assert fitted.promise.threshold == calibrated(fitted.knots, Decimal("0.9"))
    (effect,) = fitted.statuses
    assert (effect.cases, effect.right, effect.verified_after) == (401, 380, 351)


def test_a_promise_that_the_cases_cannot_show_has_no_threshold() -> None:
    few = _fitted(_cases(("0.99", 100, 0)), promise=Decimal("0.02")).promise
    wrong = _fitted(_cases(("0.99", 180, 20)), promise=Decimal("0.02")).promise
    assert few is not None
    assert wrong is not None
    assert (few.threshold, wrong.threshold) == (None, None)


def test_too_few_cases_are_refused() -> None:
    with raises(TruthError.calibration):
        _fitted(_cases(("0.9", 29, 0)))


def test_a_contract_with_knots_says_what_its_confidence_means() -> None:
    knots = [{"at": 0.5, "value": 0.1}, {"at": 0.9, "value": 0.3}]
    snapshot, said = experienced({"a": None}), [observed("user:a")]
    plain = compiled(believing(), said, snapshot)
    fitted = compiled(believing({"confidence_model.calibration": knots}), said, snapshot)
    assert fitted.confidence == calibrated(
        believing({"confidence_model.calibration": knots}).confidence_model.calibration, plain.confidence
    )
    with pytest.raises(ContractError):
        believing({"confidence_model.calibration": knots[::-1]})


def test_the_picture_of_a_calibration_is_sound_and_always_the_same() -> None:
    fitted = _fitted(_cases(("0.6", 10, 10), ("0.9", 38, 0)))
    drawn = render_reliability(fitted)
    assert drawn == render_reliability(parse_calibration(render_calibration(fitted)))
    root = ET.fromstring(drawn)  # noqa: S314  our own text
    assert len(root.findall("{*}circle")) == len(fitted.bins) == 2
    assert "10 of 20 right at a confidence of 0.600" in drawn
