"""Fit a threshold: publish as much as possible while P(wrong | published) stays below alpha, with confidence 1 - delta.

uncertainties + which were wrong -> a fixed grid -> exact binomial tests in a fixed order -> the highest that holds
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.claims.errors import ClaimsError
from assay.claims.estimate._beta import binomial_cdf, clopper_pearson_upper
from assay.claims.estimate._scores import checked_labels, checked_level, checked_shares
from assay.claims.policy import Thresholds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

_GRID = tuple(number / 50 for number in range(51))
# Close together where uncertainty is small: that is where most of what may be published lies.
_STARTS = (0.0, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)


class TriedThreshold(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Had this threshold held: how many would have been published, how many of them wrong, and how likely that is."""

    threshold: float
    published: int
    wrong: int
    p_value: float
    holds: bool


class FittedThreshold(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The highest threshold that was shown to keep P(wrong | published) <= alpha, with confidence 1 - delta.

    None where none could be shown: then everything is deferred. It is no higher than the cases go, as near as the grid
    tells: of answers that are less certain than any of them nothing was shown. `upper` is the Clopper-Pearson bound of
    the share that is wrong at the threshold, taken alone; `defer_rate` is what the threshold costs.
    """

    alpha: float
    delta: float
    n: int
    threshold: float | None
    published: int
    wrong: int
    upper: float
    defer_rate: float
    tested: tuple[TriedThreshold, ...]


def fit_threshold(
    uncertainties: "ArrayLike",
    wrong: "ArrayLike",
    *,
    alpha: float,
    delta: float,
    grid: Sequence[float] = _GRID,
    starts: Sequence[float] = _STARTS,
) -> FittedThreshold:
    """Publish what is at most as uncertain as the threshold: then P(wrong | published) <= alpha, with 1 - delta.

    Grid and starts are fixed before the data are seen. From each start the lines of the grid are tested upwards, at
    delta over the number of starts, until one fails: fixed-sequence testing, Bonferroni over starts. The cases must be
    exchangeable with those to come.
    """
    checked_level("alpha", alpha)
    checked_level("delta", delta)
    scores = checked_shares(uncertainties)
    labels = checked_labels(wrong, scores.size)
    lines = _checked_grid(grid)
    places = _places(lines, starts)
    tested = _tested(scores, labels, lines, alpha, delta / len(places), places)
    best = _highest([one for one in tested if one.holds])
    published, missed = (0, 0) if best is None else (best.published, best.wrong)
    return FittedThreshold(
        alpha=alpha,
        delta=delta,
        n=int(scores.size),
        threshold=None if best is None else best.threshold,
        published=published,
        wrong=missed,
        upper=clopper_pearson_upper(missed, published, delta),
        defer_rate=1.0 - published / scores.size,
        tested=tested,
    )


def thresholds_of(fitted: FittedThreshold) -> Thresholds:
    """What a policy takes from a fit: one line, above which everything is deferred.

    Refused where no threshold holds: a policy cannot say that everything is deferred, and should not seem to.
    """
    if fitted.threshold is None:
        raise ClaimsError.calibration_setting(f"expected a threshold that holds, got none from {fitted.n} cases")
    return Thresholds(explain_above=fitted.threshold, defer_above=fitted.threshold)


def _checked_grid(grid: Sequence[float]) -> tuple[float, ...]:
    lines = tuple(grid)
    if not lines or list(lines) != sorted(set(lines)) or lines[0] < 0.0 or lines[-1] > 1.0:
        raise ClaimsError.calibration_setting(f"expected a rising grid within 0 to 1, got {len(lines)} values")
    return lines


def _places(lines: Sequence[float], starts: Sequence[float]) -> list[int]:
    """For each start the first line that is not below it."""
    if not starts or min(starts) < 0.0 or max(starts) > lines[-1]:
        raise ClaimsError.calibration_setting(f"expected starts of 0 to {lines[-1]:g}, got {len(starts)} that are not")
    return [bisect_left(lines, start) for start in starts]


def _tested(
    scores: "NDArray[np.float64]",
    labels: "NDArray[np.bool_]",
    lines: tuple[float, ...],
    alpha: float,
    level: float,
    places: Sequence[int],
) -> tuple[TriedThreshold, ...]:
    import numpy as np  # noqa: PLC0415  loaded only to calibrate

    order = np.argsort(scores, kind="stable")
    missed = np.concatenate([[0], np.cumsum(labels[order])])
    counts = np.searchsorted(scores[order], lines, side="right")
    # P(at most so many wrong | the true share is alpha): small means that the true share is below alpha.
    p_values = [binomial_cdf(int(missed[count]), int(count), alpha) for count in counts]
    holding = _holding(p_values, level, places)
    return tuple(
        TriedThreshold(
            threshold=line, published=int(count), wrong=int(missed[count]), p_value=p_value, holds=place in holding
        )
        for place, (line, count, p_value) in enumerate(zip(lines, counts, p_values, strict=True))
    )


def _highest(holding: Sequence[TriedThreshold]) -> TriedThreshold | None:
    """The one that publishes most; of several that publish the same the lowest, since above it no case was seen."""
    return max(holding, key=lambda one: (one.published, -one.threshold), default=None)


def _holding(p_values: Sequence[float], level: float, places: Sequence[int]) -> set[int]:
    """The places that some chain reached without a failure on its way."""
    holding: set[int] = set()
    for start in places:
        for place in range(start, len(p_values)):
            if p_values[place] > level:
                break
            holding.add(place)
    return holding
