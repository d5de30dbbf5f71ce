"""Evidence is kept under its own hash, so that a bundle that points at it can be held against it.

content -> sha256 -> entry and row; the same content again is what is there already
The content lies apart, and can be erased (`erase_record`): entry, hash and every decision that rests on it stay.
"""

from collections.abc import Mapping
from hashlib import sha256

from msgspec import Struct

from assay.claims.bundle import ClaimBundle
from assay.claims.errors import BundleError
from assay.claims.evidence import check_content
from assay.claims.problem import ClaimProblem, ClaimProblemCode
from assay.flows.claims.claims_entry import evidence_entry
from assay.flows.errors.claims import EvidenceErasedError, EvidenceSizeError
from assay.flows.identity.admit_principal import admit_principal
from assay.flows.tools import Tools
from assay.identity.problem import shortened
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.claims_store import HeldEvidence
from assay.ports.database import Unit

LARGEST_EVIDENCE = 8 * 1024 * 1024


class AttachedEvidence(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a pointer says as `evidence_hash`; `is_new` is false where the same content was there."""

    evidence_hash: str
    size: int
    sequence_number: int
    is_new: bool


def attach_evidence(tools: Tools, content: bytes, *, credential: str, at: Instant) -> AttachedEvidence:
    """Keep the content of a piece of evidence, for anyone who is signed in; it is durable when this returns."""
    require_size(content)
    # Hashed on the caller's thread: the writer has others to serve.
    hashed = sha256(content).hexdigest()

    def work(unit: Unit) -> AttachedEvidence:
        principal = admit_principal(unit, credential, at=at)
        known = _find_kept(unit, principal.tenant_id, hashed)
        held = known or _keep(unit, principal.tenant_id, hashed, content, by=principal.id, at=at)
        return AttachedEvidence(
            evidence_hash=hashed, size=held.size, sequence_number=held.sequence_number, is_new=known is None
        )

    return tools.database.write(work)


def keep_contents(
    unit: Unit,
    tenant_id: TenantId,
    bundle: ClaimBundle,
    contents: Mapping[str, bytes],
    *,
    by: PrincipalId,
    at: Instant,
) -> None:
    """Keep what came with a bundle; content that no pointer of its source names is refused, since it proves nothing."""
    pointers = [pointer for claim in bundle.claims for pointer in claim.evidence_pointers]
    for source, content in sorted(contents.items()):
        require_size(content)
        if not any(pointer.source == source and check_content(pointer, content) for pointer in pointers):
            raise BundleError([_mismatch(source, content)])
        hashed = sha256(content).hexdigest()
        if _find_kept(unit, tenant_id, hashed) is None:
            _keep(unit, tenant_id, hashed, content, by=by, at=at)


def _find_kept(unit: Unit, tenant_id: TenantId, hashed: str) -> HeldEvidence | None:
    """What was erased does not come back by the next agent that still has a copy."""
    known = unit.claims.find_evidence(tenant_id, hashed)
    if known is not None and known.content is None:
        raise EvidenceErasedError(f"expected evidence that may be kept, got {hashed}, which was erased")
    return known


def require_size(content: bytes) -> None:
    if len(content) > LARGEST_EVIDENCE:
        raise EvidenceSizeError(f"expected at most {LARGEST_EVIDENCE} bytes, got {len(content)}")


def _mismatch(source: str, content: bytes) -> ClaimProblem:
    told = f"expected content that a pointer of `{shortened(source)}` names, got {sha256(content).hexdigest()}"
    return ClaimProblem(pointer="/claims", code=ClaimProblemCode.FORM, message=told)


def _keep(
    unit: Unit, tenant_id: TenantId, hashed: str, content: bytes, *, by: PrincipalId, at: Instant
) -> HeldEvidence:
    draft = HeldEvidence(
        sha256=hashed, size=len(content), content=content, attached_by=by, attached_at=at, sequence_number=0
    )
    receipt = unit.record(evidence_entry(tenant_id, draft))
    held = HeldEvidence(
        sha256=hashed,
        size=len(content),
        content=content,
        attached_by=by,
        attached_at=at,
        sequence_number=receipt.sequence_number,
    )
    unit.claims.add_evidence(tenant_id, held)
    return held
