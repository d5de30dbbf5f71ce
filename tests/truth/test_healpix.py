"""HEALPix pixels agree with what is published about them and with an independent implementation."""

import json
from decimal import Decimal, localcontext
from fractions import Fraction
from math import asin, degrees
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.truth import _healpix
from assay.truth._healpix import Pixel, find_pixel, nested_index, nested_pixel, ring_index, ring_pixel

VECTORS = Path(__file__).parents[1] / "vectors" / "truth" / "healpix.json"
CASES = json.loads(VECTORS.read_text())["cases"]


def at(order: int, lat: float | str, lon: float | str) -> Pixel:
    return find_pixel(order, lat=Decimal(str(lat)), lon=Decimal(str(lon)))


def ring_centre(order: int, index: int) -> tuple[Fraction, Fraction]:
    """Centre of a ring pixel as (z, longitude in degrees), by equations 2 to 9 of Górski et al. 2005.

    On the equatorial rings the first centre is at longitude 0 or half a pixel after it, in turn: the paper's equation 9
    counts from the second one where s = 0, the software and the figures from the first.
    """
    side, count = 2**order, 12 * 4**order
    if index >= count - 2 * side * (side - 1):
        z, longitude = ring_centre(order, count - 1 - index)
        return -z, 360 - longitude
    if index < 2 * side * (side - 1):
        ring = next(i for i in range(1, side) if 2 * i * (i + 1) > index)
        place = index + 1 - 2 * ring * (ring - 1)
        return 1 - Fraction(ring * ring, 3 * side * side), Fraction(90, ring) * (place - Fraction(1, 2))
    rest = index - 2 * side * (side - 1)
    ring, place = rest // (4 * side) + side, rest % (4 * side) + 1
    shift = 1 if (ring - side) % 2 == 0 else 2
    return Fraction(4, 3) - Fraction(2 * ring, 3 * side), Fraction(90, side) * (place - Fraction(shift, 2))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['order']}:{case['lat']},{case['lon']}")
def test_an_independent_implementation_finds_the_same_pixels(case: dict[str, Any]) -> None:
    """Nested and ring numbers at orders 0 to 29."""
    pixel = at(case["order"], case["lat"], case["lon"])
    assert (nested_index(pixel), ring_index(pixel)) == (case["nested"], case["ring"])


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_every_centre_lies_in_its_own_pixel(order: int) -> None:
    """The published centres of all 12 * 4^order pixels, each found again by its number."""
    for index in range(12 * 4**order):
        z, longitude = ring_centre(order, index)
        pixel = at(order, degrees(asin(float(z))), float(longitude))
        assert ring_index(pixel) == index


def test_the_twelve_base_pixels_are_where_they_are_published() -> None:
    """Four around the north pole, four on the equator starting at longitude 0, four around the south pole."""
    north = [ring_index(at(0, 60, 45 + 90 * quarter)) for quarter in range(4)]
    middle = [ring_index(at(0, 0, 90 * quarter)) for quarter in range(4)]
    south = [ring_index(at(0, -60, 45 + 90 * quarter)) for quarter in range(4)]
    assert north + middle + south == list(range(12))


@pytest.mark.parametrize("order", [0, 1, 2, 4])
def test_both_numberings_name_every_pixel_once(order: int) -> None:
    """Each is a permutation of 0 to 12 * 4^order - 1, and goes back to the pixel it came from."""
    count = 12 * 4**order
    pixels = [nested_pixel(order, index) for index in range(count)]
    assert [nested_index(pixel) for pixel in pixels] == list(range(count))
    assert sorted(ring_index(pixel) for pixel in pixels) == list(range(count))
    assert all(ring_pixel(order, ring_index(pixel)) == pixel for pixel in pixels)


@given(order=st.integers(0, 29), place=st.floats(0, 1, exclude_max=True))
def test_ring_and_nested_numbers_lead_to_each_other_at_every_order(order: int, place: float) -> None:
    """Up to the highest order."""
    index = int(Fraction(place) * 12 * 4**order)
    assert nested_index(ring_pixel(order, ring_index(nested_pixel(order, index)))) == index
    assert ring_index(nested_pixel(order, nested_index(ring_pixel(order, index)))) == index


@pytest.mark.parametrize("order", [1, 5, 29])
@pytest.mark.parametrize("quarter", range(4))
def test_the_poles_are_the_first_and_last_rings(order: int, quarter: int) -> None:
    """At a pole any longitude is allowed, and picks one of the four pixels that meet there."""
    last = 12 * 4**order - 4
    assert ring_index(at(order, 90, 90 * quarter)) == quarter
    assert ring_index(at(order, -90, 90 * quarter)) == last + quarter


@given(
    order=st.integers(0, 28),
    lat=st.decimals(-90, 90, places=6),
    lon=st.decimals(-180, 180, places=6),
)
def test_a_pixel_lies_inside_its_parent(order: int, lat: Decimal, lon: Decimal) -> None:
    """Nested numbers of the next order are four to a pixel; a whole turn of longitude changes nothing."""
    pixel, child = find_pixel(order, lat=lat, lon=lon), find_pixel(order + 1, lat=lat, lon=lon)
    assert nested_index(child) // 4 == nested_index(pixel)
    assert find_pixel(order, lat=lat, lon=lon + 360) == pixel


def test_a_number_that_no_pixel_has_is_not_answered() -> None:
    """There are twelve base pixels, and the last is number 11."""
    with pytest.raises(AssertionError, match="no base pixel holds ring pixel 99"):
        ring_pixel(0, 99)


def test_points_on_an_edge_are_decided_exactly() -> None:
    """Latitudes 0 and 30 have rational sines, so a corner is a corner: the floor is taken of a whole number.

    By the published formula, at order 1 and latitude 0, longitude 0, both diagonals are exactly 1: x = 1, y = 0 in base
    pixel 4, which is number 17.
    """
    assert nested_index(at(1, 0, 0)) == 17
    assert nested_index(at(1, 0, 180)) == 25
    # At order 2 and latitude 30, side * z * 3/4 is exactly 3/2, and with longitude 22.5 the diagonals are 3/2 and 9/2.
    assert at(2, 30, "22.5") == Pixel(order=2, face=0, x=0, y=2)


def test_the_sine_is_right_to_more_digits_than_any_coordinate_has() -> None:
    """Half, one, and sine of 45 degrees squared is a half; pi is checked by Machin's formula in whole numbers."""
    with localcontext(_healpix._CONTEXT):
        sines = [_healpix._sine_of_degrees(Decimal(angle)) for angle in (0, 30, 90, -90, 45)]
    assert sines[:4] == [0, Decimal("0.5"), 1, -1]
    assert abs(Fraction(sines[4]) ** 2 - Fraction(1, 2)) < Fraction(1, 10**59)
    scale = 10**90
    machin = 4 * (4 * _arctan_inverse(5, scale) - _arctan_inverse(239, scale))
    assert abs(Fraction(_healpix._PI) - Fraction(machin, scale)) < Fraction(1, 10**79)


def _arctan_inverse(divisor: int, scale: int) -> int:
    total, power, step, sign = 0, scale // divisor, 1, 1
    while power:
        total += sign * (power // step)
        power //= divisor * divisor
        step, sign = step + 2, -sign
    return total
