"""Conformal sets: so many answers that the right one is among them as often as was promised.

calibration scores -> finite-sample rank -> threshold -> every answer whose score does not exceed it
The promise is about new cases exchangeable with the calibration's; with another population it does not hold. With too
little data the threshold is infinite and the set is everything: said plainly, never hidden.
"""

from collections.abc import Hashable, Mapping, Sequence
from math import ceil, inf
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.claims.bundle import UncertaintyMethod
from assay.claims.errors import ClaimsError
from assay.claims.estimate._beta import beta_quantile
from assay.claims.estimate._scores import checked_level, checked_scores
from assay.claims.estimate.estimate import Cost, Estimate, make_estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

_SLACK = 1e-12
_INTERVAL = 0.95
_TABLE = 2


class ConformalThreshold(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The score at `rank` among n calibration scores; None, an infinite threshold, where the rank is beyond n.

    Over calibration samples, coverage is Beta(rank, n + 1 - rank): `coverage_low` and `coverage_high` hold 95 % of it.
    """

    alpha: float
    n: int
    rank: int
    value: float | None

    @property
    def coverage_low(self) -> float:
        return self._coverage((1.0 - _INTERVAL) / 2.0)

    @property
    def coverage_high(self) -> float:
        return self._coverage((1.0 + _INTERVAL) / 2.0)

    def _coverage(self, share: float) -> float:
        return 1.0 if self.is_infinite else beta_quantile(share, self.rank, self.n + 1 - self.rank)

    @property
    def is_infinite(self) -> bool:
        return self.value is None

    @property
    def bound(self) -> float:
        return inf if self.value is None else self.value


class RiskControl(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The mildest setting whose expected loss stays within alpha; None where none does."""

    alpha: float
    n: int
    place: int | None
    setting: float | None
    bound: float


def calibrate_split(scores: "ArrayLike", alpha: float) -> ConformalThreshold:
    """The threshold that a new score exceeds with probability of at most alpha."""
    import numpy as np  # noqa: PLC0415  loaded only to calibrate

    checked_level("alpha", alpha)
    array = checked_scores(scores)
    n = int(array.size)
    # A little slack, or 0.9 * 10 = 9.000000000000002 would ask for the tenth.
    rank = max(ceil((n + 1) * (1.0 - alpha) - _SLACK * (n + 1)), 1)
    if rank > n:
        return ConformalThreshold(alpha=alpha, n=n, rank=rank, value=None)
    value = float(np.partition(array, rank - 1)[rank - 1])
    return ConformalThreshold(alpha=alpha, n=n, rank=rank, value=value)


def calibrate_groups(
    scores: "ArrayLike",
    groups: Sequence[Hashable],
    alpha: float,
) -> dict[Hashable, ConformalThreshold]:
    """One threshold for each group (Mondrian): the promise holds within each of them."""
    array = checked_scores(scores)
    if len(groups) != array.size:
        raise ClaimsError.scores(f"expected {array.size} groups, got {len(groups)}")
    places: dict[Hashable, list[int]] = {}
    for place, group in enumerate(groups):
        places.setdefault(group, []).append(place)
    return {group: calibrate_split(array[where], alpha) for group, where in places.items()}


def threshold_for(
    thresholds: Mapping[Hashable, ConformalThreshold], group: Hashable, *, alpha: float
) -> ConformalThreshold:
    """A group that was never seen has an infinite threshold: everything is possible there."""
    unseen = ConformalThreshold(alpha=alpha, n=0, rank=1, value=None)
    return thresholds.get(group, unseen)


def lac_scores(probabilities: "ArrayLike") -> "NDArray[np.float64]":
    """One minus the probability, for every answer: the smallest sets on average."""
    return 1.0 - _checked_rows(probabilities)


def aps_scores(probabilities: "ArrayLike", *, jitter: "ArrayLike | None" = None) -> "NDArray[np.float64]":
    """For every answer, the mass of all that are at least as likely: sets that follow how hard a case is.

    `jitter` holds a number of [0, 1] for each row, which leaves out that share of the answer's own mass.
    """
    return raps_scores(probabilities, penalty=0.0, free=0, jitter=jitter)


def raps_scores(
    probabilities: "ArrayLike",
    *,
    penalty: float,
    free: int,
    jitter: "ArrayLike | None" = None,
) -> "NDArray[np.float64]":
    """As APS, with a penalty for each rank beyond the first `free`: large sets become rare."""
    import numpy as np  # noqa: PLC0415  loaded only to score

    rows = _checked_rows(probabilities)
    if not 0.0 <= penalty < inf or free < 0:
        raise ClaimsError.calibration_setting(
            f"expected a penalty and a rank of 0 or more, got {penalty!r} and {free!r}"
        )
    order = np.argsort(-rows, axis=1, kind="stable")
    sorted_rows = np.take_along_axis(rows, order, axis=1)
    masses = np.cumsum(sorted_rows, axis=1)
    if jitter is not None:
        masses = masses - _checked_jitter(jitter, len(rows))[:, None] * sorted_rows
    masses = masses + penalty * np.maximum(np.arange(1, rows.shape[1] + 1) - free, 0)
    scores: NDArray[np.float64] = np.empty_like(masses)
    np.put_along_axis(scores, order, masses, axis=1)
    return scores


def predict_sets(scores: "ArrayLike", threshold: ConformalThreshold) -> "NDArray[np.bool_]":
    """Which answers belong to each set; with an infinite threshold all of them, and always one without a score."""
    import numpy as np  # noqa: PLC0415  loaded only to predict

    members: NDArray[np.bool_] = ~(np.asarray(scores) > threshold.bound)
    return members


def control_risk(losses: "ArrayLike", settings: Sequence[float], alpha: float) -> RiskControl:
    """Conformal risk control: `losses` has a row for each case and a column for each setting, from mild to careful.

    A loss is 0 to 1, and may not rise along its row. Chosen is the first setting with n/(n+1) mean + 1/(n+1) <= alpha.
    """
    import numpy as np  # noqa: PLC0415  loaded only to calibrate

    checked_level("alpha", alpha)
    rows = np.asarray(losses, dtype=np.float64)
    if rows.ndim != _TABLE or rows.shape[0] == 0 or rows.shape[1] != len(settings) or not np.isfinite(rows).all():
        raise ClaimsError.scores(f"expected a row of {len(settings)} finite losses for each case, got {rows.shape}")
    if (np.diff(rows, axis=1) > _SLACK).any() or rows.min() < 0.0 or rows.max() > 1.0:
        raise ClaimsError.scores("expected losses of 0 to 1 that never rise along a row, got others")
    n = rows.shape[0]
    bounds = (n * rows.mean(axis=0) + 1.0) / (n + 1)
    fitting = np.flatnonzero(bounds <= alpha)
    if fitting.size == 0:
        return RiskControl(alpha=alpha, n=n, place=None, setting=None, bound=float(bounds[-1]))
    place = int(fitting[0])
    return RiskControl(alpha=alpha, n=n, place=place, setting=float(settings[place]), bound=float(bounds[place]))


def set_share(size: int, answers: int) -> float:
    """How much of all that is possible a set holds: 0 for one answer, 1 for all, and 1 for none, which says nothing."""
    if answers < 1 or not 0 <= size <= answers:
        raise ClaimsError.scores(f"expected a set of 0 to {answers} answers, got {size}")
    if size == 0:
        return 1.0
    return (size - 1) / (answers - 1) if answers > 1 else 0.0


def estimate_conformal(size: int, answers: int, threshold: ConformalThreshold) -> Estimate:
    """The size of a set as an uncertainty, with what its threshold promises."""
    return make_estimate(
        UncertaintyMethod.CONFORMAL_SET,
        set_share(size, answers),
        interpretation=f"{size} of {answers} answers in the set; {render_threshold(threshold)}",
        cost=Cost(answers=1),
    )


def render_threshold(threshold: ConformalThreshold) -> str:
    """What a threshold promises, in one line."""
    # All digits that were asked for: 99.9 % is not everything.
    wanted = f"{100.0 * (1.0 - threshold.alpha):.6g}% coverage"
    if threshold.is_infinite:
        least = ceil((1.0 - threshold.alpha) / threshold.alpha - _SLACK)
        return f"too little data for {wanted}: {threshold.n} cases of at least {least}, so the set is everything"
    low, high = threshold.coverage_low, threshold.coverage_high
    return f"{wanted} from {threshold.n} cases, between {low:.1%} and {high:.1%} for 95 % of such samples"


def _checked_jitter(jitter: "ArrayLike", count: int) -> "NDArray[np.float64]":
    import numpy as np  # noqa: PLC0415  loaded only to score

    shares = np.asarray(jitter, dtype=np.float64)
    if shares.shape != (count,) or not ((shares >= 0.0) & (shares <= 1.0)).all():
        raise ClaimsError.scores(f"expected a number of 0 to 1 for each of {count} rows, got others")
    return shares


def _checked_rows(probabilities: "ArrayLike") -> "NDArray[np.float64]":
    import numpy as np  # noqa: PLC0415  loaded only to score

    rows = np.asarray(probabilities, dtype=np.float64)
    if rows.ndim != _TABLE or rows.size == 0 or not np.isfinite(rows).all() or rows.min() < 0.0 or rows.max() > 1.0:
        raise ClaimsError.scores(
            f"expected rows of probabilities, got the shape {rows.shape} or numbers outside of 0 to 1"
        )
    return rows
