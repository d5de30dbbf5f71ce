"""Outlines: where a cell is drawn is where its places are."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.truth.address import address_observation
from assay.truth.contract import Contract
from assay.truth.errors import LocationError
from assay.truth.key import TruthKey, parse_truth_key
from assay.truth.outline import outline_of
from assay.truth.place import HealpixScheme, Location, healpix_pixel
from tests.truth.compiling import KEY, flood, observed
from tests.truth.records import contract


def _sky(pixel: str) -> TruthKey:
    return parse_truth_key(f"space:orbital_debris:healpix:{pixel}:orbital_shell:2026-01-07T12:00Z")


def _debris(order: int, scheme: str = "nested") -> Contract:
    return flood({"truthkey.resolution": order, "truthkey.scheme": scheme}, name="orbital_debris_v1")


def _middle(ring: tuple[tuple[float, float], ...]) -> Location:
    """Of the corners; in z, since HEALPix pixels are straight there."""
    corners = ring[:-1]
    z = sum(math.sin(math.radians(lat)) for _, lat in corners) / len(corners)
    lon = sum(lon for lon, _ in corners) / len(corners)
    return Location(lat=math.degrees(math.asin(z)), lon=(lon + 180) % 360 - 180)


def test_an_h3_cell_has_the_place_inside_its_outline() -> None:
    """Six corners and the first again, as (longitude, latitude)."""
    ring = outline_of(flood(), parse_truth_key(KEY))
    assert ring is not None
    assert (len(ring), ring[0]) == (7, ring[-1])
    key = address_observation(flood(), observed("user:ann").observation)
    assert key.spatial_id == parse_truth_key(KEY).spatial_id
    longitudes, latitudes = [lon for lon, _ in ring], [lat for _, lat in ring]
    assert min(longitudes) < 73.509 < max(longitudes)
    assert min(latitudes) < 4.175 < max(latitudes)


@given(order=st.integers(0, 6), part=st.floats(0, 1, exclude_max=True), scheme=st.sampled_from(list(HealpixScheme)))
def test_the_middle_of_a_pixels_outline_lies_in_the_pixel(order: int, part: float, scheme: HealpixScheme) -> None:
    """For every pixel of both numberings, those at the poles and across longitude 180 too."""
    index = int(part * (12 << 2 * order))
    ring = outline_of(_debris(order, scheme.value), _sky(str(index)))
    assert ring is not None
    assert (len(ring), ring[0]) == (5, ring[-1])
    if max(abs(lat) for _, lat in ring) < 89.9:
        assert healpix_pixel(_middle(ring), order, scheme) == str(index)
    assert max(lon for lon, _ in ring) - min(lon for lon, _ in ring) <= 180


def test_base_pixels_have_their_corners_where_the_specification_puts_them() -> None:
    """Pixel 0 of order 0 reaches from longitude 0 to 90 and from the equator to the pole."""
    ring = outline_of(_debris(0), _sky("0"))
    assert ring is not None
    assert {(round(lon), round(lat)) for lon, lat in ring} == {(45, 0), (90, 42), (45, 90), (0, 42)}


def test_an_artefact_has_no_place() -> None:
    key = parse_truth_key("meta:research_artifact:meta:abc123:knowledge:2026-01-07T00:00Z")
    assert outline_of(contract("research_artifact_v1"), key) is None


@pytest.mark.parametrize("pixel", ["abc", "12", "-1"])
def test_what_is_no_pixel_has_no_outline(pixel: str) -> None:
    with pytest.raises(LocationError):
        outline_of(_debris(0), _sky(pixel))


def test_what_is_no_cell_has_no_outline() -> None:
    with pytest.raises(LocationError):
        outline_of(flood(), parse_truth_key(KEY.replace("886142a8e7fffff", "0000")))
