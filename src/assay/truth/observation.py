"""An observation (Kaori 7): what one agent says it saw, where and when, and the evidence for it.

JSON -> canonical form -> Observation -> `observation_hash`
What reporters say about themselves is recorded and never weighs: standing and trust come from the snapshot alone.
"""

from hashlib import sha256

import msgspec
from msgspec import Struct

from assay.kernel.canonical import Profile, canonicalize
from assay.kernel.instant import Instant, instant_of, render_instant
from assay.truth._contract_subject import Standing
from assay.truth._read import read_record
from assay.truth._wire import canonical_value, plain_record
from assay.truth.errors import TruthError
from assay.truth.evidence import EvidenceRef
from assay.truth.forms import AgentId, ClaimTypeId, Name, RecordId, Share
from assay.truth.number import plain_number
from assay.truth.place import Artefact, Location


class ReporterContext(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the reporter claims to be."""

    standing: Standing
    trust_score: Share
    source_type: Name

    def canonical(self) -> dict[str, object]:
        return {
            "standing": self.standing.value,
            "trust_score": plain_number(self.trust_score),
            "source_type": self.source_type,
        }


class Observation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Kaori 7.1. `geo` is null for what has no place; then `artifact` names it, for claim types of the system `meta`.

    `probe_id` is the probe that it was made for, if it was made for one.
    Made by `parse_observation`, whose payload is in canonical form: equal hashes are equal payloads.
    """

    observation_id: RecordId
    claim_type: ClaimTypeId
    reported_at: Instant
    reporter_id: AgentId
    reporter_context: ReporterContext
    geo: Location | None
    payload: dict[str, object]
    evidence_refs: tuple[EvidenceRef, ...]
    artifact: Artefact | None = None
    probe_id: RecordId | None = None

    def canonical(self) -> dict[str, object]:
        """The fields of 7.1, evidence sorted (Kaori 3.4); `artifact` and `probe_id` only where there is one."""
        refs = sorted((ref.canonical() for ref in self.evidence_refs), key=lambda ref: (ref["sha256"], ref["uri"]))
        named = {} if self.artifact is None else {"artifact": plain_record(self.artifact)}
        probed = {} if self.probe_id is None else {"probe_id": self.probe_id}
        return {
            "observation_id": self.observation_id,
            "claim_type": self.claim_type,
            "reported_at": render_instant(instant_of(self.reported_at)),
            "reporter_id": self.reporter_id,
            "reporter_context": self.reporter_context.canonical(),
            "geo": None if self.geo is None else {"lat": self.geo.lat, "lon": self.geo.lon},
            "payload": self.payload,
            "evidence_refs": refs,
            **named,
            **probed,
        }


def observation_hash(observation: Observation) -> str:
    """Kaori 7.2: SHA-256 of the canonical bytes, as 64 hex digits; the order of evidence does not matter."""
    return sha256(canonicalize(observation.canonical(), Profile.KAORI)).hexdigest()


class HashedObservation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, eq=False):
    """An observation with its hash, computed once; another hash is refused when it is made, so nobody checks again.

    `received_at` is when it reached us (Kaori 4.3): metadata that the hash does not cover. Unknown is None, and counts
    as received last.
    """

    observation: Observation
    observation_hash: str
    received_at: Instant | None = None

    def __post_init__(self) -> None:
        got = observation_hash(self.observation)
        if got != self.observation_hash:
            raise TruthError.observation_hash(
                f"expected the observation's hash, {got}, got `{self.observation_hash[:80]}`"
            )

    def __eq__(self, other: object) -> bool:
        """By value, however its hash was checked."""
        if not isinstance(other, HashedObservation):
            return NotImplemented
        return (self.observation_hash, self.received_at, self.observation) == (
            other.observation_hash,
            other.received_at,
            other.observation,
        )

    def __ne__(self, other: object) -> bool:
        """Said as well: a structure has one of its own, which goes by type."""
        return not self == other

    def __hash__(self) -> int:
        return hash((self.observation_hash, self.received_at))


def hash_observation(observation: Observation, received_at: Instant | None = None) -> HashedObservation:
    return HashedObservation(
        observation=observation, observation_hash=observation_hash(observation), received_at=received_at
    )


def parse_observation(value: bytes | str | dict[str, object]) -> Observation:
    """From JSON text or its value; refused with every problem, or with a `json.*` or `canonical.*` code.

    The whole observation is first brought into canonical form, so that what is kept is what is hashed: six places, NFC,
    white space collapsed.
    """
    return read_record(canonical_value(value), Observation)


def render_observation(observation: Observation) -> bytes:
    """The whole observation, media types and capture times included; parsing it gives the observation back."""
    left_out = "probe_id" if observation.probe_id is None else None
    members = {name: plain_record(getattr(observation, name)) for name in observation.__struct_fields__}
    return canonicalize({name: part for name, part in members.items() if name != left_out}, Profile.KAORI)


_STORED = msgspec.json.Decoder(Observation)
_AFTER_EVIDENCE = '],"geo":'


class _ReadBack(HashedObservation, frozen=True, kw_only=True, forbid_unknown_fields=True, eq=False):
    """One whose hash was compared already, over the stored bytes themselves."""

    def __post_init__(self) -> None:
        """Nothing is left to check."""


def read_stored_observation(
    text: str | bytes, observation_hash: str, received_at: Instant | None = None
) -> HashedObservation:
    """What `render_observation` wrote, read back without judging every form again: the hash says that it was judged.

    Only for texts from our own store; refused unless they have the hash under which they were stored. That is looked
    for in the bytes as they are, and only where it is not found there the observation is written out anew for it.
    """
    try:
        observation = _STORED.decode(text)
    except msgspec.MsgspecError as error:
        raise TruthError.observation_hash(
            f"expected the text of the observation {observation_hash[:80]}: {error}"
        ) from error
    is_told = _hash_as_stored(text if isinstance(text, str) else text.decode(), observation) == observation_hash
    made = _ReadBack if is_told else HashedObservation
    return made(observation=observation, observation_hash=observation_hash, received_at=received_at)


def _hash_as_stored(text: str, observation: Observation) -> str:
    """The hash of the canonical bytes, cut out of the text: what `canonical` leaves away stands before `geo`.

    INVARIANT: whatever comes out, only bytes that are the canonical ones have their hash. A text that is written in
    another way, or names an artefact, or an address with escapes, gives some other hash. What is cut away holds the
    evidence and no other member: nothing can be read from there that the hash does not cover.
    """
    start = f'{{"artifact":null,"claim_type":"{observation.claim_type}","evidence_refs":['
    end = text.find(_AFTER_EVIDENCE)
    if not text.startswith(start) or end < len(start) or text.find("]", len(start), end) >= 0:
        return ""
    refs = [(ref.sha256, ref.uri) for ref in observation.evidence_refs]
    evidence = ",".join([f'{{"sha256":"{sha}","uri":"{uri}"}}' for sha, uri in (sorted(refs) if refs[1:] else refs)])
    rest = text[end:]
    return sha256(f'{{"claim_type":"{observation.claim_type}","evidence_refs":[{evidence}{rest}'.encode()).hexdigest()
