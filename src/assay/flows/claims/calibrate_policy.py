"""Thresholds from cases that are known: publish as much as possible while P(wrong | published) stays below alpha.

lines -> uncertainties and labels -> report + fitted threshold -> policy with it -> signed YAML
"""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from assay.claims.bundle import UncertaintyMethod
from assay.claims.errors import ScoresError
from assay.claims.estimate.calibrate import CalibrationReport, make_report
from assay.claims.estimate.fit_threshold import FittedThreshold, fit_threshold, thresholds_of
from assay.claims.estimate.stated import Calibrator, calibrated, fit_isotonic, fit_platt, fit_temperature
from assay.claims.policy import ClaimsPolicy, MethodThresholds
from assay.claims.render_policy import render_policy
from assay.claims.signed_policy import policy_message, render_signed_policy
from assay.flows.errors.claims import CalibrationLineError
from assay.kernel.errors import JsonError
from assay.kernel.json_text import parse_json
from assay.ports.signer import Signer


class CalibratorName(StrEnum):
    """How stated confidences are brought to what they turn out to mean."""

    TEMPERATURE = "temperature"
    PLATT = "platt"
    ISOTONIC = "isotonic"


# The resampling behind a report is the same each time, so that the same cases give the same report.
_SEED = 0
_FITS: dict[CalibratorName, Callable[[Sequence[float], Sequence[bool]], Calibrator]] = {
    CalibratorName.TEMPERATURE: fit_temperature,
    CalibratorName.PLATT: fit_platt,
    CalibratorName.ISOTONIC: fit_isotonic,
}


class LabelledCase(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How uncertain an answer was said to be, and whether it was wrong."""

    uncertainty: float
    wrong: bool


class Calibrated(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`policy_text` is the signed policy; None where no threshold could be shown to hold, or nobody signs. `report` is
    None where the cases are all right or all wrong, since nothing can be ranked then.
    """

    method: UncertaintyMethod
    fitted: FittedThreshold
    report: CalibrationReport | None
    policy: ClaimsPolicy | None
    policy_text: str | None


def parse_cases(lines: Iterable[bytes]) -> tuple[LabelledCase, ...]:
    """Every line `{"uncertainty": …, "wrong": …}`, besides others that are ignored; blank lines are left out."""
    cases = tuple(_case(number, line) for number, line in enumerate(lines, 1) if line.strip())
    if not cases:
        raise ScoresError("expected labelled cases, got none")
    return cases


def fit_calibrator(
    cases: tuple[LabelledCase, ...], name: CalibratorName
) -> tuple[Calibrator, tuple[LabelledCase, ...]]:
    """A calibrator from every second case, and the others as it tells them.

    A threshold is fitted on cases that the calibrator has not seen, or its promise would be about the fit itself.
    """
    known, fresh = cases[::2], cases[1::2]
    if not fresh:
        raise ScoresError(f"expected cases for a calibrator and for a threshold, got {len(cases)}")
    made = _FITS[name]([1.0 - one.uncertainty for one in known], [not one.wrong for one in known])
    told = tuple(
        replace(one, uncertainty=min(max(1.0 - calibrated(made, 1.0 - one.uncertainty), 0.0), 1.0)) for one in fresh
    )
    return made, told


def calibrate_policy(
    cases: tuple[LabelledCase, ...],
    base: ClaimsPolicy,
    *,
    method: UncertaintyMethod,
    version: str,
    alpha: float,
    delta: float,
    signer: Signer | None,
) -> Calibrated:
    """The base policy with fitted thresholds for one method, as a new version; nothing is written that nobody signs."""
    uncertainties, wrong = [one.uncertainty for one in cases], [one.wrong for one in cases]
    fitted = fit_threshold(uncertainties, wrong, alpha=alpha, delta=delta)
    report = make_report(uncertainties, wrong, seed=_SEED) if 0 < sum(wrong) < len(wrong) else None
    if fitted.threshold is None:
        return Calibrated(method=method, fitted=fitted, report=report, policy=None, policy_text=None)
    drawn = thresholds_of(fitted)
    # A line for DEFER is no reason to say less: caveats begin where they did, or earlier.
    known = min(base.uncertainty.for_method(method).explain_above, drawn.explain_above)
    row = MethodThresholds(method=method, thresholds=replace(drawn, explain_above=known))
    others = tuple(one for one in base.uncertainty.by_method if one.method is not method)
    by_method = tuple(sorted((*others, row), key=lambda one: list(UncertaintyMethod).index(one.method)))
    policy = replace(base, version=version, uncertainty=replace(base.uncertainty, by_method=by_method))
    return Calibrated(
        method=method, fitted=fitted, report=report, policy=policy, policy_text=_signed(render_policy(policy), signer)
    )


def _signed(document: str, signer: Signer | None) -> str | None:
    if signer is None or signer.public_key is None:
        return None
    return render_signed_policy(document, public_key=signer.public_key, signature=signer.sign(policy_message(document)))


def _case(number: int, line: bytes) -> LabelledCase:
    try:
        value = parse_json(line)
    except JsonError as error:
        raise CalibrationLineError(f"line {number}: expected JSON, got: {error}") from error
    said = value.get("uncertainty") if isinstance(value, dict) else None
    wrong = value.get("wrong") if isinstance(value, dict) else None
    is_number = isinstance(said, int | float) and not isinstance(said, bool)
    if not is_number or not isinstance(wrong, bool) or not 0.0 <= float(said) <= 1.0:  # type: ignore[arg-type]  # a number
        told = 'expected {"uncertainty": 0 to 1, "wrong": true or false}'
        raise CalibrationLineError(f"line {number}: {told}, got `{line[:80].decode(errors='replace').strip()}`")
    return LabelledCase(uncertainty=float(said), wrong=wrong)  # type: ignore[arg-type]  # a number
