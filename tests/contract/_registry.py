"""Rows of the registry, as a flow would add them."""

from msgspec.structs import asdict

from assay.flows.registry.registry_entry import listing_entry, tier_entry
from assay.kernel.digest import digest_of
from assay.kernel.ids import KeyId, PrincipalId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft
from assay.ports.database import Unit
from assay.ports.registry_store import (
    HeldLease,
    LoggedAction,
    NodeKey,
    NodeKeyEnd,
    NodeProof,
    NodeSwitchFact,
    ProofRecord,
    RegisteredKey,
    RevokedKey,
    SwitchFact,
    WorkerCounts,
)
from assay.registry.discover import ServiceEntry
from assay.registry.tier_change import TierChange
from tests.contract._kit import AT
from tests.contract._records import ACME
from tests.contract._unchecked import put

__all__ = [
    "action",
    "counts",
    "fact",
    "fill_registry",
    "key",
    "lease",
    "listed",
    "node_key",
    "node_key_end",
    "proof",
    "revoked",
    "tier",
]

_KEY = KeyId("sha256:" + "ab" * 32)


def fact(position: int = 1, *, service: str = "port", kind: str = "fired") -> SwitchFact:
    return SwitchFact(service_id=service, position=position, kind=kind, text='{"a":1}', recorded_at=AT)


def counts(worker: str = "w1", *, text: str = "{}", at: Instant = AT) -> WorkerCounts:
    return WorkerCounts(service_id="port", worker_id=worker, text=text, updated_at=at)


def action(name: str = "log_1", *, at: Instant = AT) -> LoggedAction:
    return LoggedAction(
        log_id=name,
        service_id="port",
        action_id="BOOK",
        principal_id=PrincipalId("agent:a"),
        parameters_hash=digest_of(b"{}"),
        text="{}",
        logged_at=at,
    )


def key() -> RegisteredKey:
    return RegisteredKey(
        service_id="port", key_id=_KEY, public_key="cd" * 32, by=PrincipalId("user:olga"), registered_at=AT
    )


def revoked() -> RevokedKey:
    return RevokedKey(service_id="port", key_id=_KEY, reason="stolen", by=PrincipalId("user:olga"), revoked_at=AT)


def node_key() -> NodeKey:
    return NodeKey(**asdict(key()), sequence_number=1)


def node_key_end() -> NodeKeyEnd:
    return NodeKeyEnd(**asdict(revoked()), sequence_number=2)


def lease(instance: str = "i1", *, service: str = "port", text: str = "{}") -> HeldLease:
    return HeldLease(service_id=service, instance_id=instance, lease=text, announce="{}", expires_at=AT)


def listed(service: str = "port", *, tier: int = 2, is_there: bool = True) -> Draft:
    found = ServiceEntry(id=service, domain="port", capability_mask=1, tier=tier) if is_there else None
    return listing_entry(ACME, service, found, "served as declared", at=AT)


def proof(at: Instant = AT) -> ProofRecord:
    return ProofRecord(service_id="port", measured_at=at, proof_hash=digest_of(b"p"), text="{}")


def tier(version: int = 1, *, subject: str = "ai:planner") -> TierChange:
    return TierChange(
        subject=subject,
        version=version,
        from_tier=1,
        to_tier=2,
        reason="more work",
        ticket_id=None,
        changed_by=PrincipalId("user:olga"),
        changed_at=AT,
    )


def fill_registry(unit: Unit) -> None:
    """One row at least in every table."""
    put(unit, ACME, NodeSwitchFact(**asdict(fact()), sequence_number=1), node_key(), node_key_end())
    put(unit, ACME, NodeProof(**asdict(proof()), sequence_number=1))
    unit.registry.put_lease(ACME, lease())
    unit.record(listed())
    unit.record(tier_entry(ACME, tier()))
