"""Events: written with the entry that caused them, read back in order by whoever subscribed."""

from typing import Protocol

from msgspec import Raw, Struct

from assay.kernel.ids import TenantId, TicketId
from assay.kernel.instant import Instant


class OutboxEvent(Struct, frozen=True, kw_only=True):
    """One event in its tenant's order; `ledger_sequence` names the entry it was committed with."""

    tenant_id: TenantId
    position: int
    ledger_sequence: int
    type: str
    subject: str
    occurred_at: Instant
    body: Raw


class OutboxStore(Protocol):
    """Per tenant, positions count up from 1 without gaps; a subscriber's cursor says how far it has confirmed."""

    def events(self, tenant_id: TenantId, *, after: int, limit: int) -> tuple[OutboxEvent, ...]: ...

    def entries_about(self, tenant_id: TenantId, ticket_id: TicketId) -> tuple[int, ...]:
        """The sequence numbers of the entries with an event about this ticket, in order."""
        ...

    def newest(self, tenant_id: TenantId) -> int:
        """The position of the tenant's latest event; 0 before the first."""
        ...

    def cursor(self, tenant_id: TenantId, subscriber: str) -> int: ...

    def confirm(self, tenant_id: TenantId, subscriber: str, position: int) -> None:
        """Move a cursor forward; it never moves back."""
        ...
