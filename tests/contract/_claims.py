"""Rows of claims, as a flow would add them."""

from hashlib import sha256

from assay.kernel.digest import Digest, digest_of
from assay.kernel.ids import KeyId, PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.ports.claims_store import (
    EvidenceFact,
    HeldEvidence,
    ReceivedBundle,
    RecordedDecision,
    ReleasedClaimsPolicy,
    TakenTurn,
)
from assay.ports.database import Unit
from tests.contract._kit import AT
from tests.contract._records import ACME
from tests.contract._unchecked import put

__all__ = ["AGENT", "blob", "decided", "fill_claims", "gate_policy", "put_evidence", "received", "turn"]

AGENT = PrincipalId("ai:surveyor")


def gate_policy(number: int = 1, *, version: str = "1", name: str = "default") -> ReleasedClaimsPolicy:
    return ReleasedClaimsPolicy(
        policy_hash=digest_of(f"{name} {version}".encode()),
        policy_id=name,
        version=version,
        document=f'id: {name}\nversion: "{version}"\n',
        key_id=KeyId("sha256:" + "ab" * 32),
        signature="cd" * 64,
        released_at=AT,
        released_by=PrincipalId("user:olga"),
        sequence_number=number,
    )


def received(
    name: str = "a",
    number: int = 1,
    *,
    by: PrincipalId = AGENT,
    tier: str = "READ_ONLY",
    thread: str | None = None,
    resumes: Digest | None = None,
    at: Instant = AT,
) -> ReceivedBundle:
    return ReceivedBundle(
        bundle_hash=digest_of(name.encode()),
        bundle_id=name,
        submitted_by=by,
        tier=tier,
        thread=thread,
        resumes=resumes,
        text="{}",
        context="{}",
        received_at=at,
        sequence_number=number,
    )


def decided(name: str = "a", position: int = 1, *, decision: str = "DEFER") -> RecordedDecision:
    return RecordedDecision(
        bundle_hash=digest_of(name.encode()),
        position=position,
        decision=decision,
        reason="evidence_gate: no evidence",
        policy_hash=digest_of(b"policy"),
        text="{}",
        decided_at=AT,
        sequence_number=position + 1,
    )


def blob(content: bytes = b"\x00\xffdepth,30\n") -> HeldEvidence:
    return HeldEvidence(
        sha256=sha256(content).hexdigest(),
        size=len(content),
        content=content,
        attached_by=AGENT,
        attached_at=AT,
        sequence_number=1,
    )


def turn(name: str = "a", *, by: PrincipalId = AGENT, at: Instant = AT, position: int = 1) -> TakenTurn:
    taken = digest_of(name.encode())
    return TakenTurn(bundle_hash=taken, submitted_by=by, position=position, taken_at=at, sequence_number=2)


def put_evidence(unit: Unit, tenant_id: TenantId, evidence: HeldEvidence) -> None:
    """The row and the content, as the flow stores them."""
    fact = EvidenceFact(**{name: getattr(evidence, name) for name in EvidenceFact.__struct_fields__})
    put(unit, tenant_id, fact)
    if evidence.content is not None:
        unit.claims.add_content(tenant_id, evidence.sha256, evidence.content)


def fill_claims(unit: Unit) -> None:
    """One row at least in every table."""
    put(unit, ACME, gate_policy())
    put(unit, ACME, received())
    put(unit, ACME, received("b", 2, resumes=digest_of(b"a"), thread="t"))
    put(unit, ACME, decided())
    put(unit, ACME, turn())
    put_evidence(unit, ACME, blob())
