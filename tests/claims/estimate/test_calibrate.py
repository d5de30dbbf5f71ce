"""Reports about an uncertainty equal those of an independent library, and its pictures are whole."""

from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.metrics import roc_curve as sklearn_roc_curve

from assay.claims.errors import ClaimsError
from assay.claims.estimate.calibrate import (
    auroc,
    bootstrap_auroc,
    brier_score,
    calibration_error,
    make_report,
    reliability,
    risk_coverage,
    roc_curve,
)
from assay.claims.estimate.conform import calibrate_split
from assay.claims.estimate.plot import plot_coverage, plot_reliability, plot_risk_coverage, plot_roc
from tests.raising import raises
from tests.scale import scale

_PAIRS = st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=2, max_size=60).filter(
    lambda pairs: len({label for _, label in pairs}) == 2
)


def _sample(seed: int, n: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Uncertainties that are exactly the probability of being wrong."""
    generator = np.random.default_rng(seed)
    scores = generator.random(n)
    return scores, generator.random(n) < scores


@given(_PAIRS)
def test_auroc_and_brier_equal_scikit_learns(pairs: list[tuple[int, bool]]) -> None:
    """Ties count half on both sides."""
    scores = [number / 20 for number, _ in pairs]
    wrong = [label for _, label in pairs]
    assert auroc(scores, wrong) == pytest.approx(roc_auc_score(wrong, scores), abs=1e-12)
    assert brier_score(scores, wrong) == pytest.approx(brier_score_loss(wrong, scores), abs=1e-12)


@given(_PAIRS)
def test_the_roc_curve_is_scikit_learns(pairs: list[tuple[int, bool]]) -> None:
    """Every step of it, and the area under it is the AUROC."""
    scores = [number / 20 for number, _ in pairs]
    wrong = [label for _, label in pairs]
    points = [(point.false_alarms, point.caught) for point in roc_curve(scores, wrong)]
    alarms, caught, _ = sklearn_roc_curve(wrong, scores, drop_intermediate=False)
    assert np.array(points) == pytest.approx(np.stack([alarms, caught], axis=1))
    xs, ys = np.array(points).T
    assert float(np.trapezoid(ys, xs)) == pytest.approx(auroc(scores, wrong))


def test_auroc_worked_out_by_hand() -> None:
    """One of the four pairs is a tie, three are right."""
    assert auroc([0.1, 0.5, 0.5, 0.9], [False, False, True, True]) == 3.5 / 4
    assert auroc([0, 0, 1, 1], [1, 1, 0, 0]) == 0.0


def test_the_bootstrap_is_the_same_for_the_same_seed_and_holds_the_value() -> None:
    scores, wrong = _sample(1, 300)
    first = bootstrap_auroc(scores, wrong, seed=4, rounds=200)
    assert first == bootstrap_auroc(scores, wrong, seed=4, rounds=200)
    assert first != bootstrap_auroc(scores, wrong, seed=5, rounds=200)
    assert first.low < first.value < first.high
    assert bootstrap_auroc(scores, wrong, seed=4, rounds=200, level=0.5).high < first.high


def test_the_bootstrap_interval_holds_the_true_value_about_as_often_as_it_says() -> None:
    """For u uniform and P(wrong) = u the true AUROC is 5/6; 95 % intervals, far from certain at 80 cases."""
    rounds = scale(60, 600)
    hits = 0
    for seed in range(rounds):
        found = bootstrap_auroc(*_sample(seed, 80), seed=seed, rounds=200)
        hits += found.low <= 5 / 6 <= found.high
    assert 0.85 * rounds <= hits <= rounds


def test_reliability_puts_each_case_into_its_bin() -> None:
    """0.2 belongs to the third of ten bins, 1.0 to the last."""
    bins = reliability([0.0, 0.05, 0.2, 1.0], [False, True, True, True])
    assert [(one.count, one.wrong) for one in bins] == [(2, 0.5), (1, 1.0), (1, 1.0)]
    assert calibration_error(bins) == pytest.approx((2 * abs(0.025 - 0.5) + 0.8 + 0.0) / 4)


def test_a_calibrated_uncertainty_has_a_small_error_and_an_uncalibrated_one_has_not() -> None:
    scores, wrong = _sample(2, 5000)
    assert calibration_error(reliability(scores, wrong)) < 0.05
    assert calibration_error(reliability(1 - scores, wrong)) > 0.3


def test_risk_against_coverage_publishes_ties_together() -> None:
    """Three values: after the first one of two is wrong, after the second one of three."""
    points = risk_coverage([0.1, 0.1, 0.2, 0.9], [True, False, False, True])
    assert [(one.coverage, one.risk, one.threshold) for one in points] == [
        (0.5, 0.5, 0.1),
        (0.75, 1 / 3, 0.2),
        (1.0, 0.5, 0.9),
    ]


def test_a_report_holds_everything_and_stays_small() -> None:
    """Curves are thinned for the eye, their ends are kept."""
    scores, wrong = _sample(3, 2000)
    report = make_report(scores, wrong, seed=1, rounds=50)
    assert (report.n, report.wrong) == (2000, int(wrong.sum()))
    assert report.auroc.value == auroc(scores, wrong)
    assert len(report.curve) == len(report.roc) == 200
    assert report.curve[-1].coverage == 1.0
    assert (report.roc[-1].false_alarms, report.roc[-1].caught) == (1.0, 1.0)
    # For u uniform the risk at coverage c is c/2, so the area is 1/4.
    assert report.area_under_risk == pytest.approx(0.25, abs=0.03)
    small = make_report([0.1, 0.9], [False, True], seed=1, rounds=5)
    assert len(small.curve) == 2


def test_pictures_are_svg_that_a_reader_of_screens_can_tell() -> None:
    """Well formed, titled, and the same for the same numbers."""
    report = make_report(*_sample(4, 500), seed=1, rounds=20)
    threshold = calibrate_split(np.random.default_rng(1).random(200), 0.1)
    for text in (plot_roc(report), plot_reliability(report), plot_risk_coverage(report), plot_coverage(threshold)):
        root = ET.fromstring(text)  # noqa: S314  our own text
        names = [child.tag.rpartition("}")[2] for child in root]
        assert names[:2] == ["title", "desc"]
        assert "polyline" in names
        assert "NaN" not in text
        assert "prefers-color-scheme:dark" in text
    assert plot_roc(report) == plot_roc(make_report(*_sample(4, 500), seed=1, rounds=20))
    assert f"{report.auroc.value:.3f}" in plot_roc(report)


def test_a_curve_that_begins_without_a_mistake_is_drawn() -> None:
    report = make_report([0.1, 0.2, 0.9], [False, False, True], seed=1, rounds=5)
    assert ET.fromstring(plot_risk_coverage(report)).tag.endswith("svg")  # noqa: S314  our own text


def test_an_infinite_threshold_has_no_picture() -> None:
    with raises(ClaimsError.calibration_setting, match="too little data"):
        plot_coverage(calibrate_split([0.1], 0.1))


@pytest.mark.parametrize(
    ("scores", "wrong"),
    [([0.1, 0.2], [True, True]), ([0.1, 1.2], [True, False]), ([0.1], [True, False]), ([0.1, 0.2], [0.5, 1])],
)
def test_data_that_say_nothing_are_refused(scores: list[float], wrong: list[float]) -> None:
    with raises(ClaimsError.scores):
        auroc(scores, wrong)


def test_settings_that_make_no_sense_are_refused() -> None:
    with raises(ClaimsError.calibration_setting):
        reliability([0.1], [True], bins=0)
    with raises(ClaimsError.calibration_setting):
        bootstrap_auroc([0.1, 0.2], [True, False], seed=1, rounds=0)
    with raises(ClaimsError.calibration_setting):
        bootstrap_auroc([0.1, 0.2], [True, False], seed=1, level=1.0)
