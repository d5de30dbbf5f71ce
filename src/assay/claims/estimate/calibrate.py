"""Calibration: how well an uncertainty tells wrong from right.

uncertainties + which answers were wrong -> AUROC with interval, ECE, Brier, risk-coverage -> CalibrationReport
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from assay.claims.errors import ClaimsError
from assay.claims.estimate._scores import checked_labels, checked_level, checked_shares

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

_BINS = 10
_POINTS = 200
_Point = TypeVar("_Point")


class Interval(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    value: float
    low: float
    high: float


class ReliabilityBin(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One bin of `count` cases: the mean uncertainty that was said, and the share that was wrong."""

    count: int
    said: float
    wrong: float


class RiskPoint(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Publishing the `coverage` least uncertain, this share of them is wrong; `threshold` is their highest value."""

    coverage: float
    risk: float
    threshold: float


class RocPoint(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Above some value lie this share of the right answers, and this share of the wrong ones."""

    false_alarms: float
    caught: float


class CalibrationReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    n: int
    wrong: int
    auroc: Interval
    calibration_error: float
    brier: float
    area_under_risk: float
    bins: tuple[ReliabilityBin, ...]
    curve: tuple[RiskPoint, ...]
    roc: tuple[RocPoint, ...]


def auroc(uncertainties: "ArrayLike", wrong: "ArrayLike") -> float:
    """How often a wrong answer is more uncertain than a right one; ties count half (mid-ranks)."""
    scores, labels = _checked_pair(uncertainties, wrong)
    return _auroc(scores, labels)


def bootstrap_auroc(
    uncertainties: "ArrayLike",
    wrong: "ArrayLike",
    *,
    seed: int,
    rounds: int = 1000,
    level: float = 0.95,
) -> Interval:
    """The AUROC with its percentile interval; wrong and right answers are drawn apart, so no draw lacks a kind."""
    import numpy as np  # noqa: PLC0415  loaded only to calibrate

    scores, labels = _checked_pair(uncertainties, wrong)
    checked_level("level", level)
    if rounds < 1:
        raise ClaimsError.calibration_setting(f"expected at least one round, got {rounds}")
    generator = np.random.Generator(np.random.PCG64(seed))
    bad, good = scores[labels], scores[~labels]
    drawn_labels = np.repeat([True, False], [bad.size, good.size])
    draws = []
    for _ in range(rounds):
        drawn = np.concatenate(
            [bad[generator.integers(0, bad.size, bad.size)], good[generator.integers(0, good.size, good.size)]]
        )
        draws.append(_auroc(drawn, drawn_labels))
    low, high = np.quantile(draws, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return Interval(value=_auroc(scores, labels), low=float(low), high=float(high))


def reliability(uncertainties: "ArrayLike", wrong: "ArrayLike", *, bins: int = _BINS) -> tuple[ReliabilityBin, ...]:
    """Bins of equal width; empty ones are left out."""
    import numpy as np  # noqa: PLC0415  loaded only to calibrate

    scores = checked_shares(uncertainties)
    labels = checked_labels(wrong, scores.size)
    if bins < 1:
        raise ClaimsError.calibration_setting(f"expected at least one bin, got {bins}")
    places = np.minimum((scores * bins).astype(np.int64), bins - 1)
    counts = np.bincount(places, minlength=bins)
    said = np.bincount(places, weights=scores, minlength=bins)
    missed = np.bincount(places, weights=labels.astype(np.float64), minlength=bins)
    return tuple(
        ReliabilityBin(count=int(count), said=float(total / count), wrong=float(bad / count))
        for count, total, bad in zip(counts, said, missed, strict=True)
        if count
    )


def calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """The expected calibration error: how far bins are from what they said, by their counts."""
    n = sum(one.count for one in bins)
    return sum(one.count * abs(one.said - one.wrong) for one in bins) / n


def brier_score(uncertainties: "ArrayLike", wrong: "ArrayLike") -> float:
    """The mean square between the uncertainty and whether it was wrong."""
    scores = checked_shares(uncertainties)
    labels = checked_labels(wrong, scores.size)
    return float(((scores - labels) ** 2).mean())


def risk_coverage(uncertainties: "ArrayLike", wrong: "ArrayLike") -> tuple[RiskPoint, ...]:
    """A point for each value that an uncertainty takes, from the most certain on; ties are published together."""
    import numpy as np  # noqa: PLC0415  loaded only to calibrate

    scores = checked_shares(uncertainties)
    labels = checked_labels(wrong, scores.size)
    order = np.argsort(scores, kind="stable")
    values, missed = scores[order], np.cumsum(labels[order])
    ends = np.flatnonzero(np.append(np.diff(values) > 0.0, True))
    return tuple(
        RiskPoint(
            coverage=float((end + 1) / scores.size), risk=float(missed[end] / (end + 1)), threshold=float(values[end])
        )
        for end in ends
    )


def roc_curve(uncertainties: "ArrayLike", wrong: "ArrayLike") -> tuple[RocPoint, ...]:
    """From nothing caught to everything, a point for each value that an uncertainty takes."""
    import numpy as np  # noqa: PLC0415  loaded only to calibrate

    scores, labels = _checked_pair(uncertainties, wrong)
    order = np.argsort(-scores, kind="stable")
    caught = np.cumsum(labels[order])
    alarms = np.cumsum(~labels[order])
    ends = np.flatnonzero(np.append(np.diff(scores[order]) < 0.0, True))
    points = (
        RocPoint(false_alarms=float(alarms[end] / alarms[-1]), caught=float(caught[end] / caught[-1])) for end in ends
    )
    return (RocPoint(false_alarms=0.0, caught=0.0), *points)


def make_report(uncertainties: "ArrayLike", wrong: "ArrayLike", *, seed: int, rounds: int = 1000) -> CalibrationReport:
    scores, labels = _checked_pair(uncertainties, wrong)
    bins = reliability(scores, labels)
    curve = risk_coverage(scores, labels)
    return CalibrationReport(
        n=int(scores.size),
        wrong=int(labels.sum()),
        auroc=bootstrap_auroc(scores, labels, seed=seed, rounds=rounds),
        calibration_error=calibration_error(bins),
        brier=brier_score(scores, labels),
        area_under_risk=_area(curve),
        bins=bins,
        curve=_thinned(curve),
        roc=_thinned(roc_curve(scores, labels)),
    )


def _auroc(scores: "NDArray[np.float64]", labels: "NDArray[np.bool_]") -> float:
    import numpy as np  # noqa: PLC0415  loaded only to calibrate

    # By counting, for each wrong answer, the right ones below it and half of those beside it: mid-ranks, with one sort.
    good = np.sort(scores[~labels])
    bad = scores[labels]
    below = np.searchsorted(good, bad, side="left").sum(dtype=np.int64)
    upto = np.searchsorted(good, bad, side="right").sum(dtype=np.int64)
    return float((below + upto) / (2.0 * good.size * bad.size))


def _checked_pair(uncertainties: "ArrayLike", wrong: "ArrayLike") -> "tuple[NDArray[np.float64], NDArray[np.bool_]]":
    scores = checked_shares(uncertainties)
    labels = checked_labels(wrong, scores.size)
    if not 0 < int(labels.sum()) < labels.size:
        raise ClaimsError.scores("expected answers of both kinds, right and wrong, got one kind only")
    return scores, labels


def _area(curve: Sequence[RiskPoint]) -> float:
    """The mean risk over all coverages, each step at the risk of its end."""
    area = last = 0.0
    for point in curve:
        area += (point.coverage - last) * point.risk
        last = point.coverage
    return area


def _thinned(curve: tuple[_Point, ...]) -> tuple[_Point, ...]:
    """At most so many points, the last among them: a curve for the eye."""
    if len(curve) <= _POINTS:
        return curve
    return tuple(curve[(place + 1) * len(curve) // _POINTS - 1] for place in range(_POINTS))
