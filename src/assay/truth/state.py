"""A truth state (Kaori 10): the compiled claim at one key, with everything it was compiled from.

fields of 11.2 -> semantic_hash; with compile_time and compiler_version (11.3) -> state_hash, which is what is signed
The two hashes cover exactly those fields, so that any implementation agrees; the rest of the inputs (hashes of
observations, votes, scores and events) is bound by the ledger entry over the whole state.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Annotated

from msgspec import Struct

from assay.kernel.canonical import Profile, canonical_hash, canonicalize
from assay.kernel.ids import KeyId, parse_key_id
from assay.kernel.instant import Instant, render_instant
from assay.kernel.key import SigningMethod
from assay.truth._moment import later
from assay.truth._read import Complaint, Form, Parsed, read_record
from assay.truth._wire import canonical_value, plain_record
from assay.truth.errors import SigningTimeError
from assay.truth.forms import ClaimTypeId, HexHash, Name, RecordId, Share, Signed, TruthKeyText, VersionText
from assay.truth.number import plain_number
from assay.truth.problem import ProblemCode
from assay.truth.status import TruthStatus, VerificationBasis

_SIGNATURE = Form(re.compile(r"(?:[0-9a-f]{2}){1,512}", re.ASCII), "a signature in lower-case hex")


class ComponentValue(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One component of the confidence: its normalised value, its weight, and their product at six places."""

    value: Share
    weight: Share
    contribution: Share

    def plain(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "value": plain_number(self.value),
            "weight": plain_number(self.weight),
            "contribution": plain_number(self.contribution),
        }


class ConfidenceBreakdown(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the confidence came about: components, the modifiers that applied, and what age left of it."""

    components: dict[Name, ComponentValue]
    modifiers: dict[Name, Signed]
    decay: Share

    def plain(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "components": {name: component.plain() for name, component in self.components.items()},
            "modifiers": {name: plain_number(added) for name, added in self.modifiers.items()},
            "decay": plain_number(self.decay),
        }


class CompileInputs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Kaori 10.3, and every other thing that could change the answer, by hash; all sorted.

    `observation_receipts` say when each of `observation_hashes` reached the node (Kaori 4.3), in their order; none
    where that is known of none.
    `sealed_at` are the instants at which people came to a final answer about the key, which seal a round's evidence;
    `late_hashes` the observations, scores and fingerprints among the given that came after such an answer, or after the
    end of the round, by the ledger's own order.
    `signed_at` is set only where the orchestrator signs at another time than it compiles (Kaori 11.4), with the reason.
    """

    observation_ids: tuple[RecordId, ...]
    claim_type_id: ClaimTypeId
    claim_type_hash: HexHash
    policy_version: VersionText
    compiler_version: VersionText
    trust_snapshot_hash: HexHash
    compile_time: Instant
    observation_hashes: tuple[HexHash, ...] = ()
    observation_receipts: tuple[Instant | None, ...] = ()
    vote_hashes: tuple[HexHash, ...] = ()
    ai_score_hashes: tuple[HexHash, ...] = ()
    window_event_hashes: tuple[HexHash, ...] = ()
    fingerprint_hashes: tuple[HexHash, ...] = ()
    sealed_at: tuple[Instant, ...] = ()
    late_hashes: tuple[HexHash, ...] = ()
    signed_at: Instant | None = None
    signed_at_reason: str | None = None

    def complaints(self) -> Iterator[Complaint]:
        for name in (
            "observation_ids",
            "observation_hashes",
            "vote_hashes",
            "ai_score_hashes",
            "window_event_hashes",
            "fingerprint_hashes",
            "late_hashes",
        ):
            yield from _unsorted(name, getattr(self, name))
        if len(self.observation_receipts) not in (0, len(self.observation_hashes)):
            message = "expected one for each of the observation hashes, or none at all"
            yield Complaint("observation_receipts", ProblemCode.AGREEMENT, message)
        if (self.signed_at is None) is not (self.signed_at_reason is None):
            message = "expected a reason exactly where the time of signing is overridden"
            yield Complaint("signed_at_reason", ProblemCode.AGREEMENT, message)
        if self.signed_at_reason is not None and not self.signed_at_reason.strip():
            yield Complaint("signed_at_reason", ProblemCode.FORM, "expected a reason in words, got an empty one")
        if any(seal > self.compile_time for seal in self.sealed_at):
            yield Complaint("sealed_at", ProblemCode.ORDER, "expected answers from before the state, got a later one")


class SecurityBlock(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Kaori 11.4; `signature` is lower-case hex, made over the 64 ASCII characters of `state_hash`."""

    semantic_hash: HexHash
    state_hash: HexHash
    signature: Annotated[str, _SIGNATURE]
    signing_method: SigningMethod
    key_id: Annotated[KeyId, Parsed(parse_key_id)]
    signed_at: Instant


class TruthState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Kaori 10.2; `security` is None from the compiler until the state is sealed.

    Confidences are decimals of at most six places. `transparency_flags`, `evidence_refs` (SHA-256 only) and
    `observation_ids` are sorted, each once. `claim` is in canonical form, and {} where nothing was observed.
    """

    truthkey: TruthKeyText
    claim_type: ClaimTypeId
    claim_type_hash: HexHash
    status: TruthStatus
    verification_basis: VerificationBasis
    claim: dict[str, object]
    ai_confidence: Share
    confidence: Share
    confidence_breakdown: ConfidenceBreakdown
    transparency_flags: tuple[Name, ...]
    compile_inputs: CompileInputs
    evidence_refs: tuple[HexHash, ...]
    observation_ids: tuple[RecordId, ...]
    security: SecurityBlock | None = None

    def complaints(self) -> Iterator[Complaint]:
        for name in ("transparency_flags", "evidence_refs", "observation_ids"):
            yield from _unsorted(name, getattr(self, name))


# A state may be signed later than it was compiled, by a token that was away, and not in another age.
_LONGEST_WAIT = timedelta(days=1)


def require_signing_time(signed_at: Instant, compile_time: Instant) -> Instant:
    """The same, or `truth.signing_time`: not before the state was compiled, and not more than a day after."""
    latest = later(compile_time, _LONGEST_WAIT)
    if not compile_time <= signed_at <= latest:
        raise SigningTimeError(
            f"expected from {render_instant(compile_time)} to {render_instant(latest)}, got {render_instant(signed_at)}"
        )
    return signed_at


def semantic_content(state: TruthState) -> dict[str, object]:
    """Exactly the fields of Kaori 11.2; "confidence values" are the two confidences and their breakdown."""
    inputs = state.compile_inputs
    return {
        "truthkey": state.truthkey,
        "claim_type": state.claim_type,
        "claim_type_hash": state.claim_type_hash,
        "claim": state.claim,
        "status": state.status.value,
        "verification_basis": state.verification_basis.value,
        "ai_confidence": plain_number(state.ai_confidence),
        "confidence": plain_number(state.confidence),
        "confidence_breakdown": state.confidence_breakdown.plain(),
        "transparency_flags": list(state.transparency_flags),
        "observation_ids": list(state.observation_ids),
        "trust_snapshot_hash": inputs.trust_snapshot_hash,
        "policy_version": inputs.policy_version,
    }


def state_content(state: TruthState) -> dict[str, object]:
    """Kaori 11.3: the semantic content, and when and by what it was compiled."""
    inputs = state.compile_inputs
    added = {"compile_time": plain_record(inputs.compile_time), "compiler_version": inputs.compiler_version}
    return {**semantic_content(state), **added}


def semantic_hash(state: TruthState) -> str:
    return canonical_hash(semantic_content(state), Profile.KAORI)


def state_hash(state: TruthState) -> str:
    return canonical_hash(state_content(state), Profile.KAORI)


def claim_hash(truthkey: str, claim_type_hash: str, claim: Mapping[str, object]) -> str:
    """What a voter was shown: a claim, where and under which contract, and nothing that other votes change."""
    return canonical_hash({"truthkey": truthkey, "claim_type_hash": claim_type_hash, "claim": claim}, Profile.KAORI)


def shown_hash(state: TruthState) -> str:
    """The `seen_hash` of a vote by somebody who was shown this state."""
    return claim_hash(state.truthkey, state.claim_type_hash, state.claim)


def parse_truth_state(value: bytes | str | dict[str, object]) -> TruthState:
    """From JSON text or its value; well formed, and not yet verified: `verify_truth_state` does that."""
    return read_record(canonical_value(value), TruthState)


def render_truth_state(state: TruthState) -> bytes:
    """The whole state as canonical bytes; parsing them gives the state back.

    With `late_hashes` only where there are any: a state without them keeps the bytes that it always had.
    """
    return canonicalize(_plain(state), Profile.KAORI)


def _plain(state: TruthState) -> dict[str, object]:
    plain = {name: plain_record(getattr(state, name)) for name in state.__struct_fields__}
    inputs = plain["compile_inputs"]
    if isinstance(inputs, dict) and not inputs["late_hashes"]:
        del inputs["late_hashes"]
    return plain


def _unsorted(field: str, items: tuple[str, ...]) -> Iterator[Complaint]:
    if items != tuple(sorted(set(items))):
        yield Complaint(field, ProblemCode.ORDER, "expected sorted and each once")
