"""The review desk's memory: tickets, answers, settlements, each added once and never changed."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from msgspec import Struct

from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.review.act import Priority
from assay.review.answer import Answer
from assay.review.kind import TicketKind
from assay.review.progress import GivenAnswer
from assay.review.settle import Settlement
from assay.review.ticket import Ticket


class QueuePart(NamedTuple):
    """Which tickets of a queue are read: settled ones or not, or both; of a kind; about what begins so; due by then."""

    settled: bool | None = False
    kind: TicketKind | None = None
    about: str | None = None
    due_by: Instant | None = None


class PlacedTicket(NamedTuple):
    """A ticket, and the text by which the queue is sorted."""

    place: str
    ticket: Ticket


class TicketRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of `ticket`: `record` is the JSON of the `Ticket`, `position` counts 1, 2, 3 … of the tenant."""

    ticket_id: TicketId
    position: int
    kind: TicketKind
    opened_at: Instant
    record: str
    about: str | None


class AnswerRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of `answer`: `record` is the JSON of the `Answer`, `position` counts 1, 2, 3 … of the ticket."""

    ticket_id: TicketId
    position: int
    answered_by: PrincipalId
    record: str


class SettlementRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of `settlement`: `record` is the JSON of the `Settlement`."""

    ticket_id: TicketId
    record: str


class TicketPlace(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of `ticket_place`: where the ticket is in the queue, by its latest priority; `is_open` is 1 or 0."""

    ticket_id: TicketId
    position: int
    kind: TicketKind
    about: str | None
    is_open: int
    place: str
    due_at: Instant | None


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

    def tickets_after(
        self,
        tenant_id: TenantId,
        position: int,
        *,
        unsettled_only: bool = False,
        kind: TicketKind | None = None,
        about: str | None = None,
        limit: int,
    ) -> tuple[tuple[int, Ticket], ...]:
        """The next ones in that order, each with its position; the first has 1. Of a kind, about one thing."""
        ...

    def queue(
        self, tenant_id: TenantId, part: QueuePart, *, after: str | None = None, limit: int
    ) -> tuple[PlacedTicket, ...]:
        """What should be looked at first, first (`place_in_queue`); from after a place on. No other ticket is read."""
        ...

    def find_place(self, tenant_id: TenantId, ticket_id: TicketId) -> str | None:
        """Where a ticket stands in the queue, settled or not."""
        ...

    def prioritise(self, ticket: Ticket, priority: Priority) -> None:
        """From now on it has that place in the queue; the caller records whose wish it is."""
        ...

    def due_tickets(self, tenant_id: TenantId, at: Instant) -> tuple[TicketId, ...]:
        """The unsettled ones that are due by then, the earliest first, without reading a ticket.

        So one that cannot be read keeps nobody from the others.
        """
        ...

    def answered_tickets(self, tenant_id: TenantId) -> tuple[TicketId, ...]:
        """The unsettled ones that somebody has answered, in the order they were opened; without reading a ticket."""
        ...

    def open_tickets_about(self, tenant_id: TenantId, kind: TicketKind, about: str) -> tuple[Ticket, ...]:
        """The unsettled ones of a kind about one thing, in the order they were opened; no other ticket is read."""
        ...

    def open_tickets_on(self, tenant_id: TenantId, kind: TicketKind, things: Iterable[str]) -> dict[str, Ticket]:
        """The newest of those for each of several things that has any. A few questions, however many things."""
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

    def reviewers(
        self, tenant_id: TenantId, *, after: PrincipalId | None = None, limit: int
    ) -> tuple[PrincipalId, ...]:
        """The people who have answered a ticket, by name, after a name; the cost does not grow with their answers."""
        ...

    def add_settlement(self, tenant_id: TenantId, settlement: Settlement) -> None: ...

    def find_settlement(self, tenant_id: TenantId, ticket_id: TicketId) -> Settlement | None: ...

    def settlements_on(self, tenant_id: TenantId, ticket_ids: Iterable[TicketId]) -> tuple[Settlement, ...]:
        """Of those of these tickets that are settled, in any order; as `answers_on`."""
        ...
