"""Escalation: a ticket whose time runs out is told to more people. It makes nobody eligible, and decides nothing."""

from collections.abc import Collection
from datetime import timedelta
from enum import StrEnum

from msgspec import Struct

from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.instant import Instant
from assay.review.ticket import Ticket


class Stage(StrEnum):
    """Each comes once in a ticket's life."""

    NEAR = "near"
    PASSED = "passed"


class Escalation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `ticket.escalated` entry: the node's own word, so nobody signs it."""

    ticket_id: TicketId
    stage: Stage
    due_at: Instant
    roles: tuple[str, ...]
    persons: tuple[PrincipalId, ...]
    escalated_at: Instant


def find_stage(ticket: Ticket, told: Collection[Stage], *, before: timedelta, at: Instant) -> Stage | None:
    """The stage that is reached and not told yet; of two at once the later, since the earlier says nothing more."""
    if ticket.due_at is None:
        return None
    if at >= ticket.due_at:
        return None if Stage.PASSED in told else Stage.PASSED
    if at >= ticket.due_at - before:
        return None if told else Stage.NEAR
    return None
