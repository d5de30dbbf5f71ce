"""Conformal thresholds from cases whose right answer is known, and the sets of new cases by them.

lines -> scores of the right answers -> a threshold, or one for each group -> sets of new cases, each as an estimate
lines of losses -> the mildest setting whose expected loss stays within alpha
"""

from collections.abc import Hashable, Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from assay.claims.errors import ScoresError
from assay.claims.estimate.conform import (
    ConformalThreshold,
    RiskControl,
    aps_scores,
    calibrate_groups,
    control_risk,
    estimate_conformal,
    lac_scores,
    predict_sets,
    raps_scores,
    render_threshold,
    threshold_for,
)
from assay.claims.estimate.estimate import Estimate
from assay.flows.errors.claims import CalibrationLineError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_RAPS_PENALTY = 0.01
_RAPS_FREE = 2
L = TypeVar("L", bound=Struct)


class ConformalScore(StrEnum):
    """LAC gives the smallest sets, APS sets that follow how hard a case is, RAPS the same without very large ones."""

    LAC = "lac"
    APS = "aps"
    RAPS = "raps"


class AnswerCase(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How likely each answer of a list is said to be; `right` is the place of the right one, where that is known."""

    probabilities: tuple[float, ...]
    right: int | None = None
    group: str | None = None


class LossCase(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What each setting costs in one case, from the mildest to the most careful."""

    losses: tuple[float, ...]


class GroupThreshold(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`group` is None where no case names one; `promise` says what the threshold holds, with its Beta interval."""

    group: str | None
    threshold: ConformalThreshold
    coverage_low: float
    coverage_high: float
    promise: str


class PredictedSet(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The places of the answers that belong to the set, and its size as an uncertainty."""

    places: tuple[int, ...]
    estimate: Estimate


def parse_lines(lines: Iterable[bytes], kind: type[L]) -> tuple[L, ...]:
    """Every line as one case; blank lines are left out."""
    cases = tuple(_line(number, line, kind) for number, line in enumerate(lines, 1) if line.strip())
    if not cases:
        raise ScoresError("expected cases, got none")
    return cases


def calibrate_conformal(
    cases: tuple[AnswerCase, ...], score: ConformalScore, *, alpha: float
) -> tuple[GroupThreshold, ...]:
    """One threshold for each group of cases, so that the promise holds within each of them (Mondrian)."""
    places = [_right(case) for case in cases]
    scores = _scored(cases, score)
    right = [float(scores[row, place]) for row, place in enumerate(places)]
    found = calibrate_groups(right, [case.group for case in cases], alpha)
    return tuple(
        GroupThreshold(
            group=None if group is None else str(group),
            threshold=threshold,
            coverage_low=threshold.coverage_low,
            coverage_high=threshold.coverage_high,
            promise=render_threshold(threshold),
        )
        for group, threshold in sorted(found.items(), key=lambda item: "" if item[0] is None else str(item[0]))
    )


def predict_answers(
    cases: tuple[AnswerCase, ...], score: ConformalScore, thresholds: tuple[GroupThreshold, ...], *, alpha: float
) -> tuple[PredictedSet, ...]:
    """The set of each case by the threshold of its group; a group that was never seen gets every answer."""
    known: dict[Hashable, ConformalThreshold] = {one.group: one.threshold for one in thresholds}
    scores = _scored(cases, score)
    return tuple(
        _predicted(scores[row : row + 1], threshold_for(known, case.group, alpha=alpha))
        for row, case in enumerate(cases)
    )


def calibrate_risk(cases: tuple[LossCase, ...], *, alpha: float) -> RiskControl:
    """Choose a setting by conformal risk control; `setting` is its place in each row."""
    rows = [case.losses for case in cases]
    _require_even(rows)
    return control_risk(rows, [float(place) for place in range(len(rows[0]))], alpha)


def _predicted(scores: "NDArray[np.float64]", threshold: ConformalThreshold) -> PredictedSet:
    (members,) = predict_sets(scores, threshold)
    places = tuple(place for place, is_in in enumerate(members) if is_in)
    return PredictedSet(places=places, estimate=estimate_conformal(len(places), scores.shape[1], threshold))


def _scored(cases: tuple[AnswerCase, ...], score: ConformalScore) -> "NDArray[np.float64]":
    rows = [case.probabilities for case in cases]
    _require_even(rows)
    if score is ConformalScore.LAC:
        return lac_scores(rows)
    if score is ConformalScore.APS:
        return aps_scores(rows)
    return raps_scores(rows, penalty=_RAPS_PENALTY, free=_RAPS_FREE)


def _require_even(rows: Sequence[tuple[float, ...]]) -> None:
    if len({len(row) for row in rows}) != 1:
        raise ScoresError("expected as many numbers in each case, got more in some")


def _right(case: AnswerCase) -> int:
    if case.right is None or not 0 <= case.right < len(case.probabilities):
        raise ScoresError(f"expected `right` to be a place of {len(case.probabilities)} answers, got {case.right}")
    return case.right


def _line(number: int, line: bytes, kind: type[L]) -> L:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CalibrationLineError(f"line {number}: expected a case, got: {error}") from error
