"""What is known of models: where they came from, what was found of them, and when each was in use."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from assay.flows.model.known_model import active_hash, get_manifest, shipped_cards, shipped_manifest
from assay.flows.request import Option, Page, Paged, Request, cut, map_page, read_number
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.kernel.digest import Digest, parse_digest
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.model.card import ModelCard
from assay.model.figures import Figures
from assay.model.manifest import Manifest
from assay.ports.database import Unit
from assay.ports.model_store import ModelActivation

_RATES = (
    ("verdict accuracy", "verdict_accuracy"),
    ("assertions right", "assertion_accuracy"),
    ("FLAG recall", "flag_recall"),
    ("silent CLEAR", "silent_clear"),
    ("agreement", "agreement"),
)
_COUNTS = (
    ("cases", "cases"),
    ("silent CLEARs", "silent_clears"),
    ("unparsable", "unparsable"),
    ("refused", "refusals"),
)


ACTIVE = "active"


class ListModels(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which page of the models."""


class ShowModel(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    weights: Annotated[
        str,
        Meta(description="The hash of the weights, or `active` for those that judge now."),
        Option(metavar="[HASH]"),
    ] = ACTIVE


class ListedModel(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of the registry; the shipped model was added by nobody."""

    weight_hash: Digest
    name: str
    version: str
    parent_hash: Digest | None
    size: int
    is_shipped: bool
    is_active: bool
    added_by: PrincipalId | None
    added_at: Instant | None


class FoundFigures(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One evaluation of this node."""

    cases_hash: Digest
    figures: Figures
    evaluated_by: PrincipalId
    evaluated_at: Instant
    sequence_number: int


class InUse(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When it came into use, and by whose answer."""

    activated_at: Instant
    by: PrincipalId
    ticket_id: TicketId
    sequence_number: int


class KnownModel(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The card of one model; `lineage` are the weights it came from, the nearest first. `card` is the shipped one's."""

    manifest: Manifest
    is_active: bool
    card: ModelCard | None
    lineage: tuple[Digest, ...]
    evaluations: tuple[FoundFigures, ...]
    activations: tuple[InUse, ...]


def models(tools: Tools, caller: Caller, request: ListModels) -> Page[ListedModel]:
    """List the weights that are known: the shipped ones first, then the others in the order they were added."""
    found, after = list_models(tools, caller.tenant_id), read_number("models", request.cursor)
    numbered = list(enumerate(found, 1))[after:]
    page = cut("models", numbered[: request.limit + 1], request.limit, lambda pair: pair[0])
    return map_page(page, lambda pair: pair[1])


def model(tools: Tools, caller: Caller, request: ShowModel) -> KnownModel:
    """Show the card of a model: what it came from, what was measured of it, and when it was in use."""
    return show_model(tools, caller.tenant_id, None if request.weights == ACTIVE else parse_digest(request.weights))


def list_models(tools: Tools, tenant_id: TenantId) -> tuple[ListedModel, ...]:
    """List the shipped ones first, the newest before earlier ones, then the others in the order they were added."""

    def look(unit: Unit) -> tuple[ListedModel, ...]:
        active, shipped = active_hash(unit, tenant_id), shipped_cards()
        known = [one for one in unit.models.models(tenant_id) if one.weight_hash not in shipped]
        return (
            *(_listed(shipped_manifest(weight_hash), active) for weight_hash in shipped),
            *(
                msgspec.structs.replace(
                    _listed(get_manifest(unit, tenant_id, one.weight_hash), active),
                    added_by=one.by,
                    added_at=one.added_at,
                )
                for one in known
            ),
        )

    return tools.database.read(look)


def show_model(tools: Tools, tenant_id: TenantId, weight_hash: Digest | None = None) -> KnownModel:
    """The one in use, unless told; refuses one that nobody knows."""

    def look(unit: Unit) -> KnownModel:
        active = active_hash(unit, tenant_id)
        chosen = weight_hash or active
        manifest = get_manifest(unit, tenant_id, chosen)
        return KnownModel(
            manifest=manifest,
            is_active=chosen == active,
            card=shipped_cards()[chosen][1] if chosen in shipped_cards() else None,
            lineage=_lineage(unit, tenant_id, manifest),
            evaluations=_evaluations(unit, tenant_id, chosen),
            activations=tuple(_in_use(one) for one in unit.models.activations(tenant_id) if one.weight_hash == chosen),
        )

    return tools.database.read(look)


def figure_lines(before: Figures | None, after: Figures | None) -> list[str]:
    """Both beside each other, for a person; a dash where nothing was measured."""
    rates = [f"  {name}: {_rate(before, field)} -> {_rate(after, field)}" for name, field in _RATES]
    return rates + [f"  {name}: {_count(before, field)} -> {_count(after, field)}" for name, field in _COUNTS]


def _rate(figures: Figures | None, field: str) -> str:
    return "-" if figures is None else f"{getattr(figures, field):.4%}"


def _count(figures: Figures | None, field: str) -> str:
    return "-" if figures is None else str(getattr(figures, field))


def _listed(manifest: Manifest, active: Digest) -> ListedModel:
    return ListedModel(
        weight_hash=manifest.weight_hash,
        name=manifest.name,
        version=manifest.version,
        parent_hash=manifest.parent_hash,
        size=manifest.size,
        is_shipped=manifest.weight_hash in shipped_cards(),
        is_active=manifest.weight_hash == active,
        added_by=None,
        added_at=None,
    )


def _lineage(unit: Unit, tenant_id: TenantId, manifest: Manifest) -> tuple[Digest, ...]:
    found: list[Digest] = []
    parent = manifest.parent_hash
    # INVARIANT: a parent is known before its child, so the line ends; a damaged one must not run for ever.
    while parent is not None and parent not in found:
        found.append(parent)
        parent = get_manifest(unit, tenant_id, parent).parent_hash
    return tuple(found)


def _evaluations(unit: Unit, tenant_id: TenantId, weight_hash: Digest) -> tuple[FoundFigures, ...]:
    return tuple(
        FoundFigures(
            cases_hash=one.cases_hash,
            figures=msgspec.json.decode(one.figures, type=Figures),
            evaluated_by=one.by,
            evaluated_at=one.evaluated_at,
            sequence_number=one.sequence_number,
        )
        for one in unit.models.evaluations(tenant_id, weight_hash)
    )


def _in_use(one: ModelActivation) -> InUse:
    return InUse(activated_at=one.activated_at, by=one.by, ticket_id=one.ticket_id, sequence_number=one.sequence_number)
