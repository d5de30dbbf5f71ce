"""The beta distribution, and the binomial by it: exact enough for bounds, without a library of statistics.

continued fraction (Lentz) -> regularised incomplete beta -> quantile by halving -> binomial tail, Clopper-Pearson
"""

from math import exp, lgamma, log, log1p

_TINY = 1e-300
_ENOUGH = 1e-15
_TERMS = 10_000
_HALVINGS = 200


def beta_cdf(x: float, a: float, b: float) -> float:
    """P(X <= x) for X ~ Beta(a, b), a and b above 0."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    # The fraction converges quickly on one side of the mean; on the other it is that of the mirror image.
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _fraction(x, a, b) / a
    return 1.0 - front * _fraction(1.0 - x, b, a) / b


def beta_quantile(share: float, a: float, b: float) -> float:
    """The x with P(X <= x) = share, by halving until the doubles are neighbours."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        low, high = (middle, high) if beta_cdf(middle, a, b) < share else (low, middle)
    return (low + high) / 2.0


def binomial_cdf(successes: int, trials: int, share: float) -> float:
    """P(X <= successes) for X ~ Binomial(trials, share)."""
    if successes >= trials:
        return 1.0
    return 1.0 if successes >= 0 and share <= 0.0 else beta_cdf(1.0 - share, trials - successes, successes + 1)


def clopper_pearson_upper(successes: int, trials: int, delta: float) -> float:
    """The share that is not exceeded with confidence 1 - delta; 1 where nothing was tried."""
    if successes >= trials:
        return 1.0
    return beta_quantile(1.0 - delta, successes + 1, trials - successes)


def clopper_pearson(successes: int, trials: int, delta: float) -> tuple[float, float]:
    """The exact interval of a share with confidence 1 - delta, half of delta on each side."""
    upper = clopper_pearson_upper(successes, trials, delta / 2.0)
    if successes <= 0:
        return 0.0, upper
    return beta_quantile(delta / 2.0, successes, trials - successes + 1), upper


def _fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1.0 / _away(1.0 - (a + b) * x / (a + 1.0))
    result = d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1.0 / _away(1.0 + even * d)
        c = _away(1.0 + even / c)
        result *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1.0 / _away(1.0 + odd * d)
        c = _away(1.0 + odd / c)
        step = d * c
        result *= step
        if abs(step - 1.0) < _ENOUGH:
            break
    return result


def _away(value: float) -> float:
    """Not zero."""
    return value if abs(value) > _TINY else _TINY
