"""The envelope: exactly the fields of the specification, and one text for one envelope."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.kernel.canonical import canonicalize
from assay.kernel.ids import KeyId, PrincipalId
from assay.kernel.instant import Instant
from assay.verdicts.envelope import (
    CitationRole,
    Envelope,
    HumanAttestation,
    Verdict,
    VerifierResult,
    VerifierStatus,
    attested_hash,
    canonical_envelope,
    plain_record,
    render_envelope,
)
from tests.verdicts.judging import GRAPH, NOON, PROVENANCE
from tests.verdicts.test_verify import ASSERTIONS

ENVELOPES = st.builds(
    Envelope,
    verdict=st.sampled_from(Verdict),
    reasoning=st.text(),
    kg_citations=st.just(()),
    formalizable_assertions=st.lists(
        ASSERTIONS.flatmap(
            lambda one: st.floats(allow_nan=False, allow_infinity=False).map(lambda value: replace(one, observed=value))
        ),
        max_size=2,
    ).map(tuple),
    verifier_result=st.builds(
        VerifierResult,
        status=st.sampled_from(VerifierStatus),
        checked_assertions=st.integers(0, 9),
        divergences=st.lists(st.text(), max_size=2).map(tuple),
    ),
    model_provenance=st.just(PROVENANCE),
    transcript_ref=st.text(st.characters(codec="ascii")),
)


@given(ENVELOPES)
def test_an_envelope_has_one_text_whichever_way_it_is_written(envelope: Envelope) -> None:
    """The native encoder is trusted only where it writes what the exact way writes."""
    assert canonical_envelope(envelope) == canonicalize(plain_record(envelope))


@pytest.mark.clause("ski", "4.2")
@pytest.mark.clause("ski", "4.3")
def test_the_fields_are_those_of_the_specification() -> None:
    """Clients of other implementations refuse unknown fields."""
    assert set(Envelope.__struct_fields__) == {
        "verdict",
        "reasoning",
        "kg_citations",
        "formalizable_assertions",
        "verifier_result",
        "model_provenance",
        "transcript_ref",
        "human_attestation",
        "notes",
        "verdict_path",
    }
    assert {role.value for role in CitationRole} == {
        "obligation",
        "definition_resolved",
        "exemption_considered",
        "precedent_referenced",
        "jurisdiction_matched",
    }


@given(ENVELOPES)
def test_what_is_attested_is_the_envelope_without_the_attestation(envelope: Envelope) -> None:
    token = HumanAttestation(
        envelope_hash=GRAPH,
        reviewer=PrincipalId("user:amira"),
        attested_at=Instant(NOON + timedelta(milliseconds=500)),
        expires_at=NOON,
        key_id=KeyId("sha256:k"),
        signature_hex="00",
    )
    signed = replace(envelope, human_attestation=token)
    assert attested_hash(signed) == attested_hash(envelope)
    assert b'"attested_at":"2026-03-02T12:00:00.5Z"' in canonical_envelope(signed)
    other = Verdict.FLAG if envelope.verdict is not Verdict.FLAG else Verdict.CLEAR
    assert attested_hash(replace(envelope, verdict=other)) != attested_hash(envelope)
    assert render_envelope(envelope)["human_attestation"] is None
