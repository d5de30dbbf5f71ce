"""Thresholds from cases that are known: for gates, for sets of answers, and for any loss that falls along its settings.

labelled cases -> report + fitted threshold -> a draft of a policy;   scores of right answers -> conformal sets;
losses -> the mildest setting whose expected loss stays within alpha. All of it is pure: no node is needed.
"""

from collections.abc import Callable, Hashable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import replace

from assay.claims.bundle import UncertaintyMethod
from assay.claims.errors import ClaimsError
from assay.claims.estimate.calibrate import CalibrationReport, make_report
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
from assay.claims.estimate.fit_threshold import FittedThreshold, fit_threshold, thresholds_of
from assay.claims.estimate.plot import plot_reliability, plot_risk_coverage, plot_roc
from assay.claims.estimate.stated import Calibrator, calibrated, fit_isotonic, fit_platt, fit_temperature
from assay.claims.policy import DEFAULT_POLICY, ClaimsPolicy, MethodThresholds, policy_hash
from assay.claims.render_policy import render_policy
from assay.flows.claims.policies import read_draft
from assay.flows.errors.claims import ClaimsFlowError
from assay.flows.request import Content, Option, Request
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.digest import Digest
from assay.kernel.errors import JsonError
from assay.kernel.json_text import parse_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST_CASES = 1_000_000
_RAPS_PENALTY = 0.01
_RAPS_FREE = 2
# The resampling behind a report is the same each time, so that the same cases give the same report.
_SEED = 0
_SVG = "image/svg+xml"


class CalibratorName(StrEnum):
    """How stated confidences are brought to what they turn out to mean."""

    TEMPERATURE = "temperature"
    PLATT = "platt"
    ISOTONIC = "isotonic"


class ConformalScore(StrEnum):
    """LAC gives the smallest sets, APS sets that follow how hard a case is, RAPS the same without very large ones."""

    LAC = "lac"
    APS = "aps"
    RAPS = "raps"


class PlotName(StrEnum):
    ROC = "roc"
    RELIABILITY = "reliability"
    RISK_COVERAGE = "risk_coverage"


_FITS: dict[CalibratorName, Callable[[Sequence[float], Sequence[bool]], Calibrator]] = {
    CalibratorName.TEMPERATURE: fit_temperature,
    CalibratorName.PLATT: fit_platt,
    CalibratorName.ISOTONIC: fit_isotonic,
}
_PLOTS: dict[PlotName, Callable[[CalibrationReport], str]] = {
    PlotName.ROC: plot_roc,
    PlotName.RELIABILITY: plot_reliability,
    PlotName.RISK_COVERAGE: plot_risk_coverage,
}


class LabelledCase(Struct, frozen=True, kw_only=True):
    """How uncertain an answer was said to be, and whether it was wrong; other fields are ignored."""

    uncertainty: Annotated[float, Meta(ge=0.0, le=1.0)]
    wrong: bool


class AnswerCase(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How likely each answer of a list is said to be; `right` is the place of the right one, where that is known."""

    probabilities: Annotated[tuple[float, ...], Meta(min_length=1)]
    right: int | None = None
    group: str | None = None


class LossCase(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What each setting costs in one case, from the mildest to the most careful."""

    losses: Annotated[tuple[float, ...], Meta(min_length=1)]


def parse_lines(text: str) -> list[Any]:
    """Every line as JSON; blank lines are left out."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            found.append(parse_json(line.encode()))
        except JsonError as error:
            raise ClaimsFlowError.calibration_line(f"line {number}: expected JSON, got: {error}") from error
    if not found:
        raise ClaimsError.scores("expected cases, got none")
    return found


_Alpha = Annotated[float, Meta(gt=0.0, lt=1.0, description="How often the promise may fail.")]
LabelledCases = Annotated[
    tuple[LabelledCase, ...],
    Meta(
        min_length=1,
        max_length=_MOST_CASES,
        description='Known cases; on the command line a file with `{"uncertainty": 0.2, "wrong": false}` in each line.',
    ),
    Option(form="text_argument", metavar="FILE|-", read=parse_lines),
]


class CalibratePolicy(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    cases: LabelledCases
    alpha: Annotated[float, Meta(description="At most this share of the published wrong,")] = 0.1
    delta: Annotated[float, Meta(description="with confidence 1 - delta.")] = 0.1
    method: Annotated[UncertaintyMethod, Meta(description="The method that the uncertainties are of.")] = (
        UncertaintyMethod.SEMANTIC_ENTROPY
    )
    calibrator: Annotated[
        CalibratorName | None, Meta(description="First fit this calibrator of stated confidences on every second case.")
    ] = None
    base: Annotated[
        str | None,
        Meta(description="The policy to change, as YAML; else the specification's."),
        Option(form="text", metavar="POLICY"),
    ] = None
    version: Annotated[str, Meta(min_length=1, max_length=100, description="The new policy's version.")] = (
        "calibrated-1"
    )


class PlotCalibration(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    cases: LabelledCases
    kind: Annotated[PlotName, Meta(description="Which picture.")] = PlotName.ROC


class CalibrateSets(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    cases: Annotated[
        tuple[AnswerCase, ...],
        Meta(
            min_length=1,
            max_length=_MOST_CASES,
            description=(
                'Known cases; on the command line a file with `{"probabilities": [0.7, 0.3], "right": 0, "group": "x"}`'
                " in each line. Each group has a threshold of its own; `group` may be left out."
            ),
        ),
        Option(form="text_argument", metavar="FILE|-", read=parse_lines),
    ]
    score: Annotated[ConformalScore, Meta(description="How answers are scored.")] = ConformalScore.LAC
    alpha: _Alpha = 0.1
    predict: Annotated[
        tuple[AnswerCase, ...],
        Meta(max_length=_MOST_CASES, description="New cases, whose sets are returned."),
        Option(form="text", metavar="CASES", read=parse_lines),
    ] = ()


class ControlRisk(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    cases: Annotated[
        tuple[LossCase, ...],
        Meta(
            min_length=1,
            max_length=_MOST_CASES,
            description=(
                'Known cases; on the command line a file with `{"losses": [0.9, 0.4, 0.0]}` in each line,'
                " a loss for each setting from mild to careful."
            ),
        ),
        Option(form="text_argument", metavar="FILE|-", read=parse_lines),
    ]
    alpha: _Alpha = 0.1


class Calibrated(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`policy` is a draft, not signed: a release signs it; None where no threshold could be shown to hold.

    `report` is None where the cases are all right or all wrong, since nothing can be ranked then.
    """

    method: UncertaintyMethod
    fitted: FittedThreshold
    report: CalibrationReport | None
    policy: str | None
    policy_hash: Digest | None
    calibrator: Calibrator | None = None


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


class ConformalSets(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    score: ConformalScore
    thresholds: tuple[GroupThreshold, ...]
    sets: tuple[PredictedSet, ...]


def calibrate_policy(tools: Tools | None, caller: Caller, request: CalibratePolicy) -> Calibrated:  # noqa: ARG001 - pure
    """Fit a threshold to known cases, and draft a policy with it.

    As much as possible is published while the share of wrong ones among them stays below alpha. Everything would be
    deferred where no threshold can be shown to hold: then there are too few cases, or the uncertainty tells too little.
    """
    base = DEFAULT_POLICY if request.base is None else read_draft(request.base)
    cases, made = request.cases, None
    if request.calibrator is not None:
        made, cases = fit_calibrator(cases, request.calibrator)
    uncertainties, wrong = [one.uncertainty for one in cases], [one.wrong for one in cases]
    fitted = fit_threshold(uncertainties, wrong, alpha=request.alpha, delta=request.delta)
    policy = None if fitted.threshold is None else _fitted(base, fitted, request.method, request.version)
    return Calibrated(
        method=request.method,
        fitted=fitted,
        report=_report(cases),
        policy=None if policy is None else render_policy(policy),
        policy_hash=None if policy is None else policy_hash(policy),
        calibrator=made,
    )


def plot_calibration(tools: Tools | None, caller: Caller, request: PlotCalibration) -> Content:  # noqa: ARG001 - pure
    """Draw known cases as SVG.

    `roc` shows how well an uncertainty ranks, `reliability` whether 0.2 means one in five, `risk_coverage` what
    publishing more costs.
    """
    report = _report(request.cases)
    if report is None:
        raise ClaimsError.scores("expected cases of which some are wrong and some are not, got only one kind")
    return Content(body=_PLOTS[request.kind](report).encode(), media_type=_SVG, filename=f"{request.kind}.svg")


def calibrate_sets(tools: Tools | None, caller: Caller, request: CalibrateSets) -> ConformalSets:  # noqa: ARG001 - pure
    """Calibrate sets of answers on known cases, with a promise in each group."""
    thresholds = _calibrated_groups(request.cases, request.score, alpha=request.alpha)
    sets = _predicted_sets(request.predict, request.score, thresholds, alpha=request.alpha) if request.predict else ()
    return ConformalSets(score=request.score, thresholds=thresholds, sets=sets)


def calibrate_risk(tools: Tools | None, caller: Caller, request: ControlRisk) -> RiskControl:  # noqa: ARG001 - pure
    """Choose the mildest setting whose expected loss stays within alpha, by conformal risk control."""
    rows = [case.losses for case in request.cases]
    _require_even(rows)
    return control_risk(rows, [float(place) for place in range(len(rows[0]))], request.alpha)


def fit_calibrator(
    cases: tuple[LabelledCase, ...], name: CalibratorName
) -> tuple[Calibrator, tuple[LabelledCase, ...]]:
    """A calibrator from every second case, and the others as it tells them.

    A threshold is fitted on cases that the calibrator has not seen, or its promise would be about the fit itself.
    """
    known, fresh = cases[::2], cases[1::2]
    if not fresh:
        raise ClaimsError.scores(f"expected cases for a calibrator and for a threshold, got {len(cases)}")
    made = _FITS[name]([1.0 - one.uncertainty for one in known], [not one.wrong for one in known])
    told = tuple(
        replace(one, uncertainty=min(max(1.0 - calibrated(made, 1.0 - one.uncertainty), 0.0), 1.0)) for one in fresh
    )
    return made, told


def _report(cases: tuple[LabelledCase, ...]) -> CalibrationReport | None:
    wrong = [one.wrong for one in cases]
    if not 0 < sum(wrong) < len(wrong):
        return None
    return make_report([one.uncertainty for one in cases], wrong, seed=_SEED)


def _fitted(base: ClaimsPolicy, fitted: FittedThreshold, method: UncertaintyMethod, version: str) -> ClaimsPolicy:
    drawn = thresholds_of(fitted)
    # A line for DEFER is no reason to say less: caveats begin where they did, or earlier.
    known = min(base.uncertainty.for_method(method).explain_above, drawn.explain_above)
    row = MethodThresholds(method=method, thresholds=replace(drawn, explain_above=known))
    others = tuple(one for one in base.uncertainty.by_method if one.method is not method)
    by_method = tuple(sorted((*others, row), key=lambda one: list(UncertaintyMethod).index(one.method)))
    return replace(base, version=version, uncertainty=replace(base.uncertainty, by_method=by_method))


def _calibrated_groups(
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


def _predicted_sets(
    cases: tuple[AnswerCase, ...], score: ConformalScore, thresholds: tuple[GroupThreshold, ...], *, alpha: float
) -> tuple[PredictedSet, ...]:
    """The set of each case by the threshold of its group; a group that was never seen gets every answer."""
    known: dict[Hashable, ConformalThreshold] = {one.group: one.threshold for one in thresholds}
    scores = _scored(cases, score)
    return tuple(
        _predicted(scores[row : row + 1], threshold_for(known, case.group, alpha=alpha))
        for row, case in enumerate(cases)
    )


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
        raise ClaimsError.scores("expected as many numbers in each case, got more in some")


def _right(case: AnswerCase) -> int:
    if case.right is None or not 0 <= case.right < len(case.probabilities):
        raise ClaimsError.scores(
            f"expected `right` to be a place of {len(case.probabilities)} answers, got {case.right}"
        )
    return case.right
