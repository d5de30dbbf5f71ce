"""Services, their keys, switches and tiers."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from assay.facts.kinds import Fact, Projected, Table, Transient
from assay.kernel.canonical import canonical_json
from assay.kernel.digest import Digest, digest_of
from assay.kernel.entry import Entry
from assay.kernel.ids import KeyId, PrincipalId
from assay.kernel.ledger import EntryKind
from assay.ports.registry_store import (
    ChangedTier,
    HeldLease,
    IndexedService,
    LoggedAction,
    NodeKey,
    NodeKeyEnd,
    NodeProof,
    NodeSwitchFact,
    WorkerCounts,
)
from assay.registry.trip import Fired, Restored


class KeyAdded(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `service.key_added` entry."""

    service_id: str
    key_id: KeyId
    public_key: str
    registered_by: PrincipalId


class KeyRevoked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `service.key_revoked` entry; `instances` lost the lease that they held by this key."""

    service_id: str
    key_id: KeyId
    reason: str
    revoked_by: PrincipalId
    instances: tuple[str, ...]


class ProofMeasured(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `proof.measured` entry: the PROOF document by its hash."""

    service_id: str
    proof_hash: Digest
    coverage_pct: float
    rules_certified: int
    measured_by: PrincipalId


def _fired_rows(entry: Entry, body: Fired) -> Iterator[NodeSwitchFact]:
    yield _switch_row(entry, body, 2 * body.episode - 1, "fired")


def _restored_rows(entry: Entry, body: Restored) -> Iterator[NodeSwitchFact]:
    yield _switch_row(entry, body, 2 * body.episode, "restored")


def _switch_row(entry: Entry, body: Fired | Restored, position: int, kind: str) -> NodeSwitchFact:
    """Firings and restores of a service take turns, so the episode says which place a fact has."""
    return NodeSwitchFact(
        service_id=body.service_id,
        position=position,
        kind=kind,
        text=canonical_json(body),
        recorded_at=entry.timestamp,
        sequence_number=entry.sequence_number,
    )


def _key_rows(entry: Entry, body: KeyAdded) -> Iterator[NodeKey]:
    yield NodeKey(
        service_id=body.service_id,
        key_id=body.key_id,
        public_key=body.public_key,
        by=body.registered_by,
        registered_at=entry.timestamp,
        sequence_number=entry.sequence_number,
    )


def _key_end_rows(entry: Entry, body: KeyRevoked) -> Iterator[NodeKeyEnd]:
    yield NodeKeyEnd(
        service_id=body.service_id,
        key_id=body.key_id,
        reason=body.reason,
        by=body.revoked_by,
        revoked_at=entry.timestamp,
        sequence_number=entry.sequence_number,
    )


def _proof_rows(entry: Entry, body: ProofMeasured) -> Iterator[NodeProof]:
    yield NodeProof(
        service_id=body.service_id,
        measured_at=entry.timestamp,
        proof_hash=body.proof_hash,
        text=body.proof_hash,
        sequence_number=entry.sequence_number,
    )


def _seal_proof(row: NodeProof) -> NodeProof:
    return replace(row, text=digest_of(row.text.encode()))


FACTS: tuple[Fact, ...] = (
    Fact(EntryKind.SWITCH_FIRED, Fired, _fired_rows, into=(NodeSwitchFact,)),
    Fact(EntryKind.SWITCH_RESTORED, Restored, _restored_rows, into=(NodeSwitchFact,)),
    Fact(EntryKind.SERVICE_KEY_ADDED, KeyAdded, _key_rows, into=(NodeKey,)),
    Fact(EntryKind.SERVICE_KEY_REVOKED, KeyRevoked, _key_end_rows, into=(NodeKeyEnd,)),
    Fact(EntryKind.PROOF_MEASURED, ProofMeasured, _proof_rows, into=(NodeProof,)),
)
TABLES = (
    Table(
        "switch_fact",
        Projected(NodeSwitchFact),
        keys=("service_id",),
        taken="fact {position} about the switch of `{service_id}`",
    ),
    Table(
        "service_key",
        Projected(NodeKey),
        keys=("service_id", "key_id"),
        taken="the key `{key_id}` of `{service_id}`",
    ),
    Table(
        "service_key_end",
        Projected(NodeKeyEnd),
        keys=("service_id", "key_id"),
        taken="the end of the key `{key_id}` of `{service_id}`",
    ),
    Table("service_entry", Projected(IndexedService), pending=True),
    Table(
        "service_proof",
        Projected(NodeProof, seal=_seal_proof),
        keys=("service_id",),
        taken="the proof of `{service_id}` at {measured_at}",
    ),
    Table("tier_change", Projected(ChangedTier), pending=True),
    Table("service_worker", Transient("not examined yet", row=WorkerCounts), pending=True),
    Table(
        "service_counter",
        Transient("not examined yet"),
        columns=("tenant_id", "service_id", "name", "number"),
        pending=True,
    ),
    Table("service_action", Projected(LoggedAction), pending=True),
    Table("service_lease", Transient("not examined yet", row=HeldLease), pending=True),
)
