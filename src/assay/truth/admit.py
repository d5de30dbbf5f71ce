"""Which observations belong to a key and bring the evidence that the contract asks for.

ready observations, in any order and number -> each once, by hash -> those that belong -> those with evidence
One that does not belong is neutral: it changes nothing but a flag. Nothing here looks at who reported it.
"""

from datetime import datetime
from functools import lru_cache

from assay.kernel.instant import Instant, instant_of
from assay.truth._moment import later, microseconds
from assay.truth.bucket import bucket_datetime, format_bucket, parse_bucket_duration
from assay.truth.contract import Contract
from assay.truth.errors import InputsMismatchError
from assay.truth.flag import Flag
from assay.truth.key import TruthKey, parse_claim_type_id, render_truth_key
from assay.truth.observation import Observation, render_observation
from assay.truth.ready import Columns

__all__ = ["admit_observations", "bucket_bounds", "distinct_observations", "require_key"]


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


def distinct_observations(given: Columns) -> Columns:
    """Each once, by hash.

    Media types are not in the hash: of two that differ only there, the one with the smaller bytes stands, so that the
    order in which they came does not matter.
    """
    places = {hash_: place for place, hash_ in enumerate(given.observation_hash)}
    if len(places) == len(given.observation_hash):
        return given
    for place, hash_ in enumerate(given.observation_hash):
        if given.hashed[places[hash_]].observation != given.hashed[place].observation:
            places[hash_] = min(places[hash_], place, key=lambda one: render_observation(given.hashed[one].observation))
    return given.only(places[hash_] == place for place, hash_ in enumerate(given.observation_hash))


def admit_observations(
    contract: Contract, truthkey: str, given: Columns, compile_time: Instant
) -> tuple[Columns, set[Flag]]:
    """Those of the contract's claim type, cell and bucket, reported by now, with the evidence it asks for."""
    now = microseconds(compile_time)
    if (
        given.truthkey.count(truthkey) == len(given.truthkey)
        and max(given.reported, default=now) <= now
        and None not in given.evidence
    ):
        return given, set()
    doubts = [
        _doubt(
            contract, hashed.observation, is_here=key == truthkey, is_known=reported <= now, has=evidence is not None
        )
        for hashed, key, reported, evidence in zip(
            given.hashed, given.truthkey, given.reported, given.evidence, strict=True
        )
    ]
    return given.only(doubt is None for doubt in doubts), {doubt for doubt in doubts if doubt is not None}


def _doubt(contract: Contract, observation: Observation, *, is_here: bool, is_known: bool, has: bool) -> Flag | None:
    """Why an observation is not admitted; the first reason that applies."""
    if observation.claim_type != contract.id:
        return Flag.FOREIGN_CLAIM_TYPE
    if not is_here:
        return Flag.WRONG_KEY
    if not is_known:
        return Flag.FUTURE_OBSERVATION
    return None if has else Flag.EVIDENCE_REFUSED
