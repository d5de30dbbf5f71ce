"""Services, their keys, switches and tiers."""

from collections.abc import Iterator, MutableMapping
from typing import Any

import msgspec
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
    NodeKey,
    NodeKeyEnd,
    NodeProof,
    NodeSwitchFact,
)
from assay.registry.discover import ServiceEntry
from assay.registry.tier_change import TierChange
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


class ServiceListed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `service.listed` or `service.unlisted` entry: the index from now on, and what was found."""

    service_id: str
    entry: ServiceEntry | None
    reason: str


class ServiceCounted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of an `escalation.attempted` or `switch.tested` entry: their number is what is counted."""

    service_id: str


def _listed_rows(entry: Entry, body: ServiceListed) -> Iterator[IndexedService]:
    yield IndexedService(
        service_id=body.service_id,
        text=msgspec.json.encode(body.entry).decode(),
        checked_at=entry.timestamp,
        sequence_number=entry.sequence_number,
    )


def _fold_listed(rows: MutableMapping[Any, Any], entry: Entry) -> None:
    body = msgspec.json.decode(entry.body, type=ServiceListed)
    rows.pop(body.service_id, None)
    if entry.kind is EntryKind.SERVICE_LISTED:
        rows.update((row.service_id, row) for row in _listed_rows(entry, body))


def _tier_rows(entry: Entry, body: TierChange) -> Iterator[ChangedTier]:
    yield ChangedTier(
        subject=body.subject,
        version=body.version,
        text=bytes(entry.body).decode(),
        changed_at=body.changed_at,
        sequence_number=entry.sequence_number,
    )


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
    Fact(EntryKind.SERVICE_LISTED, ServiceListed, _listed_rows, into=(IndexedService,)),
    Fact(EntryKind.TIER_CHANGED, TierChange, _tier_rows, into=(ChangedTier,)),
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
    Table(
        "service_entry",
        Projected(IndexedService, fold=_fold_listed, folds=(EntryKind.SERVICE_LISTED, EntryKind.SERVICE_UNLISTED)),
        keys=("service_id",),
        replaces=("service_id",),
    ),
    Table(
        "service_proof",
        Projected(NodeProof, seal=_seal_proof),
        keys=("service_id",),
        taken="the proof of `{service_id}` at {measured_at}",
    ),
    Table(
        "tier_change",
        Projected(ChangedTier),
        keys=("subject",),
        taken="change {version} of the tier of `{subject}`",
    ),
    Table(
        "service_lease",
        Transient(
            "nothing: a lease carries a MAC under a key outside the database, and one without it is not there; a"
            " deleted or older one lasts until the service announces itself again",
            row=HeldLease,
        ),
    ),
)
