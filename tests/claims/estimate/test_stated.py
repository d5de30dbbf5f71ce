"""Stated confidence is the model's own word until a calibrator, fitted on known answers, has corrected it."""

from math import exp, log

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression

from assay.claims.bundle import UncertaintyMethod
from assay.claims.errors import ClaimsError
from assay.claims.estimate.stated import (
    Calibrator,
    Isotonic,
    Platt,
    Temperature,
    calibrated,
    confidence_of,
    estimate_stated,
    fit_isotonic,
    fit_platt,
    fit_temperature,
)
from tests.raising import raises


def _too_sure(seed: int, n: int = 400) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Confidences whose logit is twice what it should be, and which answers were right."""
    generator = np.random.default_rng(seed)
    true = generator.uniform(0.05, 0.95, n)
    said = 1 / (1 + np.exp(-2 * np.log(true / (1 - true))))
    return said, generator.random(n) < true


@pytest.mark.clause("claimbundle", "confidence-score")
def test_the_models_own_confidence_is_marked_as_its_own_word() -> None:
    """One minus the geometric mean of its tokens' probabilities."""
    found = estimate_stated([log(0.9), log(0.4)], None)
    assert found.method is UncertaintyMethod.CONFIDENCE_SCORE
    assert found.value == pytest.approx(1 - 0.6)
    assert found.self_reported
    assert "not calibrated" in found.interpretation
    assert not estimate_stated([log(0.9)], Temperature(t=2.0)).self_reported


def test_a_long_answer_is_not_less_sure_for_being_long() -> None:
    assert confidence_of([log(0.8)] * 50) == pytest.approx(0.8)


@pytest.mark.parametrize("logprobs", [[], [0.1], [float("nan")], [float("-inf")]])
def test_log_probabilities_that_are_none_are_refused(logprobs: list[float]) -> None:
    with raises(ClaimsError.sample):
        confidence_of(logprobs)


def test_temperature_is_the_most_likely_one() -> None:
    """Equal to what a general optimiser finds; near 2 where logits were doubled."""
    said, right = _too_sure(1)
    logits = np.log(said / (1 - said))

    def loss(at: NDArray[np.float64]) -> float:
        lines = logits / at[0]
        return float(np.sum(np.logaddexp(0, lines) - right * lines))

    found = fit_temperature(list(said), list(right)).t
    best = minimize(loss, [1.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).x[0]
    assert found == pytest.approx(best, rel=1e-5)
    assert 1.5 < found < 2.7


def test_platt_is_the_most_likely_one() -> None:
    """On the softened targets, equal to what a general optimiser finds."""
    said, right = _too_sure(2)
    logits = np.log(said / (1 - said))
    good, bad = int(right.sum()), int((~right).sum())
    targets = np.where(right, (good + 1) / (good + 2), 1 / (bad + 2))

    def loss(at: NDArray[np.float64]) -> float:
        lines = -(at[0] * logits + at[1])
        return float(np.sum(np.logaddexp(0, lines) - targets * lines))

    found = fit_platt(list(said), list(right))
    best = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000}).x
    assert [found.a, found.b] == pytest.approx(list(best), abs=1e-4)


def test_platt_survives_answers_that_a_threshold_separates() -> None:
    """The softened targets keep it finite."""
    found = fit_platt([0.1, 0.2, 0.8, 0.9], [False, False, True, True])
    assert np.isfinite([found.a, found.b]).all()
    assert calibrated(found, 0.9) > 0.5 > calibrated(found, 0.1)


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=2, max_size=40))
def test_isotonic_is_the_staircase_of_scikit_learn(pairs: list[tuple[int, bool]]) -> None:
    """The same values at every score that was seen, ties included; and it never falls."""
    scores = [number / 20 for number, _ in pairs]
    labels = [label for _, label in pairs]
    found = fit_isotonic(scores, labels)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(scores, np.array(labels, dtype=float)).predict(scores)
    assert [calibrated(found, score) for score in scores] == pytest.approx(list(theirs), abs=1e-9)
    assert list(found.values) == sorted(set(found.values))


def test_below_all_that_was_seen_the_staircase_has_its_first_value() -> None:
    step = Isotonic(starts=(0.4, 0.6), values=(0.2, 0.9))
    assert [calibrated(step, score) for score in (0.0, 0.4, 0.59, 0.6, 1.0)] == [0.2, 0.2, 0.2, 0.9, 0.9]


@given(st.floats(min_value=0, max_value=1), st.floats(min_value=0.01, max_value=100))
def test_calibrated_confidence_stays_a_share(confidence: float, t: float) -> None:
    for calibrator in (Temperature(t=t), Platt(a=-t, b=0.3)):
        assert 0.0 <= calibrated(calibrator, confidence) <= 1.0
    assert calibrated(Temperature(t=1.0), 0.5) == 0.5


@pytest.mark.parametrize("fit", [fit_temperature, fit_platt, fit_isotonic])
def test_calibration_brings_the_said_nearer_to_the_so(fit: object) -> None:
    """On answers that it was not fitted on, in squares."""
    assert callable(fit)
    said, right = _too_sure(3, 2000)
    fitted = fit(list(said[:1000]), list(right[:1000]))
    fixed = np.array([calibrated(fitted, float(score)) for score in said[1000:]])
    assert ((fixed - right[1000:]) ** 2).mean() < ((said[1000:] - right[1000:]) ** 2).mean()


@pytest.mark.parametrize(
    ("scores", "labels"),
    [
        ([], []),
        ([0.5], [True]),
        ([0.5, 0.6], [True, True]),
        ([0.5, 1.2], [True, False]),
        ([0.5, float("nan")], [True, False]),
        ([0.5, 0.6], [True]),
        ([0.5, 0.6], [0, 2]),
    ],
)
def test_data_that_cannot_be_fitted_are_refused(scores: list[float], labels: list[bool]) -> None:
    for fit in (fit_temperature, fit_platt):
        with raises(ClaimsError.scores):
            fit(scores, labels)


@pytest.mark.parametrize(
    "text",
    [
        '{"type": "temperature", "t": 0}',
        '{"type": "temperature", "t": -1.5}',
        '{"type": "platt", "a": 1e300, "b": 0}',
        '{"type": "isotonic", "starts": [], "values": []}',
        '{"type": "isotonic", "starts": [0.1, 0.9], "values": [0.5]}',
        '{"type": "isotonic", "starts": [0.1, 0.9], "values": [0.5, 0.2]}',
        '{"type": "isotonic", "starts": [0.9, 0.1], "values": [0.2, 0.5]}',
        '{"type": "isotonic", "starts": [0.1], "values": [1.5]}',
    ],
)
@pytest.mark.clause("claimbundle", "confidence-score")
def test_a_calibrator_that_cannot_be_one_is_refused(text: str) -> None:
    """From a file as from a hand: it would fail later, or turn the order of confidences around."""
    with raises(ClaimsError.scores):
        msgspec.json.decode(text, type=Calibrator)


def test_what_a_threshold_separates_is_fitted_without_a_warning() -> None:
    assert fit_temperature([0.1, 0.2, 0.8, 0.9], [False, False, True, True]).t < 0.01


def test_the_logistic_function_does_not_overflow() -> None:
    assert calibrated(Temperature(t=1e-3), 0.0) == 0.0
    assert calibrated(Platt(a=1e6, b=0.0), 0.99) == pytest.approx(0.0)
    assert calibrated(Temperature(t=1e-3), 1.0) == pytest.approx(1.0)
    assert exp(-800) == 0.0
