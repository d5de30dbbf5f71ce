"""The queue: tickets with where they stand, narrowed by a filter and in the order in which people should look."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.instant import Instant
from assay.review.act import Priority
from assay.review.escalate import Stage
from assay.review.kind import TicketKind
from assay.review.lease import Lease
from assay.review.placement import Placement
from assay.review.settle import Settlement
from assay.review.ticket import Ticket, TicketSubject


class QueueState(StrEnum):
    """How a ticket can stand in a queue; `open` is every one that is not settled."""

    OPEN = "open"
    FREE = "free"
    LEASED = "leased"
    OVERDUE = "overdue"
    ESCALATED = "escalated"
    SETTLED = "settled"
    ANY = "any"


class QueuedTicket(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of the queue; `leases` are the live ones, `stages` those it was escalated at.

    `settlement` has no counts while the reader must not know them. It shows a time-out as soon as it is due; `recorded`
    says whether it is in the ledger yet. `decided` is what the room made of the answers while the ticket is still open
    for others to contradict it. `subject` names the bundle and the answer that the ticket is about.
    """

    ticket: Ticket
    settlement: Settlement
    recorded: bool
    placement: Placement
    leases: tuple[Lease, ...]
    stages: tuple[Stage, ...]
    decided: str | None = None
    subject: TicketSubject | None = None


class QueueFilter(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every field that is set must match; with none set, every open ticket does. `about` is a prefix of the subject."""

    kind: Annotated[TicketKind | None, Meta(description="Only tickets of this kind.")] = None
    about: Annotated[str | None, Meta(description="Subject starts with this text.")] = None
    priority: Annotated[Priority | None, Meta(description="Only tickets of this priority.")] = None
    assignee: Annotated[PrincipalId | None, Meta(description="Only tickets assigned to this person.")] = None
    role: Annotated[str | None, Meta(description="Assigned to this role, or to be answered by it.")] = None
    holder: Annotated[PrincipalId | None, Meta(description="Claimed by this person.")] = None
    due_before: Annotated[Instant | None, Meta(description="Due before this instant.")] = None
    state: Annotated[QueueState, Meta(description="`open` is every ticket that is not settled.")] = QueueState.OPEN


def matches(wanted: QueueFilter, queued: QueuedTicket) -> bool:
    ticket, placed = queued.ticket, queued.placement
    return (
        wanted.kind in (None, ticket.kind)
        and (wanted.about is None or (ticket.about or "").startswith(wanted.about))
        and wanted.priority in (None, placed.priority)
        and wanted.assignee in (None, placed.person)
        and (wanted.role is None or wanted.role == placed.role or wanted.role in ticket.eligible_roles)
        and (wanted.holder is None or any(lease.by == wanted.holder for lease in queued.leases))
        and (wanted.due_before is None or (ticket.due_at is not None and ticket.due_at < wanted.due_before))
        and _is_in(wanted.state, queued)
    )


def place_in_queue(ticket: Ticket, priority: Priority) -> str:
    """A text that sorts first for what should be looked at first; no two tickets of a tenant have the same.

    Priority, then what is due soonest, then what waits longest. Stores keep it, so that a page is read in its order.
    """
    return place_of(ticket.id, ticket.opened_at, ticket.due_at, priority)


def place_of(ticket_id: TicketId, opened_at: Instant, due_at: Instant | None, priority: Priority) -> str:
    """The same of what an entry says of a ticket."""
    return f"{priority.rank}{due_at is None:d} {_fixed(due_at or opened_at)} {_fixed(opened_at)} {ticket_id}"


def _fixed(instant: Instant) -> str:
    """Always as long, so that the order of the texts is the order in time."""
    return instant.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def _is_in(state: QueueState, queued: QueuedTicket) -> bool:
    if state is QueueState.ANY:
        return True
    if state is QueueState.SETTLED:
        return queued.recorded
    held = {
        QueueState.OPEN: True,
        QueueState.FREE: len(queued.leases) < queued.ticket.quorum,
        QueueState.LEASED: bool(queued.leases),
        QueueState.OVERDUE: queued.settlement.overdue,
        QueueState.ESCALATED: bool(queued.stages),
    }
    return not queued.recorded and held[state]
