"""Which observations belong to a key and bring the evidence that the contract asks for.

gathered observations -> those that belong -> those with evidence -> those that came in time
One that does not belong is neutral: it changes nothing but a flag. Nothing here looks at who reported it.
"""

from collections.abc import Collection
from datetime import datetime
from functools import lru_cache

from assay.kernel.instant import Instant, instant_of
from assay.truth._moment import later, microseconds
from assay.truth.bucket import bucket_datetime, format_bucket, parse_bucket_duration
from assay.truth.contract import Contract
from assay.truth.errors import StateError
from assay.truth.flag import Flag
from assay.truth.gather import Gathered
from assay.truth.key import TruthKey, parse_claim_type_id, render_truth_key
from assay.truth.ready import RECEIVED_LAST, ReadyObservation
from assay.truth.window import Window


def require_key(contract: Contract, key: TruthKey) -> None:
    """Raise unless the contract could have built the key, its bucket included."""
    policy = contract.truthkey
    expected = (*_domain_and_topic(contract.id), policy.spatial_system, policy.z_index)
    is_aligned = _is_aligned(key.time_bucket, policy.time_bucket)
    if (key.domain, key.topic, key.spatial_system, key.z_index) != expected or not is_aligned:
        raise StateError.inputs_mismatch(f"expected a key as `{contract.id}` builds it, got `{render_truth_key(key)}`")


_domain_and_topic = lru_cache(maxsize=1 << 8)(parse_claim_type_id)


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


def admit_observations(
    contract: Contract, truthkey: str, given: Gathered, compile_time: Instant
) -> tuple[Gathered, set[Flag]]:
    """Those of the contract's claim type, cell and bucket, reported by now, with the evidence it asks for."""
    now = microseconds(compile_time)
    if given.key == truthkey and given.latest <= now:
        return given, set()
    doubts = [_doubt(contract, truthkey, row, now) for row in given.rows]
    return given.only(doubt is None for doubt in doubts), {doubt for doubt in doubts if doubt is not None}


def _doubt(contract: Contract, truthkey: str, row: ReadyObservation, now: int) -> Flag | None:
    """Why an observation is not admitted; the first reason that applies."""
    if row.hashed.observation.claim_type != contract.id:
        return Flag.FOREIGN_CLAIM_TYPE
    if row.truthkey != truthkey:
        return Flag.WRONG_KEY
    if row.reported > now:
        return Flag.FUTURE_OBSERVATION
    return Flag.EVIDENCE_REFUSED if row.evidence is None else None


def drop_late(
    admitted: Gathered,
    window: Window | None,
    sealed_at: Instant | None,
    compile_time: Instant,
    late: Collection[str] = (),
) -> tuple[Gathered, set[Flag]]:
    """The end of a round seals its evidence, and so does people's final answer; what came after waits for the next.

    By when it reached us, and by `late`, the hashes of what the ledger has after the answer, whatever its clock said.
    """
    is_over = window is not None and not window.is_aborted and (sealed_at is not None or compile_time >= window.end)
    if window is None or not (is_over or late):
        return admitted, set()
    end = microseconds(window.end) if is_over else RECEIVED_LAST + 1
    seal = RECEIVED_LAST if sealed_at is None else microseconds(sealed_at)
    timely = [row.received < end and row.received <= seal and row.observation_hash not in late for row in admitted.rows]
    return (admitted, set()) if all(timely) else (admitted.only(timely), {Flag.LATE_OBSERVATION})
