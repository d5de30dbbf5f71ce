"""The queue as one person sees it: the tickets that concern them, filtered, the most urgent first, page by page.

place in the queue -> the next tickets -> those that the caller may read -> their lines -> those that match
Only as many are read as fill the page, and somewhat more where many do not match.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

from msgspec import Meta, Struct

from assay.flows.errors import NotFoundError
from assay.flows.known import get_ticket
from assay.flows.request import (
    Cursor,
    Limit,
    Moment,
    Page,
    PrincipalName,
    Request,
    next_cursor,
    parse_moment,
    read_text,
)
from assay.flows.review.by_ticket import by_ticket
from assay.flows.review.comment_review import parse_act
from assay.flows.review.decided_keys import decided_keys
from assay.flows.review.keep_view import find_view
from assay.flows.review.kept_back import is_readable
from assay.flows.review.settle_now import Givers, settle_now
from assay.flows.review.subjects import subjects_of
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import Principal
from assay.kernel.ids import PrincipalId, TenantId, TicketId, parse_principal_id, parse_ticket_id
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.desk_store import StoredAct, StoredEscalation
from assay.ports.review_store import PlacedTicket, QueuePart
from assay.review.act import ActKind, Priority
from assay.review.answer import Answer
from assay.review.kind import TicketKind
from assay.review.lease import Lease, live_leases
from assay.review.placement import Placement, place_ticket
from assay.review.queue import QueuedTicket, QueueFilter, QueueState, matches
from assay.review.settle import Settlement
from assay.review.sight import hide_others, is_blind
from assay.review.ticket import Ticket, TicketSubject
from assay.review.turn import waits_for

_SETTLED = {QueueState.ANY: None, QueueState.SETTLED: True}
# At most so many are read at once; the first time no more than a page.
_MOST = 1000
_PLACING = frozenset({ActKind.ASSIGN, ActKind.PRIORITISE})


Wanted = Callable[[QueuedTicket], bool]


class QueueChoice(Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which tickets of the queue: all that is given must hold; `view` is a saved filter in place of the rest."""

    kind: Annotated[TicketKind | None, Meta(description="Only tickets of this kind.")] = None
    about: Annotated[str | None, Meta(description="Subject starts with this text.")] = None
    priority: Annotated[Priority | None, Meta(description="Only tickets of this priority.")] = None
    assignee: Annotated[PrincipalName | None, Meta(description="Only tickets assigned to this person.")] = None
    role: Annotated[str | None, Meta(description="Assigned to this role, or to be answered by it.")] = None
    holder: Annotated[PrincipalName | None, Meta(description="Claimed by this person.")] = None
    due_before: Annotated[Moment | None, Meta(description="Due before this instant.")] = None
    state: Annotated[QueueState, Meta(description="`open` is every ticket that is not settled.")] = QueueState.OPEN
    text: Annotated[str | None, Meta(description="Title or subject contains this text.")] = None
    view: Annotated[str | None, Meta(description="A saved view, in place of the other filters but the text.")] = None


class ShowQueue(QueueChoice, frozen=True, kw_only=True, forbid_unknown_fields=True):
    mine: Annotated[bool, Meta(description="Only tickets that the caller can answer now.")] = False
    limit: Limit = 100
    cursor: Cursor | None = None


class NextTicket(QueueChoice, frozen=True, kw_only=True, forbid_unknown_fields=True):
    after: Annotated[str | None, Meta(description="The ticket after which to look; never this one.")] = None


class FoundTicket(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The next ticket of the caller's queue; null where none is left."""

    ticket_id: TicketId | None


class QueuePage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The next page begins after `next_after`; None at the end.

    `total` is how many there are on all pages, where that was asked for.
    """

    tickets: tuple[QueuedTicket, ...]
    next_after: TicketId | None
    total: int | None = None


def queue(tools: Tools, caller: Caller, request: ShowQueue) -> Page[QueuedTicket]:
    """List the tickets that concern the caller, the most urgent first: by priority, then due date, then age."""
    after = read_text("queue", request.cursor)
    page = page_queue(
        tools,
        caller,
        filter_of(tools, caller, request),
        only=matcher(tools, caller, request, mine=request.mine),
        after=None if after is None else parse_ticket_id(after),
        limit=request.limit,
    )
    following = None if page.next_after is None else next_cursor("queue", page.next_after)
    return Page(items=page.tickets, next=following)


def next_ticket(tools: Tools, caller: Caller, request: NextTicket) -> FoundTicket:
    """Find the next ticket of the queue that the caller can answer now; after the last one, the first."""
    after = None if request.after is None else parse_ticket_id(request.after)
    wanted, chosen = filter_of(tools, caller, request), matcher(tools, caller, request, mine=True)

    def is_other(row: QueuedTicket) -> bool:
        return row.ticket.id != after and chosen(row)

    def look(begins: TicketId | None) -> TicketId | None:
        page = page_queue(tools, caller, wanted, only=is_other, after=begins, limit=1)
        return page.tickets[0].ticket.id if page.tickets else None

    return FoundTicket(ticket_id=look(after) or (None if after is None else look(None)))


def filter_of(tools: Tools, caller: Caller, request: QueueChoice) -> QueueFilter:
    """The filter that a request names, or that the named view holds."""
    if request.view is not None:
        return find_view(tools, caller, request.view).filter
    return QueueFilter(
        kind=request.kind,
        about=request.about,
        priority=request.priority,
        assignee=_principal(request.assignee),
        role=request.role,
        holder=_principal(request.holder),
        due_before=parse_moment(request.due_before),
        state=request.state,
    )


def turn_of(tools: Tools, caller: Caller) -> Wanted:
    """Whether a ticket waits for the caller, who must be a person; a held answer of theirs was given."""
    person = caller.principal
    if not person.is_person():
        return lambda _row: False
    held = tools.database.read(
        lambda unit: frozenset(row.ticket_id for row in unit.desk.held_of(caller.tenant_id, [person.id]))
    )
    return lambda row: row.ticket.id not in held and waits_for(row, person)


def page_queue(
    tools: Tools,
    caller: Caller,
    wanted: QueueFilter,
    *,
    only: Wanted = lambda _: True,
    after: TicketId | None = None,
    limit: int | None = 100,
    counted: bool = False,
) -> QueuePage:
    """Read a page of the queue as the caller may see it.

    `only` narrows it further than a saved filter can, before it is cut into pages; without a limit it is one page. To
    be `counted`, every ticket of the filter is read, and not those of the page alone.
    """
    tenant_id, viewer, at = caller.tenant_id, caller.viewer, caller.at

    def look(unit: Unit) -> QueuePage:
        # By its place in the order, which it has whether or not it still matches.
        place = None if after is None else _get_place(unit, tenant_id, after, viewer)
        begins, first = (None, _MOST) if counted or limit is None else (place, limit + 1)

        def lines() -> Iterator[tuple[str, QueuedTicket]]:
            for part in _in_parts(unit, tenant_id, _part_of(wanted, at), begins, first):
                readable = {one.ticket.id: one for one in part if is_readable(unit, one.ticket, viewer)}
                for line in _queued(unit, [one.ticket for one in readable.values()], viewer, at):
                    if matches(wanted, line) and only(line):
                        yield readable[line.ticket.id].place, line

        known = list(lines()) if counted else None
        found = (line for at_place, line in (lines() if known is None else known) if place is None or at_place > place)
        page = tuple(found if limit is None else islice(found, limit))
        has_more = next(found, None) is not None
        return QueuePage(
            tickets=page,
            next_after=page[-1].ticket.id if has_more else None,
            total=None if known is None else len(known),
        )

    return tools.database.read(look)


def matcher(tools: Tools, caller: Caller, request: QueueChoice, *, mine: bool) -> Wanted:
    """The part of a choice that no saved filter holds: the text, and whether the caller can answer now."""
    is_theirs = turn_of(tools, caller) if mine else None
    text = (request.text or "").lower()

    def matches_choice(row: QueuedTicket) -> bool:
        named = f"{row.ticket.title} {row.ticket.about or ''}".lower()
        return text in named and (is_theirs is None or is_theirs(row))

    return matches_choice


def placement_of(unit: Unit, ticket: Ticket) -> Placement:
    return _placed(unit.desk.acts(ticket.tenant_id, ticket.id))


def _placed(rows: Iterable[StoredAct]) -> Placement:
    return place_ticket(parse_act(row) for row in rows if row.kind in _PLACING)


@dataclass(frozen=True, slots=True)
class _Rows:
    """What lines of the queue are made of, by ticket: read for all of them at once, since a queue may be long."""

    settlements: Mapping[TicketId, Settlement]
    answers: Mapping[TicketId, Sequence[Answer]]
    acts: Mapping[TicketId, Sequence[StoredAct]]
    leases: Mapping[TicketId, Sequence[Lease]]
    escalations: Mapping[TicketId, Sequence[StoredEscalation]]
    decided: Mapping[TicketId, str]
    subjects: Mapping[TicketId, TicketSubject]


def _queued(unit: Unit, tickets: Sequence[Ticket], viewer: Principal | None, at: Instant) -> tuple[QueuedTicket, ...]:
    """A line for each ticket, all of one tenant; signatures are not verified here."""
    if not tickets:
        return ()
    tenant_id, ids = tickets[0].tenant_id, [ticket.id for ticket in tickets]
    settlements = {one.ticket_id: one for one in unit.review.settlements_on(tenant_id, ids)}
    rows = _Rows(
        settlements=settlements,
        answers=by_ticket(unit.review.answers_on(tenant_id, ids)),
        acts=by_ticket(unit.desk.acts_on(tenant_id, ids)),
        leases=by_ticket(unit.desk.leases_on(tenant_id, ids)),
        escalations=by_ticket(unit.desk.escalations_on(tenant_id, ids)),
        decided=decided_keys(unit, tenant_id, (one for one in tickets if one.id not in settlements)),
        subjects=subjects_of(unit, tenant_id, tickets),
    )
    givers = Givers(unit, tenant_id)
    return tuple(_line(unit, rows, ticket, viewer, at, givers=givers) for ticket in tickets)


def _line(
    unit: Unit, rows: _Rows, ticket: Ticket, viewer: Principal | None, at: Instant, *, givers: Givers
) -> QueuedTicket:
    recorded = rows.settlements.get(ticket.id)
    answers = rows.answers.get(ticket.id, ())
    standing = recorded or settle_now(unit, ticket, answers, at=at, givers=givers)
    is_hidden = viewer is not None and is_blind(
        ticket, viewer, [one.by for one in answers], settled=not standing.is_open
    )
    return QueuedTicket(
        ticket=ticket,
        settlement=hide_others(standing) if is_hidden else standing,
        recorded=recorded is not None,
        placement=_placed(rows.acts.get(ticket.id, ())),
        leases=live_leases(rows.leases.get(ticket.id, ()), at),
        stages=tuple(one.stage for one in rows.escalations.get(ticket.id, ())),
        decided=rows.decided.get(ticket.id),
        subject=rows.subjects.get(ticket.id),
    )


def _part_of(wanted: QueueFilter, at: Instant) -> QueuePart:
    """What the store can tell without reading a ticket; all of the filter is looked at again."""
    due = [one for one in (wanted.due_before, at if wanted.state is QueueState.OVERDUE else None) if one is not None]
    return QueuePart(
        settled=_SETTLED.get(wanted.state, False), kind=wanted.kind, about=wanted.about, due_by=min(due, default=None)
    )


def _in_parts(
    unit: Unit, tenant_id: TenantId, part: QueuePart, after: str | None, first: int
) -> Iterator[Sequence[PlacedTicket]]:
    """The queue from a place on; where the first part does not fill a page, the next ones are larger."""
    size = min(first, _MOST)
    while placed := unit.review.queue(tenant_id, part, after=after, limit=size):
        yield placed
        if len(placed) < size:
            return
        after, size = placed[-1].place, _MOST


def _get_place(unit: Unit, tenant_id: TenantId, ticket_id: TicketId, viewer: Principal | None) -> str:
    """Where a page begins tells how urgent a ticket is, so one that the viewer may not read is not there."""
    ticket, place = get_ticket(unit, tenant_id, ticket_id), unit.review.find_place(tenant_id, ticket_id)
    if place is None or not is_readable(unit, ticket, viewer):
        raise NotFoundError(f"tenant `{tenant_id}` has no ticket `{ticket_id}`")
    return place


def _principal(text: str | None) -> PrincipalId | None:
    return None if text is None else parse_principal_id(text)
