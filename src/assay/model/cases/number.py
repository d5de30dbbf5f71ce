"""Numbers of all magnitudes, and numbers to compare them with: equal, a hair away, alike, or unrelated."""

import math
from decimal import Decimal

from assay.model.cases.draw import Draw

# The largest, the smallest, and where the spelling of a number changes.
_EDGES = (1.7976931348623157e308, 2.2250738585072014e-308, 5e-324, 2**53 - 1, 1e21, 9.999999999999999e22, 1e-7, 1e-6)


def _plain_number(value: Decimal) -> int | float:
    """As a record writes it; a number that binary64 would change is cut until it does not."""
    if 2**53 <= abs(value) < Decimal("1e21"):  # a canonical text has these as integers, beyond those that are exact
        value = value.scaleb(-7)
    for digits in (17, 15, 12, 6):
        rounded = +value if digits == 17 else Decimal(f"{value:.{digits - 1}e}")
        if rounded == rounded.to_integral_value() and abs(rounded) < 2**53:
            return int(rounded)
        number = float(rounded)
        if Decimal(repr(number)) == rounded:
            return number
    number = float(f"{value:.5e}")
    return number if math.isfinite(number) else math.copysign(_EDGES[0], number)


def _next_number(number: float, towards: float) -> int | float:
    """The neighbour in binary64, from which it differs in the last of up to seventeen digits."""
    found = math.nextafter(number, towards)
    return _plain_number(Decimal(repr(found))) if math.isfinite(found) else number


def draw_number(rng: Draw) -> int | float:
    style = rng.random()
    if style < 0.08:
        return rng.choice((0, 1, 10, 100, 0.1, -1, 1000, 0.5))
    if style < 0.09:
        return rng.choice(_EDGES) * rng.choice((1, 1, -1))
    if style < 0.16:
        value = Decimal(rng.randint(1, 10 ** rng.choice((rng.randint(1, 9), rng.randint(10, 17)))))
        return _plain_number(value.scaleb(rng.randint(-300, 290)) * rng.choice((1, 1, -1)))
    digits = rng.randint(1, 7) if style < 0.8 else rng.randint(8, 15)
    value = Decimal(rng.randint(0, 10**digits - 1)).scaleb(-rng.choice((0, 0, 1, 2, 3, rng.randint(0, digits + 3))))
    return _plain_number(-value if rng.random() < 0.2 else value)


def _parted(rng: Draw, value: Decimal, places: int) -> Decimal:
    """The same digits up to some place, and any from there on."""
    sign, digits, _ = value.as_tuple()
    place = rng.randint(0, max(len(digits) - 1, 0))
    others = [rng.randint(0, 9) for _ in digits[place:]]
    return Decimal((sign, (*digits[:place], *others), places))


def _stepped(rng: Draw, value: Decimal, places: int) -> Decimal:
    """One digit of it changed, and what is carried."""
    width = max(len(value.as_tuple().digits), 1)
    return value + Decimal(rng.randint(1, 9) * rng.choice((1, -1))).scaleb(places + rng.randint(0, width))


def draw_beside(rng: Draw, other: float) -> int | float:
    """A number to compare with another: equal, a hair away, alike at the start, negated, scaled, or unrelated."""
    style, value = rng.random(), Decimal(repr(other))
    if style < 0.25:
        return other
    if style < 0.3:
        return _next_number(other, rng.choice((math.inf, -math.inf)))
    exponent = value.as_tuple().exponent
    places = exponent if isinstance(exponent, int) else 0
    if style < 0.5:
        step = Decimal(rng.choice((1, -1))).scaleb(places - rng.choice((0, 0, 0, 1, 2, 3)))
        return _plain_number(value + step)
    if style < 0.75:
        return _plain_number(_parted(rng, value, places) if style < 0.63 else _stepped(rng, value, places))
    if style < 0.87:
        return _plain_number(-value if style < 0.8 else value.scaleb(rng.choice((-2, -1, 1, 2))))
    return draw_number(rng)
