"""Stated confidence: what the model's own log-probabilities say, calibrated on answers known to be right or wrong.

token log-probabilities -> confidence -> calibrator (temperature | Platt | isotonic) -> 1 - confidence
Without a calibrator the value is the model's own word, and marked so: it is often too sure of itself.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from math import exp, isfinite, log
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from assay.claims.bundle import UncertaintyMethod
from assay.claims.errors import ClaimsError
from assay.claims.estimate._scores import checked_labels, checked_shares
from assay.claims.estimate.estimate import Cost, Estimate, make_estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EDGE = 1e-6
_STEPS = 100
_CLOSE = 1e-10
# Beyond it, a product with a logit is no number any more.
_STEEPEST = 1e100


class Temperature(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="temperature"):
    """logit(p) / t: above 1 it takes confidence away, and never changes an order."""

    t: float

    def __post_init__(self) -> None:
        if not (isfinite(self.t) and self.t > 0.0):
            raise ClaimsError.scores(f"expected a temperature above 0, got {self.t!r}")


class Platt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="platt"):
    """1 / (1 + exp(a logit(p) + b)), as Platt wrote it."""

    a: float
    b: float

    def __post_init__(self) -> None:
        if not max(abs(self.a), abs(self.b)) <= _STEEPEST:
            raise ClaimsError.scores(f"expected numbers of at most {_STEEPEST:g}, got {self.a!r} and {self.b!r}")


class Isotonic(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="isotonic"):
    """A staircase that never falls: from `starts[i]` on, `values[i]`; below the first start, the first value."""

    starts: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        is_whole = 0 < len(self.starts) == len(self.values)
        is_rising = all(low < high for low, high in pairwise(self.starts)) and list(self.values) == sorted(self.values)
        if not is_whole or not is_rising or not all(0.0 <= one <= 1.0 for one in (*self.starts, *self.values)):
            raise ClaimsError.scores("expected as many values as starts, both rising and within 0 to 1")


Calibrator = Temperature | Platt | Isotonic


def confidence_of(logprobs: Sequence[float]) -> float:
    """The geometric mean of the tokens' probabilities: long answers are not less sure for being long."""
    if not logprobs or not all(isfinite(one) and one <= 0.0 for one in logprobs):
        raise ClaimsError.sample(f"expected log-probabilities of at most 0, got {len(logprobs)} of which some are not")
    return exp(sum(logprobs) / len(logprobs))


def calibrated(calibrator: Calibrator, confidence: float) -> float:
    if isinstance(calibrator, Isotonic):
        place = bisect_right(calibrator.starts, confidence) - 1
        return calibrator.values[max(place, 0)]
    logit = _logit(confidence)
    if isinstance(calibrator, Temperature):
        return _sigmoid(logit / calibrator.t)
    return _sigmoid(-(calibrator.a * logit + calibrator.b))


def estimate_stated(logprobs: Sequence[float], calibrator: Calibrator | None) -> Estimate:
    confidence = confidence_of(logprobs)
    share = confidence if calibrator is None else calibrated(calibrator, confidence)
    how = "not calibrated" if calibrator is None else f"calibrated by {type(calibrator).__name__.lower()}"
    return make_estimate(
        UncertaintyMethod.CONFIDENCE_SCORE,
        min(max(1.0 - share, 0.0), 1.0),
        interpretation=f"mean token probability {confidence:.3f}, {how}",
        cost=Cost(answers=1),
        self_reported=calibrator is None,
    )


def fit_temperature(confidences: Sequence[float], correct: Sequence[bool]) -> Temperature:
    """The temperature under which the labels are most likely; found by halving on a convex function's slope."""
    import numpy as np  # noqa: PLC0415  loaded only to fit

    logits, labels = _prepared(confidences, correct)

    def slope(inverse: float) -> float:
        # A share of 0 is what an exponential beyond every number stands for.
        with np.errstate(over="ignore"):
            shares = 1.0 / (1.0 + np.exp(-inverse * logits))
        return float(np.sum((shares - labels) * logits))

    low, high = 1e-3, 1e3
    for _ in range(_STEPS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if slope(middle) < 0.0 else (low, middle)
    return Temperature(t=1.0 / (low * high) ** 0.5)


def fit_platt(confidences: Sequence[float], correct: Sequence[bool]) -> Platt:
    """Newton's method on Platt's softened targets, with the step halved until the fit is better."""
    import numpy as np  # noqa: PLC0415  loaded only to fit

    logits, labels = _prepared(confidences, correct)
    right = float(labels.sum())
    wrong = len(labels) - right
    targets = np.where(labels > 0, (right + 1.0) / (right + 2.0), 1.0 / (wrong + 2.0))
    design = np.stack([logits, np.ones_like(logits)], axis=1)
    weights = np.array([0.0, log((right + 1.0) / (wrong + 1.0))])
    for _ in range(_STEPS):
        shares = 1.0 / (1.0 + np.exp(-design @ weights))
        slope = design.T @ (shares - targets)
        curve = (design * (shares * (1.0 - shares))[:, None]).T @ design + 1e-12 * np.eye(2)
        step = np.linalg.solve(curve, slope)
        if float(np.abs(step).max()) < _CLOSE:
            break
        weights = _better(design, targets, weights, step)
    return Platt(a=-float(weights[0]), b=-float(weights[1]))


def fit_isotonic(confidences: Sequence[float], correct: Sequence[bool]) -> Isotonic:
    """The staircase nearest to the labels in squares (pool adjacent violators)."""
    scores, labels = checked_shares(confidences), checked_labels(correct, len(confidences))
    pairs = sorted(zip((float(one) for one in scores), (float(one) for one in labels), strict=True))
    blocks: list[list[float]] = []  # start, sum, count
    for score, label in pairs:
        if blocks and blocks[-1][0] == score:
            blocks[-1][1] += label
            blocks[-1][2] += 1.0
        else:
            blocks.append([score, label, 1.0])
    return _pooled(blocks)


def _pooled(blocks: list[list[float]]) -> Isotonic:
    done: list[list[float]] = []
    for block in blocks:
        done.append(list(block))
        while len(done) > 1 and done[-2][1] / done[-2][2] >= done[-1][1] / done[-1][2]:
            _, total, count = done.pop()
            done[-1][1] += total
            done[-1][2] += count
    return Isotonic(
        starts=tuple(start for start, _, _ in done), values=tuple(total / count for _, total, count in done)
    )


def _better(design: Any, targets: Any, weights: Any, step: Any) -> Any:  # noqa: ANN401  arrays of numpy
    import numpy as np  # noqa: PLC0415  loaded only to fit

    def loss(at: "NDArray[np.float64]") -> float:
        lines = design @ at
        return float(np.sum(np.logaddexp(0.0, lines) - targets * lines))

    size, before = 1.0, loss(weights)
    while size > _CLOSE and loss(weights - size * step) > before:
        size /= 2.0
    return weights - size * step


def _prepared(confidences: Sequence[float], correct: Sequence[bool]) -> tuple[Any, Any]:
    import numpy as np  # noqa: PLC0415  loaded only to fit

    scores, labels = checked_shares(confidences), checked_labels(correct, len(confidences))
    if not 0 < int(labels.sum()) < len(labels):
        raise ClaimsError.scores("expected answers of both kinds, right and wrong, got one kind only")
    clipped = np.clip(scores, _EDGE, 1.0 - _EDGE)
    return np.log(clipped / (1.0 - clipped)), labels.astype(float)


def _logit(share: float) -> float:
    clipped = min(max(share, _EDGE), 1.0 - _EDGE)
    return log(clipped / (1.0 - clipped))


def _sigmoid(value: float) -> float:
    return 1.0 / (1.0 + exp(-value)) if value >= 0.0 else exp(value) / (1.0 + exp(value))
