"""The review desk: entries about tickets, answers, settlements and acts, and the rows that follow from them."""

from collections.abc import Iterator, Mapping, MutableMapping
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import asdict, replace

from assay.facts.kinds import Fact, Folded, Projected, Table, Transient
from assay.kernel.canonical import canonicalize
from assay.kernel.commitment import Disclosure, seal_fields
from assay.kernel.digest import Digest, digest_of
from assay.kernel.entry import Entry
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.kernel.ledger import Draft, EntryKind, Event, draft_entry
from assay.ports.desk_store import HeldRow, PendingPower, SavedDraft, SavedView, StoredAct, StoredEscalation
from assay.ports.review_store import AnswerRow, SettlementRow, TicketPlace, TicketRow
from assay.review.act import Act, ActKind, Prioritise, Priority, parse_act_body
from assay.review.answer import Answer
from assay.review.escalate import Escalation
from assay.review.hold import AnswerLapsed, HeldAnswer
from assay.review.kind import OnExpiry, TicketKind
from assay.review.lease import Lease
from assay.review.queue import place_of
from assay.review.settle import Settlement
from assay.review.ticket import Ticket

T = TypeVar("T")
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


def _fold_tickets(rows: MutableMapping[Any, Any], entry: Entry) -> None:
    opened = _decode(entry, TicketOpened)
    rows[opened.ticket_id] = TicketRow(
        ticket_id=opened.ticket_id,
        position=len(rows) + 1,
        kind=opened.kind,
        opened_at=opened.opened_at,
        record=_json(_Asked(tenant_id=entry.tenant_id, opened=opened)),
        about=opened.about,
    )


class _Asked(Struct, frozen=True, kw_only=True):
    """A ticket without what it shows, which its hash stands for."""

    tenant_id: TenantId
    opened: TicketOpened


def _sealed_ticket(row: TicketRow) -> TicketRow:
    """What a ticket shows is in no entry: it is hashed again."""
    ticket = msgspec.json.decode(row.record, type=Ticket)
    names = (name for name in TicketOpened.__struct_fields__ if name != "ticket_id")
    kept = {name: getattr(ticket, name) for name in names} | {"shown_hash": digest_of(ticket.shown.encode())}
    asked = _Asked(tenant_id=ticket.tenant_id, opened=TicketOpened(ticket_id=ticket.id, **kept))
    return replace(row, record=_json(asked))


def _fold_answers(rows: MutableMapping[Any, Any], entry: Entry) -> None:
    answer = _decode(entry, Answer)
    position = 1
    while (answer.ticket_id, position) in rows:
        position += 1
    rows[answer.ticket_id, position] = AnswerRow(
        ticket_id=answer.ticket_id, position=position, answered_by=answer.by, record=_json(answer)
    )


def _sealed_answer(row: AnswerRow) -> AnswerRow:
    return replace(row, record=_json(msgspec.json.decode(row.record, type=Answer)))


def _fold_settlements(rows: MutableMapping[Any, Any], entry: Entry) -> None:
    settlement = _decode(entry, Settlement)
    rows[settlement.ticket_id] = SettlementRow(ticket_id=settlement.ticket_id, record=_json(settlement))


def _sealed_settlement(row: SettlementRow) -> SettlementRow:
    return replace(row, record=_json(msgspec.json.decode(row.record, type=Settlement)))


def _fold_places(rows: MutableMapping[Any, Any], entry: Entry) -> None:
    if entry.kind is EntryKind.TICKET_OPENED:
        opened = _decode(entry, TicketOpened)
        rows[opened.ticket_id] = TicketPlace(
            ticket_id=opened.ticket_id,
            position=len(rows) + 1,
            kind=opened.kind,
            about=opened.about,
            is_open=1,
            place=place_of(opened.ticket_id, opened.opened_at, opened.due_at, Priority.NORMAL),
            due_at=opened.due_at,
        )
    elif entry.kind is EntryKind.TICKET_SETTLED:
        settlement = _decode(entry, Settlement)
        rows[settlement.ticket_id] = replace(rows[settlement.ticket_id], is_open=0)
    elif entry.kind is EntryKind.TICKET_PRIORITISED:
        act = _decode(entry, RecordedAct)
        body = parse_act_body(act)
        assert isinstance(body, Prioritise)  # noqa: S101 - by its kind
        # A place begins with the rank of the priority, and nothing else of it changes.
        before = rows[act.ticket_id]
        rows[act.ticket_id] = replace(before, place=f"{body.priority.rank}{before.place[1:]}")


def _fold_held(rows: MutableMapping[Any, Any], entry: Entry) -> None:
    if entry.kind is EntryKind.TICKET_ANSWER_HELD:
        held = _decode(entry, HeldAnswer)
        rows[held.ticket_id, held.answer.by] = HeldRow(
            ticket_id=held.ticket_id, by=held.answer.by, takes_effect_at=held.takes_effect_at, text=_json(held)
        )
    elif entry.kind is EntryKind.TICKET_ANSWERED:
        answer = _decode(entry, Answer)
        rows.pop((answer.ticket_id, answer.by), None)
    elif entry.kind is EntryKind.TICKET_ANSWER_UNDONE:
        act = _decode(entry, RecordedAct)
        rows.pop((act.ticket_id, act.by), None)
    elif entry.kind is EntryKind.TICKET_ANSWER_LAPSED:
        lapsed = _decode(entry, AnswerLapsed)
        ended = [
            key
            for key, row in rows.items()
            if key[0] == lapsed.ticket_id
            and lapsed.answer_hash in (None, msgspec.json.decode(row.text, type=HeldAnswer).answer_hash)
        ]
        for key in ended[:1]:
            del rows[key]


def _sealed_held(row: HeldRow) -> HeldRow:
    return replace(row, text=_json(msgspec.json.decode(row.text, type=HeldAnswer)))


def _decode(entry: Entry, kind: type[T]) -> T:
    return msgspec.json.decode(entry.body, type=kind)


FACTS = (
    *(Fact(kind, RecordedAct, _act_rows, into=(StoredAct,)) for kind in _KINDS.values()),
    Fact(EntryKind.TICKET_ESCALATED, Escalation, _escalation_rows, into=(StoredEscalation,)),
)
TABLES = (
    Table(
        "ticket",
        Folded(TicketRow, fold=_fold_tickets, folds=(EntryKind.TICKET_OPENED,), seal=_sealed_ticket),
    ),
    Table(
        "answer",
        Folded(AnswerRow, fold=_fold_answers, folds=(EntryKind.TICKET_ANSWERED,), seal=_sealed_answer),
    ),
    Table(
        "settlement",
        Folded(SettlementRow, fold=_fold_settlements, folds=(EntryKind.TICKET_SETTLED,), seal=_sealed_settlement),
    ),
    Table(
        "ticket_place",
        Folded(
            TicketPlace,
            fold=_fold_places,
            folds=(EntryKind.TICKET_OPENED, EntryKind.TICKET_PRIORITISED, EntryKind.TICKET_SETTLED),
        ),
    ),
    Table("desk_act", Projected(StoredAct), keys=("ticket_id", "by"), taken="the act of entry {sequence_number}"),
    Table(
        "desk_escalation",
        Projected(StoredEscalation),
        keys=("ticket_id",),
        taken="the escalation `{stage}` of `{ticket_id}`",
    ),
    Table(
        "desk_held",
        Folded(
            HeldRow,
            fold=_fold_held,
            folds=(
                EntryKind.TICKET_ANSWER_HELD,
                EntryKind.TICKET_ANSWERED,
                EntryKind.TICKET_ANSWER_UNDONE,
                EntryKind.TICKET_ANSWER_LAPSED,
            ),
            seal=_sealed_held,
        ),
    ),
    Table(
        "desk_pending",
        Transient(
            "nothing: approvers sign the hash of the amendment, and only that one is applied; where it is missing or"
            " another, the approval is refused and can be asked for again",
            row=PendingPower,
        ),
    ),
    Table(
        "desk_lease",
        Transient(
            "nothing: a lease gives no right to answer and ends by itself; a forged one delays others until it ends"
            " (the claim behind a real one is in `desk_act`)",
            row=Lease,
        ),
    ),
    Table(
        "desk_draft",
        Transient("nothing: a draft is shown to its author alone, who reads it before signing", row=SavedDraft),
    ),
    Table(
        "desk_view",
        Transient("nothing: a view is a filter and shows no ticket that its reader may not see", row=SavedView),
    ),
)
