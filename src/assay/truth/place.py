"""Where a truth holds: the cell of a place on the sphere, or the name of an artefact that has no place."""

import re
from decimal import Decimal
from enum import StrEnum
from typing import Any

from msgspec import Struct

from assay.identity.problem import shortened
from assay.truth._healpix import HIGHEST_ORDER, find_pixel, nested_index, ring_index
from assay.truth.errors import ArtefactIdError, LocationError, TruthError

_HIGHEST_LATITUDE = 90
_HIGHEST_LONGITUDE = 180
_HIGHEST_H3 = 15
_HASH_LENGTH = 32
_SEGMENT = re.compile(r"[a-z0-9._-]+", re.ASCII)


class HealpixScheme(StrEnum):
    """How pixels are numbered; the contract names it, since one number means two places."""

    NESTED = "nested"
    RING = "ring"


class IdStrategy(StrEnum):
    """What names an artefact (Kaori 5.5)."""

    CONTENT_HASH = "content_hash"
    PROVIDED_ID = "provided_id"
    HYBRID = "hybrid"


class Location(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Degrees north and east; for the sky, declination and right ascension brought into -180 to 180."""

    lat: float
    lon: float

    def __post_init__(self) -> None:
        _require_degrees("lat", self.lat, _HIGHEST_LATITUDE)
        _require_degrees("lon", self.lon, _HIGHEST_LONGITUDE)


class Artefact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an artefact may be named; an empty text counts as none."""

    content_hash: str | None = None
    provided_id: str | None = None


def h3_cell(location: Location, resolution: int) -> str:
    """The H3 cell; without the library there is no key, and certainly no made-up one."""
    _require_resolution(resolution, _HIGHEST_H3)
    return str(_h3().latlng_to_cell(location.lat, location.lon, resolution))


def h3_outline(cell: str) -> tuple[tuple[float, float], ...]:
    """The corners of a cell as (latitude, longitude), counter-clockwise; a text that is no cell is refused."""
    h3 = _h3()
    if not h3.is_valid_cell(cell):
        raise LocationError(f"expected an H3 cell, got `{cell[:80]}`")
    return tuple((float(lat), float(lon)) for lat, lon in h3.cell_to_boundary(cell))


def healpix_pixel(location: Location, order: int, scheme: HealpixScheme) -> str:
    """The HEALPix pixel number; the order is of NSIDE = 2^order. Coordinates count as their shortest decimal text."""
    _require_resolution(order, HIGHEST_ORDER)
    pixel = find_pixel(order, lat=Decimal(str(location.lat)), lon=Decimal(str(location.lon)))
    return str(nested_index(pixel) if scheme is HealpixScheme.NESTED else ring_index(pixel))


def artefact_id(artefact: Artefact, strategy: IdStrategy) -> str:
    """Lower-cased; a content hash is cut to 32 characters, a provided id is kept whole."""
    by_hash = (artefact.content_hash or "").lower()[:_HASH_LENGTH]
    by_id = (artefact.provided_id or "").lower()
    chosen = {
        IdStrategy.CONTENT_HASH: by_hash,
        IdStrategy.PROVIDED_ID: by_id,
        IdStrategy.HYBRID: by_hash or by_id,
    }[strategy]
    if _SEGMENT.fullmatch(chosen) is None:
        raise ArtefactIdError(f"expected a {strategy} of `[a-z0-9._-]`, got `{chosen[:80]}`")
    return chosen


def _h3() -> Any:  # noqa: ANN401  a library without types
    try:
        import h3  # type: ignore[import-untyped]  # noqa: PLC0415  ships no types; loaded only for a place
    except ImportError as error:
        raise TruthError.geo_library_missing(
            "expected the package `h3` to be installed, since the key has an H3 cell"
        ) from error
    return h3


def _require_degrees(name: str, value: float, highest: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise LocationError(f"expected `{name}` in degrees, got {type(value).__name__}")
    # NaN lies in no range, and the infinities outside this one.
    if not -highest <= value <= highest:
        raise LocationError(f"expected `{name}` from -{highest} to {highest}, got `{shortened(value)}`")


def _require_resolution(resolution: int, highest: int) -> None:
    if type(resolution) is not int or not 0 <= resolution <= highest:
        raise TruthError.resolution(f"expected a resolution from 0 to {highest}, got `{shortened(resolution)}`")
