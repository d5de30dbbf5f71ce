"""The queue as one person sees it: what concerns them, filtered, in the order in which to look, a page at a time.

place in the queue -> the next tickets there -> those that the viewer may read -> their lines -> those that match
Only as many are read as fill the page, and somewhat more where many do not match.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from msgspec import Struct

from assay.flows.errors import NotFoundError
from assay.flows.known import get_ticket
from assay.flows.review.by_ticket import by_ticket
from assay.flows.review.comment_review import parse_act
from assay.flows.review.decided_keys import decided_keys
from assay.flows.review.kept_back import is_kept_from
from assay.flows.review.settle_now import Givers, settle_now
from assay.flows.tools import Tools
from assay.identity.principal import Principal
from assay.kernel.ids import TenantId, TicketId
from assay.kernel.instant import Instant
from assay.ports.database import Unit
from assay.ports.desk_store import StoredAct, StoredEscalation
from assay.ports.review_store import PlacedTicket, QueuePart
from assay.review.act import ActKind
from assay.review.answer import Answer
from assay.review.lease import Lease, live_leases
from assay.review.placement import Placement, place_ticket
from assay.review.queue import QueuedTicket, QueueFilter, QueueState, matches
from assay.review.settle import Settlement
from assay.review.sight import hide_others, is_blind, may_read
from assay.review.ticket import Ticket

__all__ = ["QueuePage", "placement_of", "show_queue"]

_SETTLED = {QueueState.ANY: None, QueueState.SETTLED: True}
# At most so many are read at once; the first time no more than a page.
_MOST = 1000
_PLACING = frozenset({ActKind.ASSIGN, ActKind.PRIORITISE})


class QueuePage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The next page begins after `next_after`; None at the end.

    `total` is how many there are on all pages, where that was asked for.
    """

    tickets: tuple[QueuedTicket, ...]
    next_after: TicketId | None
    total: int | None = None


def show_queue(
    tools: Tools,
    tenant_id: TenantId,
    wanted: QueueFilter,
    *,
    viewer: Principal | None,
    only: Callable[[QueuedTicket], bool] = lambda _: True,
    after: TicketId | None = None,
    limit: int | None = 100,
    counted: bool = False,
    at: Instant,
) -> QueuePage:
    """What the viewer may read of it; no viewer is the operator of the node's folder, who reads the database itself.

    `only` narrows it further than a filter that is kept can, before it is cut into pages; without a limit it is one.
    To be `counted`, every ticket of the filter is read, and not those of the page alone.
    """

    def look(unit: Unit) -> QueuePage:
        # By its place in the order, which it has whether or not it still matches.
        place = None if after is None else _get_place(unit, tenant_id, after, viewer)
        begins, first = (None, _MOST) if counted or limit is None else (place, limit + 1)

        def lines() -> Iterator[tuple[str, QueuedTicket]]:
            for part in _in_parts(unit, tenant_id, _part_of(wanted, at), begins, first):
                readable = {one.ticket.id: one for one in part if _is_readable(unit, one.ticket, viewer)}
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
    if place is None or not _is_readable(unit, ticket, viewer):
        raise NotFoundError(f"tenant `{tenant_id}` has no ticket `{ticket_id}`")
    return place


def _is_readable(unit: Unit, ticket: Ticket, viewer: Principal | None) -> bool:
    return viewer is None or (may_read(ticket, viewer) and not is_kept_from(unit, ticket, viewer))
