"""The review desk: entries about tickets, answers, settlements and acts, and the rows that follow from them."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import asdict

from assay.facts.kinds import Content, Fact, Folded, Projected, Table, Transient
from assay.kernel.canonical import canonicalize
from assay.kernel.commitment import Disclosure, seal_fields
from assay.kernel.digest import Digest
from assay.kernel.entry import Entry
from assay.kernel.ids import PrincipalId, TicketId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, Event, draft_entry
from assay.ports.desk_store import HeldRow, PendingPower, SavedDraft, SavedView, StoredAct, StoredEscalation
from assay.review.act import Act, ActKind
from assay.review.answer import Answer
from assay.review.escalate import Escalation
from assay.review.hold import AnswerLapsed, HeldAnswer
from assay.review.kind import OnExpiry, TicketKind
from assay.review.lease import Lease
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


class RecordedAct(Act, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of an entry about an act: the act as it was signed; a comment has the commitment of its words."""

    text: Raw = Raw()


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


def _act_rows(entry: Entry, act: RecordedAct) -> Iterator[StoredAct]:
    signed = Act(**{name: getattr(act, name) for name in Act.__struct_fields__})
    yield StoredAct(
        ticket_id=act.ticket_id,
        sequence_number=entry.sequence_number,
        kind=act.kind,
        by=act.by,
        text=_json(signed),
    )


def _escalation_rows(entry: Entry, escalation: Escalation) -> Iterator[StoredEscalation]:
    yield StoredEscalation(
        ticket_id=escalation.ticket_id,
        stage=escalation.stage,
        text=_json(escalation),
        sequence_number=entry.sequence_number,
    )


def _json(record: Struct) -> str:
    return msgspec.json.encode(record).decode()


FACTS = (
    *(Fact(kind, RecordedAct, _act_rows, into=(StoredAct,)) for kind in _KINDS.values()),
    Fact(EntryKind.TICKET_ESCALATED, Escalation, _escalation_rows, into=(StoredEscalation,)),
)
TABLES = (
    Table(
        "ticket",
        Projected(None),
        columns=("tenant_id", "ticket_id", "position", "kind", "opened_at", "record", "about"),
        pending=True,
    ),
    Table(
        "answer", Projected(None), columns=("tenant_id", "ticket_id", "position", "answered_by", "record"), pending=True
    ),
    Table("settlement", Projected(None), columns=("tenant_id", "ticket_id", "record"), pending=True),
    Table(
        "ticket_place",
        Folded(None),
        columns=("tenant_id", "ticket_id", "position", "kind", "about", "is_open", "place", "due_at"),
        pending=True,
    ),
    Table("desk_act", Projected(StoredAct), keys=("ticket_id", "by"), taken="the act of entry {sequence_number}"),
    Table(
        "desk_escalation",
        Projected(StoredEscalation),
        keys=("ticket_id",),
        taken="the escalation `{stage}` of `{ticket_id}`",
    ),
    Table("desk_held", Folded(HeldRow), pending=True),
    Table(
        "desk_pending",
        Content("`amendment_hash` in what the ticket shows, checked before the amendment is applied", row=PendingPower),
        pending=True,
    ),
    Table("desk_lease", Transient("not examined yet", row=Lease), pending=True),
    Table("desk_draft", Transient("not examined yet", row=SavedDraft), pending=True),
    Table("desk_view", Transient("not examined yet", row=SavedView), pending=True),
)
