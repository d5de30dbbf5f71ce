"""The verdict envelope (SKI 4): what is emitted for one record and one rule, and what a model may say of it.

Exactly the fields of SKI 4.2 to 4.6, so that strict clients accept it; anything else goes to `notes`.
"""

from datetime import datetime
from enum import StrEnum

from msgspec import UNSET, Struct, UnsetType, json, to_builtins

from assay.kernel.canonical import canonical_digest, canonicalize
from assay.kernel.digest import Digest
from assay.kernel.ids import KeyId, PrincipalId
from assay.kernel.instant import Instant
from assay.verdicts.comparison import PlainOperand
from assay.verdicts.telemetry import Scalar

_SORTED = json.Encoder(order="sorted")
# Between these, the shortest text of a float has no exponent in either.
_NATIVE_MIN = 1e-3
_NATIVE_MAX = 1e15


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


# What is made for every record holds no cycles, so the collector need not look at it (`gc=False`).
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


class ModelAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """The part of the envelope that the model writes, in the order in which it writes it."""

    reasoning: str
    formalizable_assertions: tuple[FormalizableAssertion, ...]
    kg_citations: tuple[KgCitation, ...]
    verdict: Verdict


class VerifierResult(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """SKI 4.5. A divergence starts with a stable code and a colon."""

    status: VerifierStatus
    checked_assertions: int
    divergences: tuple[str, ...] = ()


class ModelProvenance(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
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


class Envelope(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
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
    return plain_record(envelope)


def plain_record(record: Struct) -> dict[str, object]:
    """A record as plain JSON values; instants stay instants, since only canonical bytes give them their one text."""
    return to_builtins(record, builtin_types=(datetime,))  # type: ignore[no-any-return]  # a struct becomes an object


def canonical_envelope(envelope: Envelope) -> bytes:
    """The canonical bytes of an envelope."""
    is_simple = envelope.human_attestation is None
    for one in envelope.formalizable_assertions:
        is_native = is_native_number(one.observed) and is_native_number(one.value)
        is_simple = is_simple and is_native and type(one.window_seconds) is not float
    return canonical_record(envelope, is_simple=is_simple)


def canonical_record(record: Struct, *, is_simple: bool) -> bytes:
    """The canonical bytes of a record: written by a native encoder where that is canonical as it stands.

    `is_simple` is the caller's word that the record has no instants, and no floats but native ones.
    INVARIANT: equal to `canonicalize(plain_record(record))`; a property test holds it to that.
    """
    content = find_native(record) if is_simple else None
    return canonicalize(plain_record(record)) if content is None else content


def find_native(record: Struct) -> bytes | None:
    """What the native encoder writes of a simple record, if that is canonical.

    It sorts keys and adds no white space; escapes and texts beyond ASCII are found here, and are None: they go the
    long way.
    """
    content = _SORTED.encode(record)
    return content if content.isascii() and b"\\" not in content else None


def is_native_number(value: PlainOperand) -> bool:
    """Whether the native encoder writes it as ECMA-262 does: any float but the integral, very large and very small."""
    if type(value) is float:
        return _NATIVE_MIN <= abs(value) < _NATIVE_MAX and not value.is_integer()
    return type(value) is not tuple or all(is_native_number(part) for part in value)


def attested_hash(envelope: Envelope) -> Digest:
    """What an attestation is about: the canonical hash of the envelope without `human_attestation`."""
    content = render_envelope(envelope)
    content.pop("human_attestation")
    return canonical_digest(content)
