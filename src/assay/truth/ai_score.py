"""What a rung of the AI ladder said, as data: the compiler never asks a machine, it reads what one answered."""

from functools import lru_cache

from msgspec import Struct

from assay.kernel.canonical import Profile, canonical_hash, canonicalize
from assay.kernel.instant import Instant
from assay.truth._contract_ai import StageName
from assay.truth._read import read_record
from assay.truth._wire import canonical_value, plain_record
from assay.truth.forms import HexHash, Name, RecordId, Segment, Share, VersionText


class AiScore(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One engine's judgement of one observation, bound to it by hash; 1 is sure that it is true.

    Whether it passed follows from the contract's thresholds. `failed_checks` are those that spoke against it.
    """

    score_id: RecordId
    observation_hash: HexHash
    stage: StageName
    engine: Segment
    engine_version: VersionText
    score: Share
    scored_at: Instant
    failed_checks: tuple[Name, ...] = ()


def ai_score_hash(score: AiScore) -> str:
    return canonical_hash(plain_record(score), Profile.KAORI)


def parse_ai_score(value: bytes | str | dict[str, object]) -> AiScore:
    """From JSON text or its value, in canonical form; a score that is no number from 0 to 1 is refused."""
    return _read_remembered(value) if isinstance(value, str | bytes) else _read(value)


def _read(value: bytes | str | dict[str, object]) -> AiScore:
    return read_record(canonical_value(value), AiScore)


# Each compilation of a key reads all that was ever said there; a text says the same each time.
_read_remembered = lru_cache(maxsize=4096)(_read)


def render_ai_score(score: AiScore) -> bytes:
    return canonicalize(plain_record(score), Profile.KAORI)
