"""Rules about what was reported: depths and orbits that can be, reports that say what the contract needs."""

from collections.abc import Mapping
from decimal import Decimal

from assay.adapters.validators.finding import IMPOSSIBLE, PLAUSIBLE, UNKNOWN, Finding, Limits
from assay.ports.validator import Question
from assay.truth.errors import NumberFormError
from assay.truth.number import ARITHMETIC, exact_number, quantised

_HALF_TURN = 180


def check_depth_plausible(question: Question, limits: Limits) -> Finding:
    """Metres under water, none above it and none below the sea floor."""
    for path in limits.depth_paths:
        value = _find(question, path)
        if value is not None:
            return _in_range(path, value, Decimal(0), Decimal(limits.deepest_m))
    return Finding(UNKNOWN, f"no depth at `{'` or `'.join(limits.depth_paths)}`")


def check_orbit_plausible(question: Question, limits: Limits) -> Finding:
    """An altitude at which something can circle; inclination and eccentricity where they are given."""
    altitude = _find(question, "orbit.altitude_km")
    if altitude is None:
        return Finding(UNKNOWN, "no altitude at `orbit.altitude_km`")
    ranges = (
        ("orbit.altitude_km", Decimal(limits.lowest_orbit_km), Decimal(limits.highest_orbit_km)),
        ("orbit.inclination_deg", Decimal(0), Decimal(_HALF_TURN)),
        ("orbit.eccentricity", Decimal(0), Decimal("0.999999")),
    )
    found = [
        _in_range(path, value, low, high) for path, low, high in ranges if (value := _find(question, path)) is not None
    ]
    return min(found, key=lambda finding: finding.share)


def check_report_complete(question: Question, _limits: Limits) -> Finding:
    """How many of the paths that the claim is derived from say something; those with a default need not."""
    rules = question.contract.claim_derivation.values()
    paths = sorted({rule.path for rule in rules if rule.default is None})
    said = [path for path in paths if _find(question, path) is not None]
    share = quantised(ARITHMETIC.divide(Decimal(len(said)), len(paths))) if paths else PLAUSIBLE
    missing = ", ".join(path for path in paths if path not in said)
    return Finding(share, f"missing: {missing}" if missing else "says everything that the claim needs")


def _find(question: Question, path: str) -> object:
    value: object = question.observation.observation.payload
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return None
        value = value[name]
    return value


def _in_range(path: str, value: object, low: Decimal, high: Decimal) -> Finding:
    try:
        number = exact_number(value)  # type: ignore[arg-type]  # it refuses what is no number
    except NumberFormError:
        return Finding(IMPOSSIBLE, f"`{path}` is no number")
    is_possible = low <= number <= high
    return Finding(PLAUSIBLE if is_possible else IMPOSSIBLE, f"`{path}` is {number}, {low} to {high} can be")
