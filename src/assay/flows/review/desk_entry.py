"""How what people and the node do at the desk, besides answering, is written into the ledger."""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec.structs import asdict

from assay.flows.review.review_entry import about_ticket
from assay.kernel.commitment import seal_fields
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind
from assay.review.act import Act, ActKind
from assay.review.escalate import Escalation
from assay.review.hold import AnswerLapsed, HeldAnswer
from assay.review.ticket import Ticket

__all__ = ["TEXT_POINTER", "act_entry", "escalation_entry", "held_entry", "lapsed_entry"]

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
