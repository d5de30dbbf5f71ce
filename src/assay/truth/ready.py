"""An observation made ready for a contract: everything about it that no key, snapshot or compile time can change.

observation + contract -> ReadyObservation, once, when it arrives or is read from a store
Compiling a key is then counting: no place is looked up, no address parsed and no payload walked again.
"""

from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple, Self

from assay.kernel.instant import Instant
from assay.truth._moment import EPOCH, microseconds
from assay.truth.bucket import bucket_datetime, format_bucket
from assay.truth.contract import Contract, EvidencePolicy, TruthKeyPolicy
from assay.truth.errors import ArtefactIdError, BucketRangeError, LocationError
from assay.truth.fit import Fit, fit_readings
from assay.truth.key import SpatialSystem, parse_claim_type_id
from assay.truth.observation import HashedObservation, Observation
from assay.truth.place import Artefact, IdStrategy, Location, artefact_id, h3_cell, healpix_pixel
from assay.truth.reading import ReadingPlan, read_payload
from assay.truth.uri import uri_scheme

# After every instant there is.
RECEIVED_LAST = 1 << 63

_NOBODY = Artefact()
_MINUTE = 60_000_000


class _Row(NamedTuple):
    claim_type_hash: str
    observation_hash: str
    truthkey: str
    reported: int
    reporter_id: str
    observation_id: str
    evidence: tuple[str, ...] | None
    texts: tuple[str | None, ...]
    numbers: tuple[int | None, ...]
    received: int
    is_misfit: bool
    hashed: HashedObservation


class ReadyObservation(_Row):
    """Made by `prepare_observation` alone, under the contract with this hash; under any other it is made again.

    `truthkey` is its address, empty for a foreign claim type or where the contract gives it none. `reported` is
    `reported_at` in microseconds since 1970, `received` when it reached us, `RECEIVED_LAST` where nobody knows.
    `evidence` are the pieces that count, or None where the contract refuses them. `texts` and `numbers` are what it
    says at the paths that the contract reads, where a claim could say it; `is_misfit` where something could not stand.
    """

    __slots__ = ()

    def __new__(cls, *_given: object, **_named: object) -> Self:
        """Refused: whoever could write a row could write a claim (law 1)."""
        raise TypeError("expected `prepare_observation` to make it, since it follows from an observation alone")

    @classmethod
    def _make(cls, given: Iterable[object]) -> Self:  # type: ignore[override]  # as a tuple has it, said in fewer words
        """Refused like making one, and with it `_replace`."""
        return cls(*given)

    @property
    def moment(self) -> tuple[int, str]:
        """What observations are sorted by: when they were reported; at one instant, their hashes."""
        return self.reported, self.observation_hash

    @property
    def arrival(self) -> tuple[int, str]:
        """What arrivals are sorted by: when they reached us, which nobody can choose; at one instant, their hashes."""
        return self.received, self.observation_hash


class _Kit(NamedTuple):
    """What making ready asks of a contract, worked out once for all its observations."""

    plan: ReadingPlan
    fit: Fit
    address: Callable[[Observation, int], str]
    evidence: Callable[[Observation], tuple[str, ...] | None]


_KIT = "_ready_kit"


def _kit_of(contract: Contract) -> _Kit:
    """Kept with the contract itself, as its own cached properties are; no part of its value or bytes."""
    kept = vars(contract).get(_KIT)
    if isinstance(kept, _Kit):
        return kept
    plan = contract.reading_plan
    kit = _Kit(
        plan,
        fit_readings(plan, contract.claim_derivation, contract.schema_text),
        _addresses(contract),
        _evidence_rule(contract.evidence),
    )
    vars(contract)[_KIT] = kit
    return kit


def prepare_observation(contract: Contract, observation: HashedObservation | ReadyObservation) -> ReadyObservation:
    """Ready for this contract; refuses nothing, since what does not belong is told by the compiler."""
    hashed = observation.hashed if isinstance(observation, ReadyObservation) else observation
    said, kit = hashed.observation, _kit_of(contract)
    is_ours, reported = said.claim_type == contract.id, microseconds(said.reported_at)
    read, is_misfit = kit.fit(read_payload(kit.plan, said.payload if is_ours else {}))
    # In the order of `_Row`, by place: names would cost as much again as all the rest of it.
    row = (
        contract.claim_type_hash,
        hashed.observation_hash,
        kit.address(said, reported) if is_ours else "",
        reported,
        said.reporter_id,
        said.observation_id,
        kit.evidence(said) if is_ours else None,
        read.texts,
        read.numbers,
        RECEIVED_LAST if hashed.received_at is None else microseconds(hashed.received_at),
        is_misfit,
        hashed,
    )
    return tuple.__new__(ReadyObservation, row)


def _addresses(contract: Contract) -> Callable[[Observation, int], str]:
    """What `address_observation` gives, without building a key; empty where that refuses.

    Sensors stand still, reports of one event share their hour, and late ones compile their key again: most places and
    buckets are asked for more than once.
    """
    policy, (domain, topic) = contract.truthkey, parse_claim_type_id(contract.id)
    start, is_meta = f"{domain}:{topic}:{policy.spatial_system}", policy.spatial_system is SpatialSystem.META

    # By the minute, which no bucket is shorter than.
    @lru_cache(maxsize=1 << 12)
    def bucket(minute: int) -> str:
        moment = Instant(EPOCH + timedelta(minutes=minute))
        return format_bucket(bucket_datetime(moment, policy.time_bucket))

    @lru_cache(maxsize=1 << 16)
    def place(where: Location | Artefact | None) -> str:
        return _place(policy, where)

    def address(observation: Observation, reported: int) -> str:
        where = observation.artifact or _NOBODY if is_meta else observation.geo
        try:
            return f"{start}:{place(where)}:{policy.z_index}:{bucket(reported // _MINUTE)}"
        except (ArtefactIdError, BucketRangeError, LocationError):
            return ""

    return address


def _place(policy: TruthKeyPolicy, where: Location | Artefact | None) -> str:
    if isinstance(where, Artefact):
        return artefact_id(where, policy.id_strategy or IdStrategy.CONTENT_HASH)
    if where is None:
        raise LocationError("expected a location, got none")
    resolution = policy.resolution or 0
    return h3_cell(where, resolution) if policy.scheme is None else healpix_pixel(where, resolution, policy.scheme)


def _evidence_rule(policy: EvidencePolicy) -> Callable[[Observation], tuple[str, ...] | None]:
    """Pieces of another type or from another storage do not count; too few or too many give None."""
    schemes = None if policy.storage is None else frozenset(policy.storage.uri_schemes)
    # Most addresses are written in their normal form; the others are asked for their scheme.
    starts = () if schemes is None else tuple(f"{scheme}:" for scheme in schemes)
    admits = lru_cache(maxsize=1 << 10)(policy.admits)
    least, most = policy.min_count, policy.max_count

    def counted(observation: Observation) -> tuple[str, ...] | None:
        pieces: dict[str, None] = {}
        for ref in observation.evidence_refs:
            is_stored = schemes is None or ref.uri.startswith(starts) or uri_scheme(ref.uri) in schemes
            if is_stored and admits(ref.mime_type):
                pieces[ref.sha256] = None
        return tuple(pieces) if least <= len(pieces) <= most else None

    return counted
