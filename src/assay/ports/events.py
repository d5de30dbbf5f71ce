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


class OutboxRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An event as it is stored; its entry records position and hash (`kernel.ledger.Event.hash`)."""

    position: int
    sequence_number: int
    type: str
    subject: str
    occurred_at: str
    body: str


class SubscriberCursor(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far a subscriber has confirmed, with a MAC under the credentials key."""

    subscriber: str
    position: int
    mac: str | None = None


class OutboxStore(Protocol):
    """Per tenant, positions count up from 1 without gaps; a subscriber's cursor says how far it has confirmed.

    An event that its entry does not record is never returned. Entries of 0.1.0 record none: their events are returned
    as they are stored.
    """

    def events(self, tenant_id: TenantId, *, after: int, limit: int) -> tuple[OutboxEvent, ...]:
        """Return what follows a position, up to the first gap; a gap right after it is `store.damaged_record`."""
        ...

    def recorded_since(self, tenant_id: TenantId) -> int:
        """The number of the first entry that a version wrote which records events; one more than the head before."""
        ...

    def entries_about(self, tenant_id: TenantId, ticket_id: TicketId) -> tuple[int, ...]:
        """The sequence numbers of the entries with an event about this ticket, in order."""
        ...

    def newest(self, tenant_id: TenantId) -> int:
        """The position of the tenant's latest event; 0 before the first."""
        ...

    def cursor(self, tenant_id: TenantId, subscriber: str) -> int:
        """Return how far the subscriber has confirmed.

        Where the MAC does not hold it is the last event that 0.1.0 wrote, or 0: the rest is sent again, none is missed.
        """
        ...

    def confirm(self, tenant_id: TenantId, subscriber: str, position: int) -> None:
        """Move a cursor forward; it never moves back."""
        ...
