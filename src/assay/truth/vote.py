"""A vote: what one person says about the claim at a key, recorded whether or not it will count."""

from collections.abc import Iterator

from msgspec import Struct

from assay.kernel.canonical import Profile, canonical_hash, canonicalize
from assay.kernel.instant import Instant
from assay.truth._contract_subject import VoteType
from assay.truth._read import Complaint, read_record
from assay.truth._wire import canonical_value, plain_record
from assay.truth.forms import AgentId, HexHash, RecordId, TruthKeyText
from assay.truth.problem import ProblemCode
from assay.truth.status import FINAL_STATUSES, TruthStatus


class Vote(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`seen_hash` is the claim hash of the state that was shown: a vote that has one is about that claim and no other.

    An OVERRIDE, and nothing else, names a status.
    """

    vote_id: RecordId
    truthkey: TruthKeyText
    voter_id: AgentId
    vote_type: VoteType
    cast_at: Instant
    seen_hash: HexHash | None = None
    override_status: TruthStatus | None = None
    reason: str = ""

    def complaints(self) -> Iterator[Complaint]:
        allowed = FINAL_STATUSES if self.vote_type is VoteType.OVERRIDE else (None,)
        if self.override_status not in allowed:
            message = f"expected a final status with OVERRIDE and with nothing else, got `{self.override_status}`"
            yield Complaint("override_status", ProblemCode.AGREEMENT, message)


def vote_hash(vote: Vote) -> str:
    return canonical_hash(plain_record(vote), Profile.KAORI)


def parse_vote(value: bytes | str | dict[str, object]) -> Vote:
    """From JSON text or its value, in canonical form; refused with every problem."""
    return read_record(canonical_value(value), Vote)


def render_vote(vote: Vote) -> bytes:
    return canonicalize(plain_record(vote), Profile.KAORI)
