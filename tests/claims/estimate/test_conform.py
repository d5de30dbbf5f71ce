"""Conformal sets hold what they promise: on real data, over many splits, by the finite-sample law itself."""

from collections.abc import Hashable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta, betabinom, chisquare
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.linear_model import LinearRegression, LogisticRegression

from assay.claims.bundle import Recommendation, UncertaintyMethod
from assay.claims.errors import ClaimsError
from assay.claims.estimate.conform import (
    aps_scores,
    calibrate_groups,
    calibrate_split,
    control_risk,
    estimate_conformal,
    lac_scores,
    predict_sets,
    raps_scores,
    render_threshold,
    set_share,
    threshold_for,
)
from tests.raising import raises
from tests.scale import scale

_CALIBRATION, _TESTED, _ALPHA = 59, 40, 0.1
_ROUNDS = scale(400, 8000)
Scores = NDArray[np.float64]


class _Digits:
    """Probabilities of a simple classifier for digits that it has not seen, and for the same digits under noise."""

    def __init__(self) -> None:
        features, self.labels = load_digits(return_X_y=True)
        generator = np.random.default_rng(7)
        order = generator.permutation(len(self.labels))
        features, self.labels = features[order] / 16.0, self.labels[order]
        model = LogisticRegression(max_iter=500).fit(features[:300], self.labels[:300])
        self.labels = self.labels[300:]
        self.probabilities = model.predict_proba(features[300:])
        noisy = features[300:] + generator.normal(0, 0.6, features[300:].shape)
        self.shifted = model.predict_proba(noisy)
        self.jitter = generator.random(len(self.labels))


def _breast_cancer_scores() -> Scores:
    features, labels = load_breast_cancer(return_X_y=True)
    generator = np.random.default_rng(8)
    order = generator.permutation(len(labels))
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    features, labels = features[order], labels[order]
    model = LogisticRegression(max_iter=500).fit(features[:150], labels[:150])
    return _of_the_truth(lac_scores(model.predict_proba(features[150:])), labels[150:])


def _diabetes_scores() -> Scores:
    features, labels = load_diabetes(return_X_y=True)
    order = np.random.default_rng(9).permutation(len(labels))
    features, labels = features[order], labels[order]
    model = LinearRegression().fit(features[:150], labels[:150])
    residuals: Scores = np.abs(labels[150:] - model.predict(features[150:]))
    return residuals


def _of_the_truth(scores: Scores, labels: NDArray[np.int64]) -> Scores:
    truth: Scores = scores[np.arange(len(labels)), labels]
    return truth


@pytest.fixture(scope="module")
def digits() -> _Digits:
    return _Digits()


@pytest.fixture(scope="module")
def pools(digits: _Digits) -> dict[str, Scores]:
    """By data and method: the score of the right answer for every case that the model has not seen."""
    aps = aps_scores(digits.probabilities, jitter=digits.jitter)
    raps = raps_scores(digits.probabilities, penalty=0.1, free=1, jitter=digits.jitter)
    return {
        "digits lac": _of_the_truth(lac_scores(digits.probabilities), digits.labels),
        "digits aps": _of_the_truth(aps, digits.labels),
        "digits raps": _of_the_truth(raps, digits.labels),
        "breast cancer lac": _breast_cancer_scores(),
        "diabetes residuals": _diabetes_scores(),
    }


def _covered(pool: Scores, seed: int) -> list[int]:
    """Over many random splits, how many of the tested cases the threshold covers."""
    generator = np.random.default_rng(seed)
    counts = []
    for _ in range(_ROUNDS):
        drawn = generator.permutation(len(pool))[: _CALIBRATION + _TESTED]
        threshold = calibrate_split(pool[drawn[:_CALIBRATION]], _ALPHA)
        counts.append(int((pool[drawn[_CALIBRATION:]] <= threshold.bound).sum()))
    return counts


@pytest.mark.clause("claimbundle", "conformal-prediction")
@pytest.mark.parametrize("name", ["digits lac", "digits aps", "digits raps", "breast cancer lac", "diabetes residuals"])
def test_coverage_over_random_splits_follows_the_finite_sample_law(pools: dict[str, Scores], name: str) -> None:
    """How many of m new cases are covered is beta-binomial with (rank, n + 1 - rank): tested by chi square."""
    counts = np.array(_covered(pools[name], seed=11))
    law = betabinom(_TESTED, 54, 6)
    # Classes with few expected cases are thrown together at the low end.
    edges = list(range(32, _TESTED + 1))
    seen = [int((counts <= 32).sum()), *(int((counts == edge).sum()) for edge in edges[1:])]
    wanted = [float(law.cdf(32)), *(float(law.pmf(edge)) for edge in edges[1:])]
    assert chisquare(seen, np.array(wanted) * len(counts)).pvalue > 0.001
    assert counts.mean() / _TESTED >= 1 - _ALPHA - 4 * float(law.std()) / _TESTED / len(counts) ** 0.5


def test_the_rank_of_the_law_is_the_rank_that_is_used() -> None:
    """54 of 59 at 90 %: the numbers of the test above are not taken from the code."""
    threshold = calibrate_split(np.arange(_CALIBRATION), _ALPHA)
    assert (threshold.rank, threshold.value) == (54, 53.0)
    assert threshold.coverage_low == pytest.approx(beta.ppf(0.025, 54, 6))
    assert threshold.coverage_high == pytest.approx(beta.ppf(0.975, 54, 6))


@pytest.mark.clause("claimbundle", "conformal-prediction")
def test_a_shifted_population_visibly_breaks_the_promise(digits: _Digits, pools: dict[str, Scores]) -> None:
    """Calibrated on clean digits, noisy ones are covered far less often: exchangeability was the assumption."""
    threshold = calibrate_split(pools["digits lac"], _ALPHA)
    shifted = _of_the_truth(lac_scores(digits.shifted), digits.labels)
    assert (shifted <= threshold.bound).mean() < 0.75
    assert threshold.coverage_low > 0.85


def test_groups_are_covered_each_for_itself(digits: _Digits, pools: dict[str, Scores]) -> None:
    """Thresholds of one group differ from those of another, and each covers its own."""
    pool, halves = pools["digits lac"], digits.labels >= 5
    generator = np.random.default_rng(3)
    shares: dict[Hashable, list[float]] = {True: [], False: []}
    for _ in range(_ROUNDS // 4):
        order = generator.permutation(len(pool))
        cal, test = order[:400], order[400:]
        fitted = calibrate_groups(pool[cal], [bool(half) for half in halves[cal]], _ALPHA)
        for group, seen in shares.items():
            own = test[halves[test] == group]
            seen.append(float((pool[own] <= threshold_for(fitted, group, alpha=_ALPHA).bound).mean()))
    assert all(0.89 < float(np.mean(seen)) < 0.92 for seen in shares.values())


def test_a_group_that_was_never_seen_can_hold_anything() -> None:
    fitted = calibrate_groups(list(range(20)), ["a", "b"] * 10, _ALPHA)
    assert threshold_for(fitted, "a", alpha=_ALPHA).value == 18.0
    assert threshold_for(fitted, "c", alpha=_ALPHA).is_infinite


@given(
    st.lists(st.floats(min_value=-1e9, max_value=1e9), min_size=1, max_size=60),
    st.floats(min_value=0.01, max_value=0.99),
)
def test_the_threshold_is_the_score_of_the_finite_sample_rank(scores: list[float], alpha: float) -> None:
    """ceil((n + 1)(1 - alpha)) of the sorted scores, or infinite when that is beyond them."""
    threshold = calibrate_split(scores, alpha)
    n = len(scores)
    assert (threshold.rank - 1) < (n + 1) * (1 - alpha) + 1e-9
    assert threshold.rank >= (n + 1) * (1 - alpha) - 1e-9
    if threshold.rank > n:
        assert threshold.is_infinite
        assert threshold.bound == float("inf")
    else:
        assert threshold.value == sorted(scores)[threshold.rank - 1]
        assert 0 < threshold.coverage_low < threshold.coverage_high < 1


@pytest.mark.parametrize(
    ("n", "alpha", "rank"), [(9, 0.1, 9), (8, 0.1, 9), (10, 0.1, 10), (19, 0.05, 19), (99, 0.1, 90)]
)
def test_the_rank_is_not_moved_by_rounding(n: int, alpha: float, rank: int) -> None:
    """(9 + 1) * 0.9 is 9 and not a little more."""
    assert calibrate_split(list(range(n)), alpha).rank == rank


@pytest.mark.clause("claimbundle", "conformal-prediction")
def test_too_little_data_gives_the_full_set_and_says_so() -> None:
    threshold = calibrate_split([0.1] * 8, 0.1)
    assert threshold.is_infinite
    assert predict_sets([[0.2, 5.0, 1e300]], threshold).all()
    found = estimate_conformal(3, 3, threshold)
    assert (found.value, found.recommendation) == (1.0, Recommendation.DEFER)
    assert "too little data for 90% coverage: 8 cases of at least 9, so the set is everything" in found.interpretation


def test_a_promise_is_told_with_all_its_digits() -> None:
    """Nothing promises 100 %."""
    assert "too little data for 99.9% coverage: 50 cases" in render_threshold(calibrate_split([0.1] * 50, 0.001))


def test_an_estimate_says_what_its_threshold_promises() -> None:
    threshold = calibrate_split(list(range(99)), 0.1)
    low, high = beta.ppf([0.025, 0.975], 90, 10)
    told = f"90% coverage from 99 cases, between {low:.1%} and {high:.1%} for 95 % of such samples"
    assert render_threshold(threshold) == told
    found = estimate_conformal(2, 5, threshold)
    assert (found.method, found.value) == (UncertaintyMethod.CONFORMAL_SET, 0.25)


@pytest.mark.parametrize(
    ("size", "answers", "share"), [(1, 5, 0.0), (5, 5, 1.0), (3, 5, 0.5), (1, 1, 0.0), (0, 5, 1.0)]
)
def test_the_size_of_a_set_is_an_uncertainty(size: int, answers: int, share: float) -> None:
    """One answer is certain; all of them, or none, say nothing."""
    assert set_share(size, answers) == share


@pytest.mark.parametrize(("size", "answers"), [(6, 5), (-1, 5), (0, 0)])
def test_a_set_that_cannot_be_is_refused(size: int, answers: int) -> None:
    with raises(ClaimsError.scores):
        set_share(size, answers)


def test_scores_of_the_three_methods_worked_out_by_hand() -> None:
    """Probabilities 0.5, 0.2, 0.3: APS adds up from the likeliest, RAPS adds 0.1 for each rank beyond the first."""
    rows = [[0.5, 0.2, 0.3]]
    assert lac_scores(rows)[0].tolist() == pytest.approx([0.5, 0.8, 0.7])
    assert aps_scores(rows)[0].tolist() == pytest.approx([0.5, 1.0, 0.8])
    assert aps_scores(rows, jitter=[0.5])[0].tolist() == pytest.approx([0.25, 0.9, 0.65])
    assert raps_scores(rows, penalty=0.1, free=1)[0].tolist() == pytest.approx([0.5, 1.2, 0.9])


def test_raps_makes_large_sets_rarer_than_aps(digits: _Digits) -> None:
    half = len(digits.labels) // 2
    sizes = []
    for scores in (aps_scores(digits.probabilities), raps_scores(digits.probabilities, penalty=0.2, free=1)):
        threshold = calibrate_split(_of_the_truth(scores[:half], digits.labels[:half]), 0.05)
        sizes.append(predict_sets(scores[half:], threshold).sum(axis=1).max())
    assert sizes[1] < sizes[0]


def test_risk_control_chooses_the_first_setting_within_the_bound() -> None:
    """(n mean + 1) / (n + 1): 9 cases with a mean of 1/9 give 0.2, with none 0.1."""
    losses = np.array([[1, 1, 0], *([[1, 0, 0]] * 8)])
    found = control_risk(losses, [0.1, 0.5, 0.9], 0.2)
    assert (found.place, found.setting) == (1, 0.5)
    assert found.bound == pytest.approx(0.2)
    assert control_risk(losses, [0.1, 0.5, 0.9], 0.1).setting == 0.9
    none = control_risk(losses, [0.1, 0.5, 0.9], 0.05)
    assert (none.place, none.setting) == (None, None)
    assert none.bound == pytest.approx(0.1)


def test_risk_control_keeps_the_expected_loss_of_new_cases(digits: _Digits) -> None:
    """The share of digits missing from sets of growing size, over random splits."""
    settings = np.linspace(0, 1, 101)
    losses = (_of_the_truth(lac_scores(digits.probabilities), digits.labels)[:, None] > settings).astype(float)
    generator = np.random.default_rng(5)
    seen = []
    for _ in range(_ROUNDS // 4):
        order = generator.permutation(len(losses))
        found = control_risk(losses[order[:100]], list(settings), 0.1)
        assert found.place is not None
        seen.append(losses[order[100:], found.place].mean())
    assert float(np.mean(seen)) <= 0.1 + 4 * float(np.std(seen)) / len(seen) ** 0.5


@pytest.mark.parametrize("losses", [[], [[0.5, 0.6]], [[1.5, 0.5]], [[-0.1, -0.2]], [[0.5]], [[float("nan"), 0.0]]])
def test_losses_that_rise_or_leave_their_range_are_refused(losses: list[list[float]]) -> None:
    with raises(ClaimsError.scores):
        control_risk(losses, [0.1, 0.2], 0.1)


@pytest.mark.parametrize("scores", [[], [float("nan")], [float("inf")], [[0.1]], [float("inf"), float("-inf")]])
def test_scores_that_are_none_are_refused(scores: list[float]) -> None:
    with raises(ClaimsError.scores):
        calibrate_split(scores, 0.1)


def test_large_but_finite_scores_are_taken() -> None:
    assert calibrate_split([1e308] * 9, 0.1).value == 1e308


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, float("nan")])
def test_a_level_is_strictly_between_0_and_1(alpha: float) -> None:
    with raises(ClaimsError.calibration_setting):
        calibrate_split([0.1], alpha)
    with raises(ClaimsError.calibration_setting):
        control_risk([[0.5, 0.1]], [0.1, 0.2], alpha)


def test_a_promise_of_almost_nothing_still_has_a_threshold() -> None:
    """The first score, and no rank before it."""
    found = calibrate_split([0.3, 0.1, 0.2], 1.0 - 1e-13)
    assert (found.rank, found.value) == (1, 0.1)
    assert 0.0 < found.coverage_low < found.coverage_high < 1.0


def test_an_answer_without_a_score_is_never_left_out() -> None:
    assert predict_sets([[float("nan"), 0.9, 0.1]], calibrate_split([0.2] * 9, 0.1)).tolist() == [[True, False, True]]


@pytest.mark.parametrize("rows", [[0.5, 0.5], [[1.5]], [[float("nan")]], [[]]])
def test_probabilities_that_are_none_are_refused(rows: ArrayLike) -> None:
    with raises(ClaimsError.scores):
        lac_scores(rows)


def test_settings_that_make_no_sense_are_refused() -> None:
    with raises(ClaimsError.calibration_setting):
        raps_scores([[0.5, 0.5]], penalty=-1, free=0)
    for penalty in (float("nan"), float("inf")):
        with raises(ClaimsError.calibration_setting):
            raps_scores([[0.5, 0.5]], penalty=penalty, free=0)
    for jitter in ([1.5], [float("nan")], [0.5, 0.5]):
        with raises(ClaimsError.scores):
            raps_scores([[0.5, 0.5]], penalty=0, free=0, jitter=jitter)
    with raises(ClaimsError.scores):
        calibrate_groups([0.1, 0.2], ["a"], 0.1)
