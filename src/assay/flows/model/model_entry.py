"""How models are written down: weights that became known, what was measured of them, and which came into use."""

import msgspec
from msgspec import Raw, Struct

from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, Event, draft_entry
from assay.model.figures import Figures
from assay.model.manifest import Manifest
from assay.ports.database import Unit
from assay.ports.model_store import ModelActivation, ModelEvaluation, RegisteredModel


class ModelAdded(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `model.added` entry."""

    manifest: Manifest
    added_by: PrincipalId


class ModelEvaluated(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `model.evaluated` entry: which weights, on which cases, and what was found."""

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


def record_model(
    unit: Unit, tenant_id: TenantId, manifest: Manifest, *, by: PrincipalId, at: Instant
) -> RegisteredModel | None:
    """None where these weights are known already; what is known of them then stays."""
    if unit.models.find_model(tenant_id, manifest.weight_hash) is not None:
        return None
    body = ModelAdded(manifest=manifest, added_by=by)
    receipt = unit.record(_entry(tenant_id, EntryKind.MODEL_ADDED, body, manifest.weight_hash, at))
    model = RegisteredModel(
        weight_hash=manifest.weight_hash,
        name=manifest.name,
        version=manifest.version,
        parent_hash=manifest.parent_hash,
        size=manifest.size,
        manifest=msgspec.json.encode(manifest).decode(),
        by=by,
        added_at=at,
        sequence_number=receipt.sequence_number,
    )
    unit.models.add_model(tenant_id, model)
    return model


def record_evaluation(
    unit: Unit,
    tenant_id: TenantId,
    weight_hash: Digest,
    cases_hash: Digest,
    figures: Figures,
    *,
    by: PrincipalId,
    at: Instant,
) -> ModelEvaluation:
    """What this node found itself; figures that somebody only claims have no way in."""
    body = ModelEvaluated(weight_hash=weight_hash, cases_hash=cases_hash, figures=figures, evaluated_by=by)
    receipt = unit.record(_entry(tenant_id, EntryKind.MODEL_EVALUATED, body, weight_hash, at))
    evaluation = ModelEvaluation(
        sequence_number=receipt.sequence_number,
        weight_hash=weight_hash,
        cases_hash=cases_hash,
        cases=figures.cases,
        figures=msgspec.json.encode(figures).decode(),
        by=by,
        evaluated_at=at,
    )
    unit.models.add_evaluation(tenant_id, evaluation)
    return evaluation


def record_activation(
    unit: Unit,
    tenant_id: TenantId,
    weight_hash: Digest,
    before_hash: Digest,
    *,
    ticket_id: TicketId,
    by: PrincipalId,
    at: Instant,
) -> ModelActivation:
    """From this entry on these weights judge."""
    body = ModelActivated(weight_hash=weight_hash, before_hash=before_hash, ticket_id=ticket_id, activated_by=by)
    receipt = unit.record(_entry(tenant_id, EntryKind.MODEL_ACTIVATED, body, weight_hash, at))
    activation = ModelActivation(
        sequence_number=receipt.sequence_number,
        weight_hash=weight_hash,
        before_hash=before_hash,
        ticket_id=ticket_id,
        by=by,
        activated_at=at,
    )
    unit.models.activate(tenant_id, activation)
    return activation


def _entry(tenant_id: TenantId, kind: EntryKind, body: Struct, weight_hash: Digest, at: Instant) -> Draft:
    event = Event(type=kind.value, subject=weight_hash, body=Raw(canonicalize({"weight_hash": weight_hash})))
    return draft_entry(tenant_id, kind, body, at=at, events=(event,))
