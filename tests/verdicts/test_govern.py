"""The tier decides whether a model's verdict stands; nothing is served before a person has attested what is high."""

from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from assay.kernel.errors import SignatureError
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.kernel.key import key_id_of
from assay.verdicts.envelope import (
    Envelope,
    HumanAttestation,
    Verdict,
    VerifierResult,
    VerifierStatus,
    attested_hash,
)
from assay.verdicts.errors import AttestationError
from assay.verdicts.govern import (
    Overall,
    Ruling,
    Standing,
    attestation_message,
    govern,
    settle_held,
    strictest,
    verify_attestation,
)
from assay.verdicts.graph.node import RiskTier
from tests.raising import raises
from tests.verdicts.judging import NOON, PROVENANCE, vector_cases

KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
PUBLIC = KEY.public_key().public_bytes_raw()
ENVELOPE = Envelope(
    verdict=Verdict.FLAG,
    reasoning="",
    kg_citations=(),
    formalizable_assertions=(),
    verifier_result=VerifierResult(status=VerifierStatus.AGREED, checked_assertions=0),
    model_provenance=PROVENANCE,
    transcript_ref="t",
)


def attested(envelope: Envelope = ENVELOPE, key: Ed25519PrivateKey = KEY) -> HumanAttestation:
    claim = {
        "envelope_hash": attested_hash(envelope),
        "reviewer": PrincipalId("user:amira"),
        "attested_at": NOON,
        "expires_at": Instant(NOON + timedelta(hours=1)),
    }
    signature = key.sign(attestation_message(**claim))  # type: ignore[arg-type]  # each of its own type
    key_id = key_id_of(key.public_key().public_bytes_raw())
    return HumanAttestation(**claim, key_id=key_id, signature_hex=signature.hex())  # type: ignore[arg-type]  # as above


def final(verdict: Verdict) -> Ruling:
    return govern(verdict, VerifierStatus.AGREED, RiskTier.MEDIUM)


HELD = govern(Verdict.CLEAR, VerifierStatus.AGREED, RiskTier.HIGH)


@pytest.mark.clause("ski", "5.4")
@pytest.mark.clause("ski", "9.2")
@pytest.mark.parametrize("case", vector_cases("govern/tiers"), ids=str)
def test_the_tier_decides_whether_a_verdict_stands(case: dict[str, Any]) -> None:
    """Medium risk and a divergence become DISCRETIONARY; high risk without attestation is held."""
    ruling = govern(Verdict(case["model"]), VerifierStatus(case["status"]), RiskTier(case["tier"]))
    governed = None if ruling.standing is Standing.HELD else ruling.verdict
    assert governed == case["governed"]
    assert ruling.model_verdict == case["model"]
    assert ruling.is_honoured == (case["governed"] == case["model"])


@pytest.mark.clause("ski", "5.4")
@pytest.mark.parametrize("case", vector_cases("govern/answers"), ids=str)
def test_an_answer_finalises_what_was_held(case: dict[str, Any]) -> None:
    status = VerifierStatus(case["status"])
    held = govern(Verdict(case["model"]), status, RiskTier.HIGH)
    ruling = settle_held(held, status, is_attested=case["attested"])
    assert (ruling.standing, ruling.verdict) == (Standing.FINAL, case["final"])


@pytest.mark.parametrize(
    ("rulings", "overall"),
    [
        ([Verdict.CLEAR, Verdict.FLAG, Verdict.DISCRETIONARY], Verdict.FLAG),
        ([Verdict.CLEAR, Verdict.NULL_STALE, Verdict.DISCRETIONARY], Verdict.DISCRETIONARY),
        ([Verdict.NULL_STALE, Verdict.CLEAR], Verdict.NULL_STALE),
        ([Verdict.CLEAR, Verdict.CLEAR], Verdict.CLEAR),
        ([Verdict.NULL_UNMAPPED], Verdict.NULL_UNMAPPED),
        ([], None),
    ],
)
def test_across_rules_the_strictest_is_returned(rulings: list[Verdict], overall: Verdict | None) -> None:
    assert strictest(final(one) for one in rulings) == Overall(standing=Standing.FINAL, verdict=overall)


def test_a_held_verdict_leaves_the_whole_open_unless_a_flag_is_there() -> None:
    assert strictest([final(Verdict.CLEAR), HELD]) == Overall(standing=Standing.HELD, verdict=None)
    assert strictest([final(Verdict.FLAG), HELD]) == Overall(standing=Standing.FINAL, verdict=Verdict.FLAG)


@pytest.mark.clause("ski", "5.4")
def test_a_token_holds_for_one_envelope() -> None:
    token = attested()
    verify_attestation(token, ENVELOPE, PUBLIC, at=NOON)
    # The token may be put into the envelope that it is about.
    verify_attestation(token, replace(ENVELOPE, human_attestation=token), PUBLIC, at=NOON)
    with raises(AttestationError.mismatch):
        verify_attestation(token, replace(ENVELOPE, verdict=Verdict.CLEAR), PUBLIC, at=NOON)


@pytest.mark.parametrize("minutes", [-1, 60])
def test_a_token_is_not_valid_before_or_after_its_time(minutes: int) -> None:
    with raises(AttestationError.expired):
        verify_attestation(attested(), ENVELOPE, PUBLIC, at=Instant(NOON + timedelta(minutes=minutes)))


def test_a_token_of_another_key_or_with_another_word_is_refused() -> None:
    other = attested(key=Ed25519PrivateKey.from_private_bytes(b"\1" * 32))
    with pytest.raises(AttestationError):
        verify_attestation(other, ENVELOPE, PUBLIC, at=NOON)
    longer = replace(attested(), expires_at=Instant(NOON + timedelta(days=9)))
    with pytest.raises(SignatureError):
        verify_attestation(longer, ENVELOPE, PUBLIC, at=NOON)
