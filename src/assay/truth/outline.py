"""The outline of a key's place on the sphere, for maps: drawn from, never decided by.

H3 cell or HEALPix pixel -> corners as (longitude, latitude) in degrees, closed, counter-clockwise
"""

import math
from functools import lru_cache

from assay.truth._healpix import Pixel, corner_of, nested_pixel, ring_pixel
from assay.truth.contract import ContractFields
from assay.truth.errors import LocationError
from assay.truth.key import SpatialSystem, TruthKey
from assay.truth.place import HealpixScheme, h3_outline

Corner = tuple[float, float]
# About a centimetre, which is finer than any cell.
_PLACES = 7
_HALF_TURN = 180


def outline_of(contract: ContractFields, key: TruthKey) -> tuple[Corner, ...] | None:
    """None for an artefact, which has no place. An outline across longitude 180 goes on beyond it, in one piece."""
    policy = contract.truthkey
    if key.spatial_system == SpatialSystem.META:
        return None
    if key.spatial_system == SpatialSystem.H3:
        return _closed(h3_outline(key.spatial_id))
    return _healpix_outline(policy.resolution or 0, policy.scheme or HealpixScheme.NESTED, key.spatial_id)


@lru_cache(maxsize=1 << 12)
def _healpix_outline(order: int, scheme: HealpixScheme, spatial_id: str) -> tuple[Corner, ...]:
    """South, east, north, west."""
    if not spatial_id.isdecimal() or int(spatial_id) >= 12 << 2 * order:
        raise LocationError(f"expected a HEALPix pixel of order {order}, got `{spatial_id[:80]}`")
    pixel = _pixel(order, scheme, int(spatial_id))
    corners = [corner_of(pixel, *step) for step in ((0, 0), (1, 0), (1, 1), (0, 1))]
    # A corner at a pole has every longitude; it takes that of the corner opposite to it.
    turned = [
        (corners[(place + 2) % 4][0] if around is None else around, z) for place, (around, z) in enumerate(corners)
    ]
    return _closed(tuple((math.degrees(math.asin(z)), 90.0 * (around or 0.0)) for around, z in turned))


def _pixel(order: int, scheme: HealpixScheme, index: int) -> Pixel:
    return nested_pixel(order, index) if scheme is HealpixScheme.NESTED else ring_pixel(order, index)


def _closed(corners: tuple[tuple[float, float], ...]) -> tuple[Corner, ...]:
    """From (latitude, longitude) to a ring of (longitude, latitude)."""
    turned = [(lat, lon - 2 * _HALF_TURN if lon > _HALF_TURN else lon) for lat, lon in corners]
    longitudes = [lon for _, lon in turned]
    if max(longitudes) - min(longitudes) > _HALF_TURN:
        turned = [(lat, lon + 2 * _HALF_TURN if lon < 0 else lon) for lat, lon in turned]
    ring = [(round(lon, _PLACES), round(lat, _PLACES)) for lat, lon in turned]
    return (*ring, ring[0])
