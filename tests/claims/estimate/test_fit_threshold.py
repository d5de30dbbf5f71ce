"""A fitted threshold keeps P(wrong | published) below alpha, as often as it promises."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom

from assay.claims.errors import ClaimsError
from assay.claims.estimate._beta import beta_cdf, beta_quantile, binomial_cdf, clopper_pearson_upper
from assay.claims.estimate.fit_threshold import FittedThreshold, fit_threshold, thresholds_of
from assay.claims.policy import Thresholds
from tests.raising import raises
from tests.scale import scale

_ALPHA, _DELTA = 0.1, 0.1


def _fitted(seed: int, n: int) -> FittedThreshold:
    """U is uniform and P(wrong) = u, so that publishing up to t is wrong in t/2 of the cases."""
    generator = np.random.default_rng(seed)
    scores = generator.random(n)
    return fit_threshold(scores, generator.random(n) < scores, alpha=_ALPHA, delta=_DELTA)


def test_the_promise_holds_as_often_as_it_says_and_is_not_too_careful() -> None:
    """Over many samples the true share exceeds alpha in at most delta of them; half reach 60 % of what is possible."""
    rounds = scale(200, 3000)
    thresholds = [_fitted(seed, 5000).threshold or 0.0 for seed in range(rounds)]
    broken = sum(one / 2 > _ALPHA for one in thresholds)
    assert broken <= binom.ppf(0.9999, rounds, _DELTA)
    assert float(np.median(thresholds)) >= 0.6 * 2 * _ALPHA


def test_what_it_costs_is_said() -> None:
    """The share that is deferred, the bound at the threshold, and every line that was tried."""
    found = _fitted(1, 5000)
    assert found.threshold is not None
    assert found.defer_rate == pytest.approx(1 - found.published / 5000)
    assert found.wrong / found.published < found.upper <= _ALPHA
    assert [one.threshold for one in found.tested] == [number / 50 for number in range(51)]
    assert all(one.p_value <= _DELTA / 7 for one in found.tested if one.holds)


def test_with_too_little_data_everything_is_deferred() -> None:
    """Ten answers, all right, show nothing about one in ten."""
    found = fit_threshold([0.1] * 10, [False] * 10, alpha=_ALPHA, delta=_DELTA)
    assert (found.threshold, found.published, found.defer_rate, found.upper) == (None, 0, 1.0, 1.0)


def test_a_policy_takes_its_thresholds_from_fits_that_hold() -> None:
    """Where none holds there is nothing to take."""
    defer = fit_threshold([0.1] * 300, [False] * 300, alpha=0.1, delta=0.1)
    careful = fit_threshold([0.1] * 300, [False] * 300, alpha=0.001, delta=0.1)
    assert (defer.threshold, careful.threshold) == (0.16, None)
    assert thresholds_of(defer) == Thresholds(explain_above=0.16, defer_above=0.16)
    with raises(ClaimsError.calibration_setting, match="got none from 300 cases"):
        thresholds_of(careful)


@pytest.mark.parametrize(("said", "line"), [(0.0, 0.0), (0.1, 0.16), (0.63, 0.64)])
def test_a_threshold_is_no_higher_than_the_cases_go(said: float, line: float) -> None:
    """Of answers less certain than any that was labelled nothing is known: they are not published unseen."""
    assert fit_threshold([said] * 300, [False] * 300, alpha=0.1, delta=0.1).threshold == line


def test_a_line_beyond_a_failure_is_not_reached() -> None:
    """One start, and a bad stretch in the middle: what lies above it is never tested, however good."""
    scores = [0.1] * 100 + [0.5] * 30 + [0.9] * 2000
    wrong = [False] * 100 + [True] * 30 + [False] * 2000
    grid = [0.1, 0.5, 0.9]
    assert fit_threshold(scores, wrong, alpha=0.1, delta=0.1, grid=grid, starts=[0.1]).threshold == 0.1
    assert fit_threshold(scores, wrong, alpha=0.1, delta=0.1, grid=grid, starts=grid).threshold == 0.9


@pytest.mark.parametrize(
    "changes",
    [
        {"alpha": 0.0},
        {"delta": 1.0},
        {"grid": []},
        {"grid": [0.2, 0.1]},
        {"grid": [0.1, 0.1]},
        {"grid": [-0.1]},
        {"grid": [1.1]},
        {"grid": [0.1], "starts": [0.2]},
        {"starts": []},
        {"starts": [-0.1]},
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, object]) -> None:
    with raises(ClaimsError.calibration_setting):
        fit_threshold([0.1], [True], **{"alpha": 0.1, "delta": 0.1, **changes})  # type: ignore[arg-type]  # some are wrong on purpose


@given(st.floats(min_value=0.5, max_value=500), st.floats(min_value=0.5, max_value=500), st.floats(0, 1))
def test_the_beta_distribution_is_scipys(a: float, b: float, x: float) -> None:
    assert beta_cdf(x, a, b) == pytest.approx(float(beta.cdf(x, a, b)), abs=1e-10)


@given(st.integers(1, 300), st.integers(1, 300), st.floats(min_value=0.001, max_value=0.999))
def test_its_quantiles_are_scipys(a: int, b: int, share: float) -> None:
    assert beta_quantile(share, a, b) == pytest.approx(float(beta.ppf(share, a, b)), abs=1e-9)


@given(st.integers(0, 300), st.integers(0, 300), st.floats(0, 1))
def test_binomial_tails_are_scipys(successes: int, more: int, share: float) -> None:
    trials = successes + more
    assert binomial_cdf(successes, trials, share) == pytest.approx(
        float(binom.cdf(successes, trials, share)), abs=1e-10
    )


def test_large_counts_do_not_break_the_beta_distribution() -> None:
    """A million calibration cases."""
    assert beta_quantile(0.025, 900_001, 100_000) == pytest.approx(float(beta.ppf(0.025, 900_001, 100_000)), abs=1e-9)


def test_the_bound_of_clopper_and_pearson() -> None:
    """Nothing wrong in 29 cases is the rule of three: about 10 % at 95 %; nothing tried is no bound."""
    assert clopper_pearson_upper(0, 29, 0.05) == pytest.approx(1 - 0.05 ** (1 / 29))
    assert clopper_pearson_upper(0, 0, 0.05) == 1.0
    assert clopper_pearson_upper(5, 5, 0.05) == 1.0
