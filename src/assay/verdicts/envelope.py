"""The verdict envelope (SKI 4): what is emitted for one record and one rule, and what a model may say of it.

Exactly the fields of SKI 4.2 to 4.6, so that strict clients accept it; anything else goes to `notes`.
"""

from datetime import datetime
from enum import StrEnum

from msgspec import UNSET, Struct, UnsetType, json, to_builtins

from assay.kernel.canonical import canonical_digest
from assay.kernel.digest import Digest
from assay.kernel.ids import KeyId, PrincipalId
from assay.kernel.instant import Instant
from assay.verdicts.comparison import PlainOperand
from assay.verdicts.telemetry import Scalar

__all__ = [
    "CitationRole",
    "Envelope",
    "FormalizableAssertion",
    "HumanAttestation",
    "KgCitation",
    "ModelAnswer",
    "ModelProvenance",
    "Verdict",
    "VerdictPath",
    "VerifierResult",
    "VerifierStatus",
    "attested_hash",
    "plain_record",
    "render_envelope",
]


class Verdict(StrEnum):
    """SKI 4.1: closed, and never a score."""

    CLEAR = "CLEAR"
    FLAG = "FLAG"
    NULL_UNMAPPED = "NULL_UNMAPPED"
    NULL_STALE = "NULL_STALE"
    DISCRETIONARY = "DISCRETIONARY"


class CitationRole(StrEnum):
    """SKI 4.3."""

    OBLIGATION = "obligation"
    DEFINITION_RESOLVED = "definition_resolved"
    EXEMPTION_CONSIDERED = "exemption_considered"
    PRECEDENT_REFERENCED = "precedent_referenced"
    JURISDICTION_MATCHED = "jurisdiction_matched"


class VerifierStatus(StrEnum):
    """SKI 4.5."""

    AGREED = "AGREED"
    LLM_CONTRADICTION = "LLM_CONTRADICTION"
    NEURO_SYMBOLIC_DIVERGENCE = "NEURO_SYMBOLIC_DIVERGENCE"
    UNVERIFIABLE = "UNVERIFIABLE"


class VerdictPath(StrEnum):
    """How a verdict was reached; absent for the full path (SKI 5.6)."""

    FAST = "fast"


class KgCitation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """SKI 4.3: `version` is the node's content-addressed version at evaluation time."""

    node_id: str
    version: str
    role: CitationRole


class FormalizableAssertion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """SKI 4.4: what the model commits to about one obligation. `window_seconds` only where the obligation has one."""

    predicate: str
    metric: str
    value: PlainOperand
    observed: Scalar
    satisfied: bool
    obligation_id: str
    window_seconds: int | float | UnsetType = UNSET


class ModelAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The part of the envelope that the model writes, in the order in which it writes it."""

    reasoning: str
    formalizable_assertions: tuple[FormalizableAssertion, ...]
    kg_citations: tuple[KgCitation, ...]
    verdict: Verdict


class VerifierResult(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """SKI 4.5. A divergence starts with a stable code and a colon."""

    status: VerifierStatus
    checked_assertions: int
    divergences: tuple[str, ...] = ()


class ModelProvenance(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """SKI 4.6; `prompt_template_hash` is that of the rendered prompt."""

    model_weight_hash: Digest
    kg_version_hash: Digest
    prompt_template_id: str
    prompt_template_hash: Digest
    decoder_seed: int
    structured_grammar_hash: Digest


class HumanAttestation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person's signed word on one envelope (SKI 5.4): who, about what, when, until when."""

    envelope_hash: Digest
    reviewer: PrincipalId
    attested_at: Instant
    expires_at: Instant
    key_id: KeyId
    signature_hex: str


class Envelope(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """SKI 4.2. `verdict` is the governed one; while a verdict is held it is the model's, and not served."""

    verdict: Verdict
    reasoning: str
    kg_citations: tuple[KgCitation, ...]
    formalizable_assertions: tuple[FormalizableAssertion, ...]
    verifier_result: VerifierResult
    model_provenance: ModelProvenance
    transcript_ref: str
    human_attestation: HumanAttestation | None = None
    notes: tuple[str, ...] = ()
    verdict_path: VerdictPath | None = None


def render_envelope(envelope: Envelope) -> dict[str, object]:
    """As JSON has it, for canonical bytes."""
    return plain_record(envelope, has_instants=envelope.human_attestation is not None)


def plain_record(record: Struct, *, has_instants: bool) -> dict[str, object]:
    """A record as plain JSON values; instants stay instants, since only canonical bytes give them their one text.

    Without instants the way through JSON text is several times quicker, and so are canonical bytes of lists.
    """
    if has_instants:
        return to_builtins(record, builtin_types=(datetime,))  # type: ignore[no-any-return]  # a struct is an object
    return json.decode(json.encode(record))  # type: ignore[no-any-return]  # as above


def attested_hash(envelope: Envelope) -> Digest:
    """What an attestation is about: the canonical hash of the envelope without `human_attestation`."""
    content = render_envelope(envelope)
    content.pop("human_attestation")
    return canonical_digest(content)
