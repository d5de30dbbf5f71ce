"""Registered models: entries about weights, evaluations and activations, and the rows that follow from them."""

from collections.abc import Iterator

import msgspec
from msgspec import Raw, Struct

from assay.facts.kinds import Fact, Projected, Table
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest
from assay.kernel.entry import Entry
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, Event, draft_entry
from assay.model.figures import Figures
from assay.model.manifest import Manifest
from assay.ports.model_store import ModelActivation, ModelEvaluation, RegisteredModel


class ModelAdded(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `model.added` entry: everything about the weights but their bytes."""

    manifest: Manifest
    added_by: PrincipalId


class ModelEvaluated(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `model.evaluated` entry: what this node measured itself."""

    weight_hash: Digest
    cases_hash: Digest
    figures: Figures
    evaluated_by: PrincipalId


class ModelActivated(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `model.activated` entry: which weights judge now, instead of which, and whose answer it was."""

    weight_hash: Digest
    before_hash: Digest
    ticket_id: TicketId
    activated_by: PrincipalId


def added_entry(tenant_id: TenantId, manifest: Manifest, *, by: PrincipalId, at: Instant) -> Draft:
    body = ModelAdded(manifest=manifest, added_by=by)
    return _entry(tenant_id, EntryKind.MODEL_ADDED, body, manifest.weight_hash, at)


def evaluated_entry(
    tenant_id: TenantId, weight_hash: Digest, cases_hash: Digest, figures: Figures, *, by: PrincipalId, at: Instant
) -> Draft:
    body = ModelEvaluated(weight_hash=weight_hash, cases_hash=cases_hash, figures=figures, evaluated_by=by)
    return _entry(tenant_id, EntryKind.MODEL_EVALUATED, body, weight_hash, at)


def activated_entry(
    tenant_id: TenantId, weight_hash: Digest, before_hash: Digest, *, ticket_id: TicketId, by: PrincipalId, at: Instant
) -> Draft:
    body = ModelActivated(weight_hash=weight_hash, before_hash=before_hash, ticket_id=ticket_id, activated_by=by)
    return _entry(tenant_id, EntryKind.MODEL_ACTIVATED, body, weight_hash, at)


def _entry(tenant_id: TenantId, kind: EntryKind, body: Struct, weight_hash: Digest, at: Instant) -> Draft:
    event = Event(type=kind.value, subject=weight_hash, body=Raw(canonicalize({"weight_hash": weight_hash})))
    return draft_entry(tenant_id, kind, body, at=at, events=(event,))


def _added_rows(entry: Entry, body: ModelAdded) -> Iterator[RegisteredModel]:
    manifest = body.manifest
    yield RegisteredModel(
        weight_hash=manifest.weight_hash,
        name=manifest.name,
        version=manifest.version,
        parent_hash=manifest.parent_hash,
        size=manifest.size,
        manifest=msgspec.json.encode(manifest).decode(),
        by=body.added_by,
        added_at=entry.timestamp,
        sequence_number=entry.sequence_number,
    )


def _evaluated_rows(entry: Entry, body: ModelEvaluated) -> Iterator[ModelEvaluation]:
    yield ModelEvaluation(
        sequence_number=entry.sequence_number,
        weight_hash=body.weight_hash,
        cases_hash=body.cases_hash,
        cases=body.figures.cases,
        figures=msgspec.json.encode(body.figures).decode(),
        by=body.evaluated_by,
        evaluated_at=entry.timestamp,
    )


def _activated_rows(entry: Entry, body: ModelActivated) -> Iterator[ModelActivation]:
    yield ModelActivation(
        sequence_number=entry.sequence_number,
        weight_hash=body.weight_hash,
        before_hash=body.before_hash,
        ticket_id=body.ticket_id,
        by=body.activated_by,
        activated_at=entry.timestamp,
    )


FACTS: tuple[Fact, ...] = (
    Fact(EntryKind.MODEL_ADDED, ModelAdded, _added_rows, into=(RegisteredModel,)),
    Fact(EntryKind.MODEL_EVALUATED, ModelEvaluated, _evaluated_rows, into=(ModelEvaluation,)),
    Fact(EntryKind.MODEL_ACTIVATED, ModelActivated, _activated_rows, into=(ModelActivation,)),
)
TABLES = (
    Table("model", Projected(RegisteredModel), keys=("weight_hash",), taken="the model `{weight_hash}`"),
    Table(
        "model_evaluation",
        Projected(ModelEvaluation),
        keys=("weight_hash", "cases_hash"),
        taken="the evaluation of entry {sequence_number}",
    ),
    Table("model_activation", Projected(ModelActivation), keys=("ticket_id",), taken="the activation by `{ticket_id}`"),
)
