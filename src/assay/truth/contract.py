"""A contract: the law of one claim type (Kaori 6), every number in it exact.

YAML text -> `parse_contract` -> Contract -> `claim_type_hash`
Nothing that decides has a default: a block that may be left out does not apply when it is, and that never changes.
"""

from functools import cached_property
from hashlib import sha256
from typing import Annotated

from msgspec import Struct

from assay.truth._contract_ai import (
    AiValidationRouting,
    Autovalidation,
    Band,
    HumanGating,
    Route,
    Stage,
    StageName,
    StageRoutes,
)
from assay.truth._contract_consensus import (
    AuthorityEscalation,
    Comparison,
    ConsensusModel,
    ConsensusType,
    CriticalCase,
    CriticalCondition,
    CriticalLane,
    DisputeResolution,
    FlowMode,
    ImplicitConsensus,
    MonitorLane,
    PosteriorDependence,
    PosteriorRule,
    StateVerificationPolicy,
    TimeoutAction,
    ValidationFlow,
)
from assay.truth._contract_form import FormField, Widget, read_form
from assay.truth._contract_outcome import (
    CENTRES,
    LEVELS,
    ROBUST,
    CalibrationKnot,
    ConfidenceComponent,
    ConfidenceModel,
    ConfidenceModifier,
    ConfidenceSource,
    ConfidenceThresholds,
    ContradictionAction,
    ContradictionComparison,
    ContradictionRule,
    CreditReason,
    Derivation,
    DerivationStrategy,
    ModifierCondition,
    Normalisation,
    NormalisationMethod,
    TemporalDecay,
)
from assay.truth._contract_subject import (
    EmbeddingSimilarity,
    EvidencePolicy,
    EvidenceSimilarity,
    EvidenceStorage,
    HashSimilarity,
    RiskProfile,
    SimilarityAction,
    SimilarityMethod,
    Standing,
    TruthKeyPolicy,
    VoteType,
)
from assay.truth._read import Size
from assay.truth.forms import ClaimTypeId, HexHash, Name, PayloadPath, Positive, SchemaRef, Segment, VersionText
from assay.truth.number import whole_millionths
from assay.truth.reading import ReadingPlan, plan_readings
from assay.truth.validation import schema_text

__all__ = [
    "CENTRES",
    "LEVELS",
    "ROBUST",
    "AiValidationRouting",
    "AuthorityEscalation",
    "Autovalidation",
    "Band",
    "CalibrationKnot",
    "Comparison",
    "ConfidenceComponent",
    "ConfidenceModel",
    "ConfidenceModifier",
    "ConfidenceSource",
    "ConfidenceThresholds",
    "ConsensusModel",
    "ConsensusType",
    "Contract",
    "ContractFields",
    "ContradictionAction",
    "ContradictionComparison",
    "ContradictionRule",
    "CreditReason",
    "CriticalCase",
    "CriticalCondition",
    "CriticalLane",
    "Derivation",
    "DerivationStrategy",
    "DisputeResolution",
    "EmbeddingSimilarity",
    "EvidencePolicy",
    "EvidenceSimilarity",
    "EvidenceStorage",
    "FlowMode",
    "FormField",
    "HashSimilarity",
    "HumanGating",
    "ImplicitConsensus",
    "ModifierCondition",
    "MonitorLane",
    "Normalisation",
    "NormalisationMethod",
    "PosteriorDependence",
    "PosteriorRule",
    "RiskProfile",
    "Route",
    "SimilarityAction",
    "SimilarityMethod",
    "Stage",
    "StageName",
    "StageRoutes",
    "Standing",
    "StateVerificationPolicy",
    "TemporalDecay",
    "TimeoutAction",
    "TruthKeyPolicy",
    "ValidationFlow",
    "VoteType",
    "Widget",
    "contract_hash",
]


class ContractFields(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """The blocks of a contract as its YAML names them; made by `parse_contract`, which refuses."""

    id: ClaimTypeId
    version: VersionText
    domain: Segment
    topic: Segment
    risk_profile: RiskProfile
    policy_version: VersionText
    truthkey: TruthKeyPolicy
    evidence: EvidencePolicy
    ai_validation_routing: AiValidationRouting
    autovalidation: Autovalidation
    human_gating: HumanGating
    validation_flow: ValidationFlow
    consensus_model: ConsensusModel
    confidence_model: ConfidenceModel
    state_verification_policy: StateVerificationPolicy
    dispute_resolution: DisputeResolution
    temporal_decay: TemporalDecay
    claim_derivation: Annotated[dict[PayloadPath, Derivation], Size(1)]
    evidence_similarity: EvidenceSimilarity | None = None
    implicit_consensus: ImplicitConsensus | None = None
    contradiction_rules: tuple[ContradictionRule, ...] = ()
    critical_when: tuple[CriticalCase, ...] = ()
    credits: dict[Name, Positive] = {}
    ui_schema: dict[str, object] = {}
    output_schema: dict[str, object] | None = None
    output_schema_ref: SchemaRef | None = None
    output_schema_sha256: HexHash | None = None


class Contract(ContractFields, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A contract that was read whole and found sound.

    `document` is the canonical JSON (`kaori-2.1`) of everything its author wrote, with the SHA-256 of a referenced
    schema; reading it again, with the same schema bytes, gives the same contract. `schema` is the schema either way.
    """

    schema: dict[str, object]
    document: str
    claim_type_hash: HexHash

    def canonical(self) -> str:
        """The text that `claim_type_hash` is the SHA-256 of (Kaori 3.4, 6.3)."""
        return self.document

    # What every compilation asks for, worked out once; no part of the contract's value or bytes.
    @cached_property
    def schema_text(self) -> str:
        """The schema's canonical text."""
        return schema_text(self.schema)

    @cached_property
    def form_fields(self) -> tuple[FormField, ...]:
        """What `ui_schema` asks observers for."""
        return read_form(self.ui_schema)

    @cached_property
    def reading_plan(self) -> ReadingPlan:
        return plan_readings(self.claim_derivation.values(), self.contradiction_rules)

    @cached_property
    def role_weights(self) -> tuple[int, ...]:
        """In millionths, by the rank of a standing; the last, at -1, is that of whoever is not heard: 0."""
        return (*[whole_millionths(self.consensus_model.weighted_roles[standing]) for standing in Standing], 0)


def contract_hash(document: str) -> str:
    """Kaori 6.3, of the canonical document."""
    return sha256(document.encode()).hexdigest()
