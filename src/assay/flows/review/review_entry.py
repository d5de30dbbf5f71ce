"""Ledger entries of the review desk: questions, answers, settlements, and what people and the node do besides."""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Raw, Struct
from msgspec.structs import asdict

from assay.kernel.canonical import canonicalize
from assay.kernel.commitment import Disclosure, seal_fields
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, Event, draft_entry
from assay.review.act import Act, ActKind
from assay.review.answer import Answer
from assay.review.escalate import Escalation
from assay.review.hold import AnswerLapsed, HeldAnswer
from assay.review.kind import OnExpiry, TicketKind
from assay.review.settle import Settlement
from assay.review.ticket import Ticket

# Where the entry of a comment holds the commitment of its words.
TEXT_POINTER = "/text"
_KINDS: Mapping[ActKind, EntryKind] = MappingProxyType(
    {
        ActKind.CLAIM: EntryKind.TICKET_CLAIMED,
        ActKind.RELEASE: EntryKind.TICKET_RELEASED,
        ActKind.ASSIGN: EntryKind.TICKET_ASSIGNED,
        ActKind.PRIORITISE: EntryKind.TICKET_PRIORITISED,
        ActKind.COMMENT: EntryKind.TICKET_COMMENTED,
        ActKind.UNDO: EntryKind.TICKET_ANSWER_UNDONE,
    }
)


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


def act_entry(ticket: Ticket, act: Act, *, at: Instant, words: tuple[str, bytes] | None = None) -> Draft:
    """The act as it was signed. `words` are a comment's, with their salt: logged as a commitment, erasable for ever."""
    if words is None:
        return about_ticket(ticket, _KINDS[act.kind], act, at=at)
    text, salt = words
    body, disclosures = seal_fields({**asdict(act), "text": text}, [TEXT_POINTER], [salt])
    return about_ticket(ticket, _KINDS[act.kind], body, at=at, disclosures=disclosures)


def escalation_entry(ticket: Ticket, escalation: Escalation) -> Draft:
    return about_ticket(ticket, EntryKind.TICKET_ESCALATED, escalation, at=escalation.escalated_at)


def held_entry(ticket: Ticket, held: HeldAnswer, *, at: Instant) -> Draft:
    return about_ticket(ticket, EntryKind.TICKET_ANSWER_HELD, held, at=at)


def lapsed_entry(ticket: Ticket, lapsed: AnswerLapsed, *, at: Instant) -> Draft:
    return about_ticket(ticket, EntryKind.TICKET_ANSWER_LAPSED, lapsed, at=at)


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
