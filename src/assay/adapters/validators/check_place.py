"""The rule about place: there is one, it is no default of a broken device, and the reporter could have got there."""

from decimal import Decimal

from assay.adapters.validators._sphere import is_within
from assay.adapters.validators.finding import IMPOSSIBLE, PLAUSIBLE, UNLIKELY, Finding, Limits
from assay.ports.validator import Question, Sighting
from assay.truth.key import SpatialSystem
from assay.truth.number import ARITHMETIC
from assay.truth.place import Location

_SECONDS_PER_HOUR = 3600


def check_place_plausible(question: Question, limits: Limits) -> Finding:
    """For places on Earth; a place in the sky only has to be there, and what has no place passes."""
    system, geo = question.contract.truthkey.spatial_system, question.observation.observation.geo
    if system is SpatialSystem.META:
        return Finding(PLAUSIBLE, "knowledge has no place")
    if geo is None:
        return Finding(IMPOSSIBLE, "no place is given")
    if system is SpatialSystem.HEALPIX:
        return Finding(PLAUSIBLE, "a place in the sky")
    if any(not _could_move(question, before, geo, limits) for before in question.earlier_sightings):
        return Finding(IMPOSSIBLE, f"faster than {limits.fastest_km_per_hour} km/h from where the reporter was")
    if geo.lat == 0 and geo.lon == 0:
        return Finding(UNLIKELY, "0, 0 is what a device without a fix says")
    return Finding(PLAUSIBLE, "a place that the reporter could reach")


def _could_move(question: Question, before: Sighting, geo: Location, limits: Limits) -> bool:
    """Clocks may differ, so that much more time may have passed."""
    passed = abs(question.observation.observation.reported_at - before.reported_at)
    seconds = passed.days * 86_400 + passed.seconds + 1 + limits.clock_skew_seconds
    farthest = ARITHMETIC.divide(Decimal(seconds * limits.fastest_km_per_hour), _SECONDS_PER_HOUR)
    return is_within(before.geo, geo, km=farthest)
