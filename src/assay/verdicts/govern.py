"""The risk tier governor (SKI 5.4): whether the model's verdict stands, given what the verifier found.

    low      the model's verdict, always
    medium   the model's verdict if AGREED or UNVERIFIABLE, else DISCRETIONARY
    high     held until a person answers: then the model's verdict only if AGREED and attested, else DISCRETIONARY

A held verdict is no verdict: it is never served as one, and an answer that never comes leaves it held.
"""

from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache

from msgspec import Struct

from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest
from assay.kernel.ids import KeyId, PrincipalId
from assay.kernel.instant import Instant, render_instant
from assay.kernel.key import key_id_of
from assay.kernel.signature import SignedKind, parse_signature_hex, signing_message, verify_ed25519
from assay.verdicts.envelope import Envelope, HumanAttestation, Verdict, VerifierStatus, attested_hash
from assay.verdicts.errors import AttestationError
from assay.verdicts.graph.node import RiskTier

_TRUSTED = frozenset({VerifierStatus.AGREED, VerifierStatus.UNVERIFIABLE})
# Across the rules of one record; NULL_UNMAPPED never meets another, since it means that there is no rule.
_STRICTNESS = (
    Verdict.FLAG,
    Verdict.DISCRETIONARY,
    Verdict.NULL_STALE,
    Verdict.NULL_UNMAPPED,
    Verdict.CLEAR,
)


class Standing(StrEnum):
    FINAL = "final"
    HELD = "held"


class Ruling(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """What the governor decided. While HELD, `verdict` is DISCRETIONARY: what a column that must hold one shows."""

    standing: Standing
    verdict: Verdict
    model_verdict: Verdict
    tier: RiskTier
    reason: str

    @property
    def is_honoured(self) -> bool:
        return self.standing is Standing.FINAL and self.verdict is self.model_verdict


class Overall(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rulings of one record together; `verdict` is None while one that could be stricter is held."""

    standing: Standing
    verdict: Verdict | None


# Sixty answers at most.
@lru_cache
def govern(verdict: Verdict, status: VerifierStatus, tier: RiskTier) -> Ruling:
    """SKI 5.4 for a verdict that nobody attested yet."""
    if tier is RiskTier.LOW:
        return _ruling(Standing.FINAL, verdict, verdict, tier, f"low tier honours the model; the verifier: {status}")
    if tier is RiskTier.HIGH:
        return _ruling(Standing.HELD, Verdict.DISCRETIONARY, verdict, tier, "high tier waits for a person")
    if status in _TRUSTED:
        return _ruling(Standing.FINAL, verdict, verdict, tier, f"medium tier, and the verifier: {status}")
    return _ruling(Standing.FINAL, Verdict.DISCRETIONARY, verdict, tier, f"medium tier, but the verifier: {status}")


def settle_held(held: Ruling, status: VerifierStatus, *, is_attested: bool) -> Ruling:
    """What a person's answer makes of a held verdict; there is no call for an answer that did not come."""
    if is_attested and status is VerifierStatus.AGREED:
        return _ruling(Standing.FINAL, held.model_verdict, held.model_verdict, held.tier, "attested, and AGREED")
    reason = f"attested, but the verifier: {status}" if is_attested else "not attested"
    return _ruling(Standing.FINAL, Verdict.DISCRETIONARY, held.model_verdict, held.tier, reason)


def strictest(rulings: Iterable[Ruling]) -> Overall:
    """FLAG > DISCRETIONARY > NULL_STALE > CLEAR; a held one could still be a FLAG, which only a FLAG outranks."""
    known = list(rulings)
    final = {ruling.verdict for ruling in known if ruling.standing is Standing.FINAL}
    if any(ruling.standing is Standing.HELD for ruling in known) and Verdict.FLAG not in final:
        return Overall(standing=Standing.HELD, verdict=None)
    return Overall(
        standing=Standing.FINAL, verdict=next((verdict for verdict in _STRICTNESS if verdict in final), None)
    )


def attestation_message(
    *, envelope_hash: Digest, reviewer: PrincipalId, attested_at: Instant, expires_at: Instant
) -> bytes:
    """What a reviewer's key signs: under a domain of its own, so that no other signature passes for an attestation."""
    signed = {
        "attested_at": attested_at,
        "envelope_hash": envelope_hash,
        "expires_at": expires_at,
        "reviewer": reviewer,
    }
    return signing_message(SignedKind.ATTESTATION, canonicalize(signed))


def verify_attestation(
    attestation: HumanAttestation,
    envelope: Envelope,
    public_key: bytes,
    *,
    at: Instant,
) -> None:
    """Raise unless the token is about this envelope, in time, and signed by this key.

    Whether the key is the reviewer's, and the reviewer may attest, is for the caller to know, and so is whether
    it was used before.
    """
    if attestation.envelope_hash != attested_hash(envelope):
        raise AttestationError.mismatch(
            f"expected an attestation of `{attested_hash(envelope)}`, got one of `{attestation.envelope_hash}`"
        )
    if not attestation.attested_at <= at < attestation.expires_at:
        raise AttestationError.expired(
            f"expected a time from {render_instant(attestation.attested_at)} until before "
            f"{render_instant(attestation.expires_at)}, got {render_instant(at)}"
        )
    _verify_signature(attestation, public_key)


def _verify_signature(attestation: HumanAttestation, public_key: bytes) -> None:
    if attestation.key_id != KeyId(key_id_of(public_key)):
        raise AttestationError(f"expected key `{key_id_of(public_key)}`, got `{attestation.key_id}`")
    message = attestation_message(
        envelope_hash=attestation.envelope_hash,
        reviewer=attestation.reviewer,
        attested_at=attestation.attested_at,
        expires_at=attestation.expires_at,
    )
    verify_ed25519(public_key, message, parse_signature_hex(attestation.signature_hex))


def _ruling(standing: Standing, verdict: Verdict, model_verdict: Verdict, tier: RiskTier, reason: str) -> Ruling:
    return Ruling(standing=standing, verdict=verdict, model_verdict=model_verdict, tier=tier, reason=reason)
