"""The truth key (Kaori 5): the one address of a claim in space and time.

{domain}:{topic}:{spatial_system}:{spatial_id}:{z_index}:{time_bucket}
"""

import re
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct

from assay.truth.bucket import bucket_datetime, format_bucket
from assay.truth.errors import ArtefactIdError, LocationError, TruthError
from assay.truth.place import Artefact, HealpixScheme, IdStrategy, Location, artefact_id, h3_cell, healpix_pixel


class SpatialSystem(StrEnum):
    """How a place is written (Kaori 5.3)."""

    H3 = "h3"
    HEALPIX = "healpix"
    META = "meta"


# Kaori 5.4. A deployment adds domains of its own by an argument; these four it cannot change.
DOMAIN_SYSTEMS: Mapping[str, SpatialSystem] = MappingProxyType(
    {
        "earth": SpatialSystem.H3,
        "ocean": SpatialSystem.H3,
        "space": SpatialSystem.HEALPIX,
        "meta": SpatialSystem.META,
    }
)

_SYSTEMS = tuple(SpatialSystem)
_PARTS = ("domain", "topic", "spatial_system", "spatial_id", "z_index", "time_bucket")
_SEGMENT = re.compile(r"[a-z0-9._-]+", re.ASCII)
# From 3.14 on Python reads the hour 24 as the next day, which would give one bucket two names.
_BUCKET = re.compile(r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\dZ", re.ASCII)
_CLAIM_TYPE_ID = re.compile(r"([a-z0-9_-]+)\.([a-z0-9_-]+)(?:\.v[0-9]+)?", re.ASCII)


class TruthKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, order=True):
    """Six parts, each in its form, or refused; equal keys are equal texts.

    Kaori's four domains have their own spatial system and no other; a domain of a deployment's own may have any.
    """

    domain: str
    topic: str
    spatial_system: str
    spatial_id: str
    z_index: str
    time_bucket: str

    def __post_init__(self) -> None:
        for part in _PARTS[:-1]:
            if _SEGMENT.fullmatch(getattr(self, part)) is None:
                raise TruthError.key_form(f"expected {part} of `[a-z0-9._-]`, got `{getattr(self, part)[:80]}`")
        _spatial_system(self.domain, self.spatial_system, {})
        _require_bucket(self.time_bucket)


def parse_truth_key(text: str) -> TruthKey:
    """Split at the first five colons, since the bucket holds one itself; upper case is refused, never folded."""
    parts = text.split(":", len(_PARTS) - 1)
    if len(parts) != len(_PARTS):
        raise TruthError.key_form(f"expected six parts with `:` between them, got {len(parts)} in `{text[:80]}`")
    return TruthKey(**dict(zip(_PARTS, parts, strict=True)))


def render_truth_key(key: TruthKey) -> str:
    return f"{key.domain}:{key.topic}:{key.spatial_system}:{key.spatial_id}:{key.z_index}:{key.time_bucket}"


def parse_claim_type_id(text: str) -> tuple[str, str]:
    """Domain and topic of `namespace.name.vN` (Kaori 6.2); the version may be left out, and nothing else may be in."""
    match = _CLAIM_TYPE_ID.fullmatch(text)
    if match is None:
        raise TruthError.claim_type_id(
            f"expected `namespace.name` or `namespace.name.vN` in lower case, got `{text[:80]}`"
        )
    return match[1], match[2]


def build_truth_key(
    *,
    claim_type_id: str,
    event_time: datetime,
    location: Location | None = None,
    spatial_system: str | None = None,
    spatial_resolution: int = 8,
    healpix_scheme: HealpixScheme = HealpixScheme.NESTED,
    z_index: str = "surface",
    time_bucket_duration: str = "PT1H",
    id_strategy: str = "content_hash",
    content_hash: str | None = None,
    artifact_id: str | None = None,
    domain_systems: Mapping[str, str] | None = None,
) -> TruthKey:
    """The key of an event, from its own time and never from that of its receipt (Kaori 4.3).

    `domain_systems` adds domains to Kaori's four. `id_strategy` matters to the system `meta` alone.
    """
    domain, topic = parse_claim_type_id(claim_type_id)
    system = _spatial_system(domain, spatial_system, domain_systems or {})
    if system is SpatialSystem.META:
        named = Artefact(content_hash=content_hash, provided_id=artifact_id)
        spatial_id = artefact_id(named, _parse_strategy(id_strategy))
    else:
        spatial_id = _cell(system, _require_location(location), spatial_resolution, healpix_scheme)
    return TruthKey(
        domain=domain,
        topic=topic,
        spatial_system=system,
        spatial_id=spatial_id,
        z_index=z_index,
        time_bucket=format_bucket(bucket_datetime(event_time, time_bucket_duration)),
    )


def _spatial_system(domain: str, asked: str | None, added: Mapping[str, str]) -> SpatialSystem:
    """What the table says; a domain outside it may name its system, a domain inside it may only repeat it."""
    named = DOMAIN_SYSTEMS.get(domain) or added.get(domain)
    if named is not None and asked not in (None, named):
        raise TruthError.spatial_system(f"expected spatial system `{named}` for `{domain}`, got `{str(asked)[:80]}`")
    chosen = named or asked
    if chosen not in _SYSTEMS:
        raise TruthError.spatial_system(
            f"expected a spatial system of {', '.join(SpatialSystem)} for `{domain}`, got `{chosen}`"
        )
    return SpatialSystem(chosen)


def _cell(system: SpatialSystem, location: Location, resolution: int, scheme: HealpixScheme) -> str:
    if system is SpatialSystem.H3:
        return h3_cell(location, resolution)
    return healpix_pixel(location, resolution, scheme)


def _require_location(location: Location | None) -> Location:
    if location is None:
        raise LocationError("expected a location, since the spatial system is a place on a sphere, got none")
    return location


def _parse_strategy(text: str) -> IdStrategy:
    try:
        return IdStrategy(text)
    except ValueError as error:
        raise ArtefactIdError(f"expected a strategy of {', '.join(IdStrategy)}, got `{text[:80]}`") from error


def _require_bucket(text: str) -> None:
    if _BUCKET.fullmatch(text) is None:
        raise TruthError.key_form(f"expected time_bucket `YYYY-MM-DDTHH:MMZ`, got `{text[:80]}`")
    try:
        datetime.fromisoformat(text)
    except ValueError as error:
        raise TruthError.key_form(f"`{text}` is no moment: {error}") from error
