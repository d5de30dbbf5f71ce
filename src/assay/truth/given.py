"""What a truth state is compiled from: every input, each thing once, held against the contract and the clock.

contract, key, snapshot, observations, votes, scores, fingerprints, window events, times -> Given -> CompileInputs
Records are sorted by hash here: neither their order nor their number can matter after this (laws 2 and 7).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import TypeVar

from msgspec import Struct

from assay.kernel.instant import Instant, instant_of, render_instant
from assay.truth.ai_score import AiScore, ai_score_hash
from assay.truth.contract import Contract
from assay.truth.errors import NumberFormError, SigningTimeError, StateError
from assay.truth.evidence import Fingerprint, Resemblance, fingerprint_hash
from assay.truth.gather import Gathered
from assay.truth.key import TruthKey
from assay.truth.number import exact_number
from assay.truth.snapshot import TrustSnapshot
from assay.truth.state import CompileInputs
from assay.truth.vote import Vote, vote_hash
from assay.truth.window import WindowEvent, window_event_hash

_Record = TypeVar("_Record", Vote, AiScore, Fingerprint | Resemblance, WindowEvent)
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}", re.ASCII)


class Given(Struct, frozen=True, kw_only=True):
    """Everything the compiler may look at, each thing once."""

    contract: Contract
    key: TruthKey
    truthkey: str
    observations: Gathered
    snapshot: TrustSnapshot
    votes: Mapping[str, Vote]
    scores: Mapping[str, AiScore]
    fingerprints: Mapping[str, Fingerprint | Resemblance]
    events: Mapping[str, WindowEvent]
    policy_version: str
    compiler_version: str
    compile_time: Instant
    seals: tuple[Instant, ...]
    late: frozenset[str]
    signed_at: Instant | None
    signed_at_reason: str | None


def inputs_of(given: Given, observation_ids: tuple[str, ...]) -> CompileInputs:
    """Kaori 10.3: the ids of what speaks, and by hash everything that was given, whether it counts or not."""
    return CompileInputs(
        observation_ids=observation_ids,
        claim_type_id=given.contract.id,
        claim_type_hash=given.contract.claim_type_hash,
        policy_version=given.policy_version,
        compiler_version=given.compiler_version,
        trust_snapshot_hash=given.snapshot.snapshot_hash,
        compile_time=given.compile_time,
        observation_hashes=given.observations.hashes,
        observation_receipts=given.observations.receipts(),
        vote_hashes=tuple(given.votes),
        ai_score_hashes=tuple(given.scores),
        window_event_hashes=tuple(given.events),
        fingerprint_hashes=tuple(given.fingerprints),
        sealed_at=given.seals,
        late_hashes=tuple(sorted(given.late)),
        signed_at=given.signed_at,
        signed_at_reason=given.signed_at_reason,
    )


def require_versions(contract: Contract, policy_version: str, compiler_version: str) -> None:
    if policy_version != contract.policy_version:
        raise StateError.inputs_mismatch(
            f"expected policy version `{contract.policy_version}`, got `{policy_version[:80]}`"
        )
    if not _is_version(compiler_version):
        raise StateError.inputs_mismatch(f"expected a version of `[A-Za-z0-9._+-]`, got `{compiler_version[:80]}`")


def require_reason(signed_at: datetime | None, reason: str | None) -> None:
    if (signed_at is None) is not (reason is None):
        raise SigningTimeError("expected a reason exactly where the time of signing is overridden")
    if reason is not None and not reason.strip():
        raise SigningTimeError("expected a reason in words where the time of signing is overridden, got an empty one")


def require_known_late(given: Given) -> None:
    unknown = given.late - {*given.observations.hashes, *given.scores, *given.fingerprints} if given.late else None
    if unknown:
        raise StateError.inputs_mismatch(f"expected only records that are given to be late, got {min(unknown)[:80]}")


def past_seals(sealed_at: Iterable[datetime], now: Instant) -> tuple[Instant, ...]:
    """People's answer seals what was there; one that is still to come would hush what nobody judged."""
    if not sealed_at:
        return ()
    seals = sorted({*map(instant_of, sealed_at)})
    if seals[-1:] > [now]:
        raise StateError.inputs_mismatch(
            f"expected answers up to {render_instant(now)}, the time of the state, got {render_instant(seals[-1])}"
        )
    return tuple(seals)


def votes_by_hash(votes: Iterable[Vote]) -> dict[str, Vote]:
    return _by_hash(votes, _vote_hash) if votes else {}


def scores_by_hash(scores: Iterable[AiScore]) -> dict[str, AiScore]:
    """Refuses a score that is no share."""
    return _by_hash(map(_sound, scores), _score_hash) if scores else {}


def prints_by_hash(prints: Iterable[Fingerprint | Resemblance]) -> dict[str, Fingerprint | Resemblance]:
    """Refuses a resemblance that is no share."""
    return _by_hash(map(_sound_print, prints), _print_hash) if prints else {}


def events_by_hash(events: Iterable[WindowEvent]) -> dict[str, WindowEvent]:
    return _by_hash(events, _event_hash) if events else {}


@lru_cache(maxsize=1 << 6)
def _is_version(text: str) -> bool:
    return _VERSION.fullmatch(text) is not None


def _sound(score: AiScore) -> AiScore:
    if type(score.score) is not Decimal or not 0 <= exact_number(score.score) <= 1:
        raise NumberFormError(f"expected a score from 0 to 1, got `{str(score.score)[:80]}`")
    return score


def _sound_print(mark: Fingerprint | Resemblance) -> Fingerprint | Resemblance:
    if isinstance(mark, Resemblance) and (
        type(mark.similarity) is not Decimal or not 0 <= exact_number(mark.similarity) <= 1
    ):
        raise NumberFormError(f"expected a similarity from 0 to 1, got `{str(mark.similarity)[:80]}`")
    return mark


def _by_hash(records: Iterable[_Record], hash_of: Callable[[_Record], str]) -> dict[str, _Record]:
    """Each record once, sorted by hash."""
    found = {hash_of(record): record for record in records}
    return {hash_: found[hash_] for hash_ in sorted(found)}


# Late observations compile their key again, with the same votes and scores as before.
_vote_hash = lru_cache(maxsize=1 << 14)(vote_hash)
_score_hash = lru_cache(maxsize=1 << 16)(ai_score_hash)
_event_hash = lru_cache(maxsize=1 << 12)(window_event_hash)
_print_hash = lru_cache(maxsize=1 << 16)(fingerprint_hash)
