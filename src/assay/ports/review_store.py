"""The review desk's memory: tickets, answers, settlements, each added once and never changed."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.review.answer import Answer
from assay.review.kind import TicketKind
from assay.review.progress import GivenAnswer
from assay.review.settle import Settlement
from assay.review.ticket import Ticket

__all__ = ["ReviewStore"]


class ReviewStore(Protocol):
    """A second answer by the same person, or a second settlement, is refused with `store.conflict`."""

    def add_ticket(self, ticket: Ticket) -> None: ...

    def find_ticket(self, tenant_id: TenantId, ticket_id: TicketId) -> Ticket | None: ...

    def find_tickets(self, tenant_id: TenantId, ticket_ids: Iterable[TicketId]) -> tuple[Ticket, ...]:
        """Those of them that are there, in any order. A few questions, however many tickets."""
        ...

    def tickets(self, tenant_id: TenantId, *, unsettled_only: bool = False) -> tuple[Ticket, ...]:
        """In the order they were opened."""
        ...

    def ticket_ids(self, tenant_id: TenantId, *, unsettled_only: bool = False) -> tuple[TicketId, ...]:
        """The same without reading a ticket, so that one that cannot be read keeps nobody from the others."""
        ...

    def open_tickets_about(self, tenant_id: TenantId, kind: TicketKind, about: str) -> tuple[Ticket, ...]:
        """The unsettled ones of a kind about one thing, in the order they were opened; no other ticket is read."""
        ...

    def add_answer(self, answer: Answer) -> None: ...

    def answers(self, tenant_id: TenantId, ticket_id: TicketId) -> tuple[Answer, ...]: ...

    def answers_on(self, tenant_id: TenantId, ticket_ids: Iterable[TicketId]) -> tuple[Answer, ...]:
        """To any of these tickets; those to one ticket in their order. A few questions, however many tickets."""
        ...

    def answers_by(self, tenant_id: TenantId, people: Iterable[PrincipalId]) -> Iterator[GivenAnswer]:
        """Everything they answered, with the question and its outcome so far: that of one person together, by ticket.

        A few questions, however many people.
        """
        ...

    def reviewers(self, tenant_id: TenantId) -> tuple[PrincipalId, ...]:
        """Whoever has answered a ticket, by name."""
        ...

    def add_settlement(self, tenant_id: TenantId, settlement: Settlement) -> None: ...

    def find_settlement(self, tenant_id: TenantId, ticket_id: TicketId) -> Settlement | None: ...

    def settlements_on(self, tenant_id: TenantId, ticket_ids: Iterable[TicketId]) -> tuple[Settlement, ...]:
        """Of those of these tickets that are settled, in any order; as `answers_on`."""
        ...
