"""Which observations belong to a key and bring the evidence that the contract asks for.

observations, in any order and number -> each once, by hash -> those that belong -> those with evidence
One that does not belong is neutral: it changes nothing but a flag. Nothing here looks at who reported it.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import lru_cache

from msgspec import Struct

from assay.kernel.instant import Instant, instant_of
from assay.truth._moment import later
from assay.truth.bucket import bucket_datetime, format_bucket, parse_bucket_duration
from assay.truth.contract import Contract, EvidencePolicy
from assay.truth.errors import ArtefactIdError, InputsMismatchError
from assay.truth.flag import Flag
from assay.truth.key import SpatialSystem, TruthKey, parse_claim_type_id, render_truth_key
from assay.truth.observation import HashedObservation, Observation, render_observation
from assay.truth.place import Artefact, HealpixScheme, IdStrategy, Location, artefact_id, h3_cell, healpix_pixel
from assay.truth.uri import uri_scheme

__all__ = ["Admitted", "admit_observations", "bucket_bounds", "distinct_observations", "require_key"]

_NOBODY = Artefact()
_IsHere = Callable[[Observation], bool]


class Admitted(Struct, frozen=True, gc=False):
    """An observation of the key, with the SHA-256 of those pieces of its evidence that count."""

    hashed: HashedObservation
    evidence: tuple[str, ...]


def require_key(contract: Contract, key: TruthKey) -> None:
    """Raise unless the contract could have built the key, its bucket included."""
    policy = contract.truthkey
    expected = (*parse_claim_type_id(contract.id), policy.spatial_system.value, policy.z_index)
    is_aligned = _is_aligned(key.time_bucket, policy.time_bucket)
    if (key.domain, key.topic, key.spatial_system, key.z_index) != expected or not is_aligned:
        raise InputsMismatchError(f"expected a key as `{contract.id}` builds it, got `{render_truth_key(key)}`")


@lru_cache(maxsize=1 << 10)
def _is_aligned(time_bucket: str, length: str) -> bool:
    return format_bucket(bucket_datetime(datetime.fromisoformat(time_bucket), length)) == time_bucket


def bucket_bounds(contract: Contract, key: TruthKey) -> tuple[Instant, Instant]:
    """From the first up to, and not including, the second."""
    return _bounds(key.time_bucket, contract.truthkey.time_bucket)


@lru_cache(maxsize=1 << 10)
def _bounds(time_bucket: str, length: str) -> tuple[Instant, Instant]:
    start = instant_of(datetime.fromisoformat(time_bucket))
    return start, later(start, parse_bucket_duration(length))


def distinct_observations(observations: Iterable[HashedObservation]) -> list[HashedObservation]:
    """Each once, by hash.

    Media types are not in the hash: of two that differ only there, the one with the smaller bytes stands, so that the
    order in which they came does not matter.
    """
    kept: dict[str, HashedObservation] = {}
    for hashed in observations:
        other = kept.setdefault(hashed.observation_hash, hashed)
        if other is not hashed and other.observation != hashed.observation:
            kept[hashed.observation_hash] = min(other, hashed, key=_bytes_of)
    return [kept[one] for one in sorted(kept)]


def _bytes_of(hashed: HashedObservation) -> bytes:
    return render_observation(hashed.observation)


def admit_observations(
    contract: Contract, key: TruthKey, observations: Iterable[HashedObservation], compile_time: Instant
) -> tuple[list[Admitted], set[Flag]]:
    """Those of the contract's claim type, cell and bucket, reported by now, with the evidence it asks for."""
    admitted: list[Admitted] = []
    flags: set[Flag] = set()
    is_here, evidence_of = _place_test(contract, key), _evidence_rule(contract.evidence)
    start, end = bucket_bounds(contract, key)
    for hashed in observations:
        observation = hashed.observation
        if observation.claim_type != contract.id:
            flags.add(Flag.FOREIGN_CLAIM_TYPE)
        elif not start <= observation.reported_at < end or not is_here(observation):
            flags.add(Flag.WRONG_KEY)
        elif observation.reported_at > compile_time:
            flags.add(Flag.FUTURE_OBSERVATION)
        elif (evidence := evidence_of(observation)) is None:
            flags.add(Flag.EVIDENCE_REFUSED)
        else:
            admitted.append(Admitted(hashed, evidence))
    return admitted, flags


def _place_test(contract: Contract, key: TruthKey) -> _IsHere:
    """Whether `address_observation` would give the key's place; bucket and claim type are tested beside it."""
    policy, place = contract.truthkey, key.spatial_id
    if policy.spatial_system is SpatialSystem.META:
        strategy = policy.id_strategy or IdStrategy.CONTENT_HASH
        return lambda observation: _name(observation.artifact or _NOBODY, strategy) == place
    resolution, scheme = policy.resolution or 0, policy.scheme
    return lambda observation: observation.geo is not None and _cell(observation.geo, resolution, scheme) == place


def _name(artefact: Artefact, strategy: IdStrategy) -> str | None:
    try:
        return artefact_id(artefact, strategy)
    except ArtefactIdError:
        return None


# Sensors stand still and late observations compile their key again: most places are asked for more than once.
@lru_cache(maxsize=1 << 16)
def _cell(place: Location, resolution: int, scheme: HealpixScheme | None) -> str:
    return h3_cell(place, resolution) if scheme is None else healpix_pixel(place, resolution, scheme)


def _evidence_rule(policy: EvidencePolicy) -> Callable[[Observation], tuple[str, ...] | None]:
    """Pieces of another type or from another storage do not count; too few or too many give None."""
    schemes = None if policy.storage is None else frozenset(policy.storage.uri_schemes)
    # Most addresses are written in their normal form; the others are asked for their scheme.
    starts = () if schemes is None else tuple(f"{scheme}:" for scheme in schemes)
    admits = lru_cache(maxsize=None)(policy.admits)
    least, most = policy.min_count, policy.max_count

    def counted(observation: Observation) -> tuple[str, ...] | None:
        pieces: dict[str, None] = {}
        for ref in observation.evidence_refs:
            is_stored = schemes is None or ref.uri.startswith(starts) or uri_scheme(ref.uri) in schemes
            if is_stored and admits(ref.mime_type):
                pieces[ref.sha256] = None
        return tuple(pieces) if least <= len(pieces) <= most else None

    return counted
