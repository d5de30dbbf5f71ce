"""How the review desk is written into the ledger, and what subscribers are told of it."""

from collections.abc import Mapping

from msgspec import Raw, Struct

from assay.kernel.canonical import canonicalize
from assay.kernel.commitment import Disclosure
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, Event, draft_entry
from assay.review.answer import Answer
from assay.review.kind import OnExpiry, TicketKind
from assay.review.settle import Settlement
from assay.review.ticket import Ticket

__all__ = ["TicketOpened", "about_ticket", "answer_entry", "settlement_entry", "ticket_entry"]


class TicketOpened(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `ticket.opened` entry: the whole question, with what is shown by its hash alone."""

    ticket_id: TicketId
    kind: TicketKind
    title: str
    shown_hash: Digest
    choices: tuple[str, ...]
    rejecting: tuple[str, ...]
    eligible_roles: tuple[str, ...]
    quorum: int
    opened_by: PrincipalId
    requested_by: PrincipalId | None
    about: str | None
    opened_at: Instant
    due_at: Instant | None
    on_expiry: OnExpiry
    default_choice: str | None


def ticket_entry(ticket: Ticket) -> Draft:
    kept = {name: getattr(ticket, name) for name in TicketOpened.__struct_fields__ if name != "ticket_id"}
    body = TicketOpened(ticket_id=ticket.id, **kept)
    return about_ticket(ticket, EntryKind.TICKET_OPENED, body, at=ticket.opened_at)


def answer_entry(ticket: Ticket, answer: Answer, *, at: Instant) -> Draft:
    """The answer as it was signed, so that the entry alone proves who chose what, having seen what."""
    return about_ticket(ticket, EntryKind.TICKET_ANSWERED, answer, at=at)


def settlement_entry(ticket: Ticket, settlement: Settlement, *, at: Instant) -> Draft:
    return about_ticket(ticket, EntryKind.TICKET_SETTLED, settlement, at=at)


def about_ticket(
    ticket: Ticket,
    kind: EntryKind,
    body: Struct | Mapping[str, object],
    *,
    at: Instant,
    disclosures: tuple[Disclosure, ...] = (),
) -> Draft:
    """An entry of the ticket's own history: its event has the ticket as subject, by which the history is found."""
    news = {"ticket_id": ticket.id, "kind": ticket.kind, "about": ticket.about}
    event = Event(type=kind.value, subject=ticket.id, body=Raw(canonicalize(news)))
    return draft_entry(ticket.tenant_id, kind, body, at=at, disclosures=disclosures, events=(event,))
