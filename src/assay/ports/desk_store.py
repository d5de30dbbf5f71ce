"""What the desk remembers beside tickets and answers: signed acts and escalations for good, the rest while it matters.

Acts and escalations are added once and never changed. Leases, held answers, drafts and views come and go: a lease and a
held answer are also entries of the ledger; a draft and a view are nobody's decision, and only here.
"""

from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct

from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.review.act import ActKind
from assay.review.escalate import Stage
from assay.review.lease import Lease


class StoredAct(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`text` is the JSON of the `Act`; the entry has it too, under `sequence_number`."""

    ticket_id: TicketId
    sequence_number: int
    kind: ActKind
    by: PrincipalId
    text: str


class StoredEscalation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`text` is the JSON of the `Escalation`; a ticket has one of each stage."""

    ticket_id: TicketId
    stage: Stage
    text: str
    sequence_number: int


class HeldRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer that does not count yet; `text` is the JSON of the `HeldAnswer`."""

    ticket_id: TicketId
    by: PrincipalId
    takes_effect_at: Instant
    text: str


class SavedDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person began to write about a ticket; nobody else ever sees it. `text` is the JSON of the reply."""

    ticket_id: TicketId
    by: PrincipalId
    text: str
    saved_at: Instant


class SavedView(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A filter under a name; `text` is its JSON. `shared` is 1 where everybody at the desk may use it."""

    by: PrincipalId
    name: str
    shared: int
    text: str
    saved_at: Instant


class PendingPower(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a second administrator is asked about, with its secrets' hashes; the ticket shows the hash of the text."""

    ticket_id: TicketId
    text: str


class DeskStore(Protocol):
    """Everything by tenant. Acts and escalations are recorded by `unit.record`."""

    def acts(self, tenant_id: TenantId, ticket_id: TicketId) -> tuple[StoredAct, ...]:
        """In the order of their entries."""
        ...

    def escalations(self, tenant_id: TenantId, ticket_id: TicketId) -> tuple[StoredEscalation, ...]: ...

    def acts_on(self, tenant_id: TenantId, ticket_ids: Iterable[TicketId]) -> tuple[StoredAct, ...]:
        """On any of these tickets; those on one ticket in their order. A few questions, however many tickets."""
        ...

    def escalations_on(self, tenant_id: TenantId, ticket_ids: Iterable[TicketId]) -> tuple[StoredEscalation, ...]:
        """As `acts_on`."""
        ...

    def leases_on(self, tenant_id: TenantId, ticket_ids: Iterable[TicketId]) -> tuple[Lease, ...]:
        """As `acts_on`; ended ones too."""
        ...

    def put_lease(self, tenant_id: TenantId, lease: Lease) -> None:
        """A person has one lease of a ticket: a second one takes the place of the first."""
        ...

    def leases(self, tenant_id: TenantId, ticket_id: TicketId) -> tuple[Lease, ...]:
        """Ended ones too; the caller asks the time."""
        ...

    def leases_of(self, tenant_id: TenantId, people: Iterable[PrincipalId]) -> tuple[Lease, ...]:
        """Of any of these people, in any order; ended ones too. A few questions, however many people."""
        ...

    def drop_lease(self, tenant_id: TenantId, ticket_id: TicketId, by: PrincipalId) -> None: ...

    def hold(self, tenant_id: TenantId, held: HeldRow) -> None:
        """A second one of the same person is refused with `store.conflict`."""
        ...

    def find_held(self, tenant_id: TenantId, ticket_id: TicketId, by: PrincipalId) -> HeldRow | None: ...

    def held_of(self, tenant_id: TenantId, people: Iterable[PrincipalId]) -> tuple[HeldRow, ...]:
        """As `leases_of`."""
        ...

    def held_until(self, tenant_id: TenantId, at: Instant) -> tuple[HeldRow, ...]:
        """Those whose time has come, the earliest first."""
        ...

    def drop_held(self, tenant_id: TenantId, ticket_id: TicketId, by: PrincipalId) -> None: ...

    def save_draft(self, tenant_id: TenantId, draft: SavedDraft) -> None: ...

    def find_draft(self, tenant_id: TenantId, ticket_id: TicketId, by: PrincipalId) -> SavedDraft | None: ...

    def drop_draft(self, tenant_id: TenantId, ticket_id: TicketId, by: PrincipalId) -> None: ...

    def add_pending(self, tenant_id: TenantId, pending: PendingPower) -> None: ...

    def find_pending(self, tenant_id: TenantId, ticket_id: TicketId) -> PendingPower | None: ...

    def drop_pending(self, tenant_id: TenantId, ticket_id: TicketId) -> None: ...

    def clear_ticket(self, tenant_id: TenantId, ticket_id: TicketId) -> None:
        """The ticket is decided: nobody works on it, or writes on an answer to it, any more."""
        ...

    def save_view(self, tenant_id: TenantId, view: SavedView) -> None: ...

    def find_view(self, tenant_id: TenantId, by: PrincipalId, name: str) -> SavedView | None: ...

    def views(self, tenant_id: TenantId, by: PrincipalId) -> tuple[SavedView, ...]:
        """This person's own, and those that others share; by name, then by owner."""
        ...

    def drop_view(self, tenant_id: TenantId, by: PrincipalId, name: str) -> None: ...
