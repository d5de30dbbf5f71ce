"""Distances on the Earth in decimals, so that a limit falls the same way on every machine."""

from decimal import Decimal, localcontext

from assay.truth.number import ARITHMETIC, exact_number
from assay.truth.place import Location

_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
# The mean radius (IUGG): distances are good to half a per cent, which no limit here is finer than.
_RADIUS_KM = Decimal("6371.0088")
_DIGITS = 30
_SMALL = Decimal("1e-30")


def is_within(one: Location, other: Location, *, km: Decimal) -> bool:
    """Whether the shortest way over the surface is at most so long; the haversine, compared without an inverse."""
    with localcontext(ARITHMETIC) as context:
        context.prec = _DIGITS
        half_angle = km / _RADIUS_KM / 2
        if half_angle >= _PI / 2:
            return True
        north, east = _radians(one.lat) - _radians(other.lat), _radians(one.lon) - _radians(other.lon)
        across = _cosine(_radians(one.lat)) * _cosine(_radians(other.lat)) * _sine(east / 2) ** 2
        return _sine(north / 2) ** 2 + across <= _sine(half_angle) ** 2


def _radians(degrees: float) -> Decimal:
    return exact_number(degrees) * _PI / 180


def _cosine(angle: Decimal) -> Decimal:
    return _sine(_PI / 2 - angle)


def _sine(angle: Decimal) -> Decimal:
    """Its series; every angle here is between -π and π."""
    term = total = angle
    step = 1
    while abs(term) > _SMALL:
        step += 2
        term = -term * angle * angle / (step * (step - 1))
        total += term
    return total
