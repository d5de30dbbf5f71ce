"""Centres of numbers that a few far-off reports cannot move, their interval, and how far the reports agree with them.

numbers + weights (whole millionths) -> weighted median | trimmed mean | Huber's centre -> agreement, interval
Everything is computed with whole numbers: the result depends on neither the order of the reports nor the machine.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import accumulate
from math import isqrt
from operator import mul

from assay.truth.contract import LEVELS, ContradictionComparison, ContradictionRule, Derivation, DerivationStrategy
from assay.truth.number import MILLION, nearest, rounded_whole, whole_millionths
from assay.truth.reading import Readings

# A centre is a whole number of this many parts of a millionth.
FINE = 1000
_MOST_STEPS = 100
# 1.4826 times the median distance from the centre is the standard deviation of a normal distribution.
_MAD_ABOVE, _MAD_BELOW = 14826, 10000
# The tolerance stands in for so many reports about the spread.
_SPREAD_REPORTS = 2


def tolerance_of(rule: Derivation, contradictions: Iterable[ContradictionRule]) -> int | None:
    """In millionths: the rule's own, else the narrowest of the contradiction rules at its path."""
    if rule.tolerance is not None:
        return whole_millionths(rule.tolerance)
    spreads = [
        other.tolerance
        for other in contradictions
        if other.path == rule.path and other.compare is ContradictionComparison.SPREAD and other.tolerance
    ]
    return whole_millionths(min(spreads)) if spreads else None


def find_centre(rule: Derivation, numbers: Sequence[int], weights: Sequence[int]) -> int:
    """The centre by the rule's strategy, in `FINE` parts of a millionth; of at least one number.

    An interval has the centre of the weighted median.
    """
    return _CENTRES.get(rule.strategy, _median_by_weight)(rule, numbers, weights)


def centre_at(rule: Derivation, readings: Readings) -> int | None:
    """The centre of what is read at the rule's path, found once; None where nobody says a number."""
    numbers, weights = readings.centred_at(rule.path)
    if not numbers:
        return None
    asked = (rule.strategy, rule.path, rule.trim, rule.tolerance)
    if asked not in readings.centres:
        readings.centres[asked] = find_centre(rule, numbers, weights)
    return readings.centres[asked]


def weighted_median(numbers: Sequence[int], weights: Sequence[int]) -> int:
    """In `FINE` parts: half of the weight lies on each side; between two numbers that split it evenly, the middle."""
    pairs = sorted(zip(numbers, weights, strict=True))
    sums = [*accumulate(weight for _, weight in pairs)]
    # INVARIANT: weights are above 0, so that some sum reaches half of the last.
    place = next(place for place, below in enumerate(sums) if 2 * below >= sums[-1])
    other = pairs[place + 1] if 2 * sums[place] == sums[-1] else pairs[place]
    return rounded_whole((pairs[place][0] + other[0]) * FINE, 2)


def _median_by_weight(_rule: Derivation, numbers: Sequence[int], weights: Sequence[int]) -> int:
    return weighted_median(numbers, weights)


def _weighted_mean(_rule: Derivation, numbers: Sequence[int], weights: Sequence[int]) -> int:
    return rounded_whole(sum(map(mul, numbers, weights)) * FINE, sum(weights))


def _median(_rule: Derivation, numbers: Sequence[int], _weights: Sequence[int]) -> int:
    return weighted_median(numbers, [1] * len(numbers))


def _trimmed_mean(rule: Derivation, numbers: Sequence[int], weights: Sequence[int]) -> int:
    """The mean of the weight that is left when the share `trim` of it is taken away at each end."""
    trim, total = whole_millionths(rule.trim or Decimal(0)), sum(weights)
    low, high = trim * total, (MILLION - trim) * total
    below = above = kept = 0
    for number, weight in sorted(zip(numbers, weights, strict=True)):
        start, below = below, below + weight * MILLION
        inside = max(0, min(below, high) - max(start, low))
        above, kept = above + number * inside, kept + inside
    return rounded_whole(above * FINE, kept)


def _huber(rule: Derivation, numbers: Sequence[int], weights: Sequence[int]) -> int:
    """Full weight within the tolerance, and beyond it as much less as it is further away; from the weighted median."""
    tolerance, centre = whole_millionths(rule.tolerance or Decimal(1)) * FINE, weighted_median(numbers, weights)
    for _ in range(_MOST_STEPS):
        shares = [
            weight * min(MILLION, tolerance * MILLION // max(1, abs(number * FINE - centre)))
            for number, weight in zip(numbers, weights, strict=True)
        ]
        step = rounded_whole(sum(map(mul, numbers, shares)) * FINE, sum(shares))
        if step == centre:
            break
        centre = step
    return centre


_CENTRES: Mapping[DerivationStrategy, Callable[[Derivation, Sequence[int], Sequence[int]], int]] = {
    DerivationStrategy.WEIGHTED_MEAN: _weighted_mean,
    DerivationStrategy.MEDIAN: _median,
    DerivationStrategy.TRIMMED_MEAN: _trimmed_mean,
    DerivationStrategy.HUBER: _huber,
}


def closeness(distance: int, tolerance: int) -> int:
    """1 / (1 + (distance / tolerance)^2) in millionths: 1 at the centre, one half at the tolerance."""
    return nearest(tolerance * tolerance * MILLION, tolerance * tolerance + distance * distance)


def measure_closeness(rule: Derivation, tolerance: int, readings: Readings) -> Decimal:
    """The mean closeness of the reports to their centre by weight; 1 where nobody reports a number."""
    numbers, weights = readings.centred_at(rule.path)
    centre = centre_at(rule, readings)
    if centre is None:
        return Decimal(1)
    near = [closeness(abs(number * FINE - centre), tolerance * FINE) for number in numbers]
    return Decimal(nearest(sum(map(mul, near, weights)), sum(weights))).scaleb(-6)


def find_interval(rule: Derivation, centre: int, numbers: Sequence[int], weights: Sequence[int]) -> tuple[int, int]:
    """Where the true value lies with the rule's level, in `FINE` parts: centre -/+ z x spread / sqrt(reports).

    The spread is 1.4826 times the median distance from the centre; the tolerance stands in for two further reports,
    so that three equal reports do not claim to be exact. Reports count by weight: (sum w)^2 / sum w^2.
    """
    tolerance = whole_millionths(rule.tolerance or Decimal(1)) * FINE
    distances = [abs(number * FINE - centre) for number in numbers]
    spread = weighted_median(distances, weights) // FINE * _MAD_ABOVE // _MAD_BELOW
    above, below = sum(weights) ** 2, sum(weight * weight for weight in weights)
    variance_above = above * spread**2 + _SPREAD_REPORTS * below * tolerance**2
    variance_below = above + _SPREAD_REPORTS * below
    quantile = whole_millionths(LEVELS[rule.level or Decimal("0.95")])
    half = isqrt(quantile**2 * variance_above * below // (variance_below * above)) // MILLION
    return centre - half, centre + half
