"""Models of a tenant: weight files by hash, what they were measured at, and which one came into use when."""

from typing import Protocol

from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant


class RegisteredModel(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Weights that are known; the bytes lie beside the database, `manifest` is the JSON that describes them."""

    weight_hash: Digest
    name: str
    version: str
    parent_hash: Digest | None
    size: int
    manifest: str
    by: PrincipalId
    added_at: Instant
    sequence_number: int


class ModelEvaluation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What this node measured of weights on a file of cases; `figures` is the JSON of them."""

    sequence_number: int
    weight_hash: Digest
    cases_hash: Digest
    cases: int
    figures: str
    by: PrincipalId
    evaluated_at: Instant


class ModelActivation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From this entry on these weights judge; `by` is the person who said so on the ticket."""

    sequence_number: int
    weight_hash: Digest
    before_hash: Digest
    ticket_id: TicketId
    by: PrincipalId
    activated_at: Instant


class ModelStore(Protocol):
    """Rows are added by `unit.record` and never changed. Weights that are known already are `store.conflict`, and so is
    a second activation by one ticket.
    """

    def find_model(self, tenant_id: TenantId, weight_hash: str) -> RegisteredModel | None: ...

    def models(self, tenant_id: TenantId) -> tuple[RegisteredModel, ...]:
        """In the order they were added."""
        ...

    def evaluations(self, tenant_id: TenantId, weight_hash: str) -> tuple[ModelEvaluation, ...]:
        """The latest first."""
        ...

    def activations(self, tenant_id: TenantId) -> tuple[ModelActivation, ...]:
        """In the order they happened. Which one is in force, `flows.model.known_weights.find_activation` says."""
        ...
