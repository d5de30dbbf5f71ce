"""HEALPix (Górski et al. 2005): the sphere in 12 * 4^order pixels of equal area, numbered along rings or nested.

The pixel is decided in decimal arithmetic with far more digits than any coordinate has, because a binary sine that
differs in its last bit between machines would give one place two addresses. With rational degrees, a point lies exactly
on a pixel's edge only where its sine is rational too, at latitudes 0, 30 and 90 (Niven); there the sine is exact.
"""

import math
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal, localcontext

from msgspec import Struct

# As in other implementations: the pixel numbers of order 29 fit into 63 bits.
HIGHEST_ORDER = 29

_CONTEXT = Context(prec=70, rounding=ROUND_HALF_EVEN)
# Rounding here, far above the error of the series, makes the sine of 30 degrees exactly one half.
_SINE_UNIT = Decimal(1).scaleb(-60)
_PI = Decimal("3.1415926535897932384626433832795028841971693993751058209749445923078164062862089986")
_RIGHT_ANGLE = Decimal(90)
_TWO_THIRDS_TIMES_3 = 2
_FACES = 12
# In which ring, and how far around, the southern corner of each base pixel lies, in units of half a base pixel.
_FACE_RING = (2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4)
_FACE_AROUND = (1, 3, 5, 7, 0, 2, 4, 6, 1, 3, 5, 7)


class Pixel(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pixel inside one of the 12 base pixels: `x` counts to the north-east, `y` to the north-west."""

    order: int
    face: int
    x: int
    y: int


def find_pixel(order: int, *, lat: Decimal, lon: Decimal) -> Pixel:
    """The pixel that holds a point given in degrees; latitudes are -90 to 90, longitudes any."""
    with localcontext(_CONTEXT):
        z = _sine_of_degrees(lat)
        # Quarter turns, 0 <= around < 4; Decimal's own remainder keeps the sign, so it is brought up by one turn.
        around = (lon / _RIGHT_ANGLE) % 4
        around = around + 4 if around < 0 else around
        if abs(z) * 3 <= _TWO_THIRDS_TIMES_3:
            return _equatorial(order, z, around)
        return _polar(order, z, around)


def nested_index(pixel: Pixel) -> int:
    """The bits of x and y in turn, below the base pixel: near neighbours mostly have near numbers."""
    return (pixel.face << 2 * pixel.order) + _spread(pixel.x) + 2 * _spread(pixel.y)


def nested_pixel(order: int, index: int) -> Pixel:
    inside = index & ((1 << 2 * order) - 1)
    return Pixel(order=order, face=index >> 2 * order, x=_gather(inside), y=_gather(inside >> 1))


def ring_index(pixel: Pixel) -> int:
    """Counted from the north pole along rings of equal latitude, eastwards."""
    side = 1 << pixel.order
    ring = _FACE_RING[pixel.face] * side - pixel.x - pixel.y - 1
    start, quarter, shift = _ring(side, ring)
    around = (_FACE_AROUND[pixel.face] * quarter + pixel.x - pixel.y + 1 + shift) // 2
    return start + (around - 1) % (4 * quarter)


def ring_pixel(order: int, index: int) -> Pixel:
    """The inverse of `ring_index`: find the ring, then the base pixel whose part of the ring holds the number."""
    side = 1 << order
    ring = _ring_of(side, index)
    start, quarter, shift = _ring(side, ring)
    for face in range(_FACES):
        # Both x + y and x - y follow from the ring and the place on it; a whole turn less is the same place.
        total = _FACE_RING[face] * side - ring - 1
        for turn in (0, -4 * quarter):
            difference = 2 * (index - start + 1 + turn) - _FACE_AROUND[face] * quarter - 1 - shift
            difference += (total - difference) % 2
            x, y = (total + difference) // 2, (total - difference) // 2
            if 0 <= x < side and 0 <= y < side:
                return Pixel(order=order, face=face, x=x, y=y)
    raise AssertionError(f"no base pixel holds ring pixel {index} of order {order}")


def corner_of(pixel: Pixel, x_step: int, y_step: int) -> tuple[float | None, float]:
    """A corner as quarter turns around, None at a pole, and the sine of its latitude; for drawing only.

    A step of 1 goes to the far side along that axis: (0, 0) is the southern corner, (1, 1) the northern one.
    """
    side = 1 << pixel.order
    x, y = (pixel.x + x_step) / side, (pixel.y + y_step) / side
    # How far below the north pole, in units of half a base pixel: the caps end at 1 and begin again at 3.
    down = _FACE_RING[pixel.face] - x - y
    width = min(1.0, down, 4 - down)
    z = (2 - down) * 2 / 3 if 1 <= down <= 3 else math.copysign(1 - width * width / 3, 2 - down)  # noqa: PLR2004 - as said
    around = None if width <= 0 else (_FACE_AROUND[pixel.face] * width + x - y) / (2 * width) % 4
    return around, z


def _sine_of_degrees(degrees: Decimal) -> Decimal:
    angle = degrees * _PI / 180
    term = total = angle
    step = 1
    while abs(term) > _SINE_UNIT.scaleb(-5):
        step += 2
        term = -term * angle * angle / (step * (step - 1))
        total += term
    return total.quantize(_SINE_UNIT)


def _equatorial(order: int, z: Decimal, around: Decimal) -> Pixel:
    """Between the polar caps both diagonals of the pixel grid are straight lines in (z, around)."""
    side = 1 << order
    middle, slope = side * (around + Decimal("0.5")), side * z * Decimal("0.75")
    falling, rising = _floor(middle - slope), _floor(middle + slope)
    x, y = rising % side, side - falling % side - 1
    falling_face, rising_face = falling // side, rising // side
    if falling_face == rising_face:
        return Pixel(order=order, face=falling_face % 4 + 4, x=x, y=y)
    if falling_face < rising_face:
        return Pixel(order=order, face=falling_face, x=x, y=y)
    return Pixel(order=order, face=rising_face + 8, x=x, y=y)


def _polar(order: int, z: Decimal, around: Decimal) -> Pixel:
    """In a cap the pixels of a quarter narrow towards the pole as sqrt(3 (1 - |z|))."""
    side = 1 << order
    quarter = _floor(around)
    within = around - quarter
    width = side * (3 * (1 - abs(z))).sqrt()
    west, east = min(_floor(within * width), side - 1), min(_floor((1 - within) * width), side - 1)
    if z > 0:
        return Pixel(order=order, face=quarter, x=side - east - 1, y=side - west - 1)
    return Pixel(order=order, face=quarter + 8, x=west, y=east)


def _ring(side: int, ring: int) -> tuple[int, int, int]:
    """The number of a ring's first pixel, a quarter of its length, and 1 where it starts half a pixel late."""
    if ring < side:
        return 2 * ring * (ring - 1), ring, 0
    if ring > 3 * side:
        quarter = 4 * side - ring
        return _FACES * side * side - 2 * quarter * (quarter + 1), quarter, 0
    return 2 * side * (side - 1) + 4 * side * (ring - side), side, (ring - side) & 1


def _ring_of(side: int, index: int) -> int:
    low, high = 1, 4 * side - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _ring(side, middle)[0] <= index else (low, middle - 1)
    return low


def _floor(value: Decimal) -> int:
    return int(value.to_integral_value(rounding=ROUND_FLOOR))


def _spread(value: int) -> int:
    return sum((value >> bit & 1) << 2 * bit for bit in range(value.bit_length()))


def _gather(value: int) -> int:
    return sum((value >> 2 * bit & 1) << bit for bit in range((value.bit_length() + 1) // 2))
