"""A claim bundle: what an agent claims, on what evidence, how sure, and what it would cost to be wrong.

claims + evidence + uncertainty -> ClaimBundle -> `bundle_hash`
The hash covers the bundle without `decision`, `reason`, `required_approvals` and `audit_trail`: those are what gates
and people add to it, and an approval that covered them would be void the moment it was written down.
"""

from datetime import datetime
from enum import StrEnum
from functools import lru_cache

from msgspec import Struct, to_builtins

from assay.identity.risk import RiskTier
from assay.kernel.canonical import canonical_digest, canonicalize
from assay.kernel.digest import Digest
from assay.kernel.instant import Instant

HEX_DIGITS = 64


class ClaimType(StrEnum):
    FACT = "FACT"
    INFERENCE = "INFERENCE"
    DECISION = "DECISION"


class UncertaintyMethod(StrEnum):
    SEMANTIC_ENTROPY = "semantic_entropy"
    MODEL_DISAGREEMENT = "model_disagreement"
    CONFIDENCE_SCORE = "confidence_score"
    CONFORMAL_SET = "conformal_set"


class Recommendation(StrEnum):
    """From the mildest to the strictest."""

    EXECUTE = "EXECUTE"
    EXPLAIN = "EXPLAIN"
    DEFER = "DEFER"
    REFUSE = "REFUSE"

    @property
    def rank(self) -> int:
        return _RECOMMENDATION_RANK[self]


_RECOMMENDATION_RANK = {one: rank for rank, one in enumerate(Recommendation)}


class Decision(StrEnum):
    """From the mildest to the strictest."""

    PUBLISH = "PUBLISH"
    DEFER = "DEFER"
    ESCALATE = "ESCALATE"
    REFUSE = "REFUSE"


class HumanDecision(StrEnum):
    APPROVED = "APPROVED"
    REJECTED = "REJECTED"


class GateName(StrEnum):
    """In the order of the chain; read as `evidence_gate` or as "Evidence Gate"."""

    EVIDENCE = "evidence_gate"
    UNCERTAINTY = "uncertainty_gate"
    SECURITY = "security_gate"
    ADVERSARIAL = "adversarial_gate"
    HUMAN_APPROVAL = "human_approval_gate"


class EvidencePointer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a claim comes from. `evidence_hash` is SHA-256 of the content in hex, shorter only in legacy bundles.

    What is None was not given; a claim that needs it fails the evidence gate, which says so.
    """

    source: str
    source_confidence: float
    evidence_hash: str | None = None
    retrieved_at: Instant | None = None


class Uncertainty(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """0 is certain, 1 is not at all; also for `confidence_score`, whose value is one minus the confidence."""

    method: UncertaintyMethod
    value: float
    interpretation: str = ""
    gate_recommendation: Recommendation = Recommendation.EXECUTE


class Claim(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    statement: str
    claim_type: ClaimType
    evidence_pointers: tuple[EvidencePointer, ...] = ()
    uncertainty: Uncertainty
    risk_tier: RiskTier
    if_wrong_cost: str = ""


class HumanApproval(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a bundle says about an approval: for readers only, no gate believes it."""

    approver: str
    timestamp: Instant
    decision: HumanDecision
    reason: str = ""


class AuditTrail(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    gates_passed: tuple[str, ...] = ()
    gates_failed: tuple[str, ...] = ()
    human_approvals: tuple[HumanApproval, ...] = ()


class ClaimBundle(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    timestamp: Instant
    origin_agent: str
    claims: tuple[Claim, ...]
    decision: Decision = Decision.DEFER
    reason: str = ""
    required_approvals: tuple[str, ...] = ()
    audit_trail: AuditTrail = AuditTrail()


def render_bundle(bundle: ClaimBundle) -> bytes:
    """Canonical JSON (`ski-3.0`) that reads back as the same bundle."""
    return canonicalize(bundle)


# Reading, gating and recording one bundle each ask for its hash; the few in flight are remembered.
@lru_cache(maxsize=64)
def bundle_hash(bundle: ClaimBundle) -> Digest:
    """What approvals bind (profile `ski-3.0`): all that the agent said, nothing that was added to it.

    The same as the hash of what `render_bundle` writes, with the other four fields taken out.
    """
    said = {
        "id": bundle.id,
        "timestamp": bundle.timestamp,
        "origin_agent": bundle.origin_agent,
        "claims": bundle.claims,
    }
    # Plain values first: the canonical writer is quickest with them, and the bytes are the same.
    return canonical_digest(to_builtins(said, builtin_types=(datetime,)))


def is_full_hash(evidence_hash: str) -> bool:
    """Whether a hash that was read is a whole SHA-256."""
    return len(evidence_hash) == HEX_DIGITS
