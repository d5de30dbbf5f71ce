"""Tickets, answers and settlements in SQL."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from assay.adapters.sql.parts import in_parts, marks
from assay.adapters.sql.record import read_record, require_free, write_record
from assay.adapters.sql.row import sortable
from assay.adapters.sql.session import Row, SqlSession
from assay.adapters.sql.storable import verify_key
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant, render_instant
from assay.ports.damage import DamagedRecordError
from assay.ports.review_store import PlacedTicket, QueuePart
from assay.review.act import Priority
from assay.review.answer import Answer
from assay.review.kind import TicketKind
from assay.review.progress import GivenAnswer
from assay.review.queue import place_in_queue
from assay.review.settle import Settlement
from assay.review.ticket import Ticket

# Whoever is shown more than this is asked rarely; together they hold a few megabytes at the most.
_REMEMBERED_LENGTH = 8192
_NEWEST = 2**53


class SqlReviewStore:
    """Implements `ports.review_store.ReviewStore`."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    def add_ticket(self, ticket: Ticket) -> None:
        verify_key("ticket id", ticket.id)
        require_free(
            self._session,
            "SELECT 1 FROM ticket WHERE tenant_id = ? AND ticket_id = ?",
            (ticket.tenant_id, ticket.id),
            f"the ticket `{ticket.id}`",
        )
        self._session.run(
            "INSERT INTO ticket (tenant_id, ticket_id, position, kind, opened_at, record, about)"
            " SELECT ?, ?, coalesce(max(position), 0) + 1, ?, ?, ?, ? FROM ticket WHERE tenant_id = ?",
            (
                ticket.tenant_id,
                ticket.id,
                ticket.kind.value,
                render_instant(ticket.opened_at),
                write_record(ticket),
                ticket.about,
                ticket.tenant_id,
            ),
        )
        self._session.run(
            "INSERT INTO ticket_place (tenant_id, ticket_id, position, kind, about, is_open, place, due_at)"
            " SELECT tenant_id, ticket_id, position, kind, about, 1, ?, ? FROM ticket"
            " WHERE tenant_id = ? AND ticket_id = ?",
            (
                place_in_queue(ticket, Priority.NORMAL),
                None if ticket.due_at is None else sortable(ticket.due_at),
                ticket.tenant_id,
                ticket.id,
            ),
        )

    def find_ticket(self, tenant_id: TenantId, ticket_id: TicketId) -> Ticket | None:
        rows = self._session.query(
            "SELECT record FROM ticket WHERE tenant_id = ? AND ticket_id = ?", (tenant_id, ticket_id)
        )
        return _ticket(rows[0][0]) if rows else None

    def find_tickets(self, tenant_id: TenantId, ticket_ids: Iterable[TicketId]) -> tuple[Ticket, ...]:
        # As values and not by a list: a server that has not counted yet would rather read all tickets of a tenant.
        found: list[Ticket] = []
        for part in in_parts(ticket_ids):
            rows = self._session.query(
                "SELECT (SELECT record FROM ticket WHERE tenant_id = ? AND ticket_id = wanted.column1)"  # noqa: S608 - marks
                f" FROM (VALUES {', '.join(['(?)'] * len(part))}) AS wanted",
                (tenant_id, *part),
            )
            found += [_ticket(record) for (record,) in rows if record is not None]
        return tuple(found)

    def tickets(self, tenant_id: TenantId, *, unsettled_only: bool = False) -> tuple[Ticket, ...]:
        found = self.tickets_after(tenant_id, 0, unsettled_only=unsettled_only, limit=_NEWEST)
        return tuple(ticket for _, ticket in found)

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
        conditions = _conditions(is_open=1 if unsettled_only else None, kind=kind, about=about)
        rows = self._session.query(
            f"SELECT ticket_id, position FROM ticket_place WHERE {conditions.sql}"  # noqa: S608 - our constants
            " tenant_id = ? AND position > ? ORDER BY position LIMIT ?",
            (*conditions.given, tenant_id, position, limit),
        )
        return tuple((place, ticket) for place, ticket in self._in_order(tenant_id, rows))

    def queue(
        self, tenant_id: TenantId, part: QueuePart, *, after: str | None = None, limit: int
    ) -> tuple[PlacedTicket, ...]:
        conditions = _conditions(
            is_open=None if part.settled is None else int(not part.settled),
            kind=part.kind,
            prefix=part.about,
            due_by=part.due_by,
        )
        rows = self._session.query(
            f"SELECT ticket_id, place FROM ticket_place WHERE {conditions.sql}"  # noqa: S608 - our constants
            " tenant_id = ? AND place > ? ORDER BY place LIMIT ?",
            (*conditions.given, tenant_id, after or "", limit),
        )
        return tuple(PlacedTicket(place, ticket) for place, ticket in self._in_order(tenant_id, rows))

    def find_place(self, tenant_id: TenantId, ticket_id: TicketId) -> str | None:
        rows = self._session.query(
            "SELECT place FROM ticket_place WHERE ticket_id = ? AND tenant_id = ?", (ticket_id, tenant_id)
        )
        return str(rows[0][0]) if rows else None

    def prioritise(self, ticket: Ticket, priority: Priority) -> None:
        self._session.run(
            "UPDATE ticket_place SET place = ? WHERE ticket_id = ? AND tenant_id = ?",
            (place_in_queue(ticket, priority), ticket.id, ticket.tenant_id),
        )

    def due_tickets(self, tenant_id: TenantId, at: Instant) -> tuple[TicketId, ...]:
        rows = self._session.query(
            "SELECT ticket_id FROM ticket_place WHERE is_open = 1 AND tenant_id = ? AND due_at <= ?"
            " ORDER BY due_at, ticket_id",
            (tenant_id, sortable(at)),
        )
        return tuple(TicketId(name) for (name,) in rows)

    def answered_tickets(self, tenant_id: TenantId) -> tuple[TicketId, ...]:
        # As a value and not as a join, as below.
        rows = self._session.query(
            "SELECT ticket_id FROM ticket_place AS p WHERE is_open = 1 AND tenant_id = ? AND (SELECT min(a.position)"
            " FROM answer AS a WHERE a.tenant_id = p.tenant_id AND a.ticket_id = p.ticket_id) IS NOT NULL"
            " ORDER BY position",
            (tenant_id,),
        )
        return tuple(TicketId(name) for (name,) in rows)

    def open_tickets_about(self, tenant_id: TenantId, kind: TicketKind, about: str) -> tuple[Ticket, ...]:
        # As a value and not as a join: a server that has not counted yet would join by the tenant alone.
        rows = self._session.query(
            "SELECT record FROM ticket AS t WHERE about = ? AND kind = ? AND tenant_id = ?"
            " AND (SELECT s.ticket_id FROM settlement AS s WHERE s.tenant_id = t.tenant_id"
            " AND s.ticket_id = t.ticket_id) IS NULL ORDER BY position",
            (about, kind.value, tenant_id),
        )
        return tuple(_ticket(record) for (record,) in rows)

    def open_tickets_on(self, tenant_id: TenantId, kind: TicketKind, things: Iterable[str]) -> dict[str, Ticket]:
        # Not `= 1`: a server that has not counted yet takes what is open for little, and would walk all of it.
        named: dict[str, TicketId] = {}
        for part in in_parts(things):
            rows = self._session.query(
                "SELECT wanted.column1, (SELECT ticket_id FROM ticket_place WHERE about = wanted.column1"  # noqa: S608 - marks
                " AND kind = ? AND tenant_id = ? AND is_open > 0 ORDER BY position DESC LIMIT 1)"
                f" FROM (VALUES {', '.join(['(?)'] * len(part))}) AS wanted",
                (kind.value, tenant_id, *part),
            )
            named |= {thing: TicketId(name) for thing, name in rows if name is not None}
        found = {one.id: one for one in self.find_tickets(tenant_id, named.values())}
        return {thing: found[name] for thing, name in named.items() if name in found}

    def add_answer(self, answer: Answer) -> None:
        verify_key("ticket id", answer.ticket_id)
        verify_key("principal id", answer.by)
        require_free(
            self._session,
            "SELECT 1 FROM answer WHERE tenant_id = ? AND ticket_id = ? AND answered_by = ?",
            (answer.tenant_id, answer.ticket_id, answer.by),
            f"an answer of `{answer.by}` to `{answer.ticket_id}`",
        )
        self._session.run(
            "INSERT INTO answer (tenant_id, ticket_id, position, answered_by, record)"
            " SELECT ?, ?, coalesce(max(position), 0) + 1, ?, ? FROM answer WHERE tenant_id = ? AND ticket_id = ?",
            (
                answer.tenant_id,
                answer.ticket_id,
                answer.by,
                write_record(answer),
                answer.tenant_id,
                answer.ticket_id,
            ),
        )

    def answers(self, tenant_id: TenantId, ticket_id: TicketId) -> tuple[Answer, ...]:
        rows = self._session.query(
            "SELECT record FROM answer WHERE tenant_id = ? AND ticket_id = ? ORDER BY position", (tenant_id, ticket_id)
        )
        return tuple(read_record(record, Answer) for (record,) in rows)

    def answers_on(self, tenant_id: TenantId, ticket_ids: Iterable[TicketId]) -> tuple[Answer, ...]:
        rows = self._on("answer", tenant_id, ticket_ids, order=" ORDER BY position")
        return tuple(read_record(record, Answer) for record in rows)

    def answers_by(self, tenant_id: TenantId, people: Iterable[PrincipalId]) -> Iterator[GivenAnswer]:
        for part in in_parts(people):
            rows = self._session.stream(
                "SELECT t.record, a.record, s.record FROM answer AS a"  # noqa: S608 - marks
                " JOIN ticket AS t ON t.tenant_id = a.tenant_id AND t.ticket_id = a.ticket_id"
                " LEFT JOIN settlement AS s ON s.tenant_id = a.tenant_id AND s.ticket_id = a.ticket_id"
                f" WHERE a.answered_by IN ({marks(part)}) AND a.tenant_id = ? ORDER BY a.answered_by, a.ticket_id",
                (*part, tenant_id),
            )
            for asked, given, settled in rows:
                yield GivenAnswer(
                    ticket=_ticket(asked),
                    answer=read_record(given, Answer),
                    settlement=None if settled is None else read_record(settled, Settlement),
                )

    def reviewers(
        self, tenant_id: TenantId, *, after: PrincipalId | None = None, limit: int
    ) -> tuple[PrincipalId, ...]:
        # One step in the index for each name; DISTINCT would read every answer that was ever given.
        following = (
            "SELECT answered_by FROM answer WHERE answered_by > {} AND tenant_id = ? ORDER BY answered_by LIMIT 1"
        )
        rows = self._session.query(
            f"WITH RECURSIVE reviewer (name, place) AS (SELECT ({following.format('?')}), 1 UNION ALL"  # noqa: S608 - ours
            f" SELECT ({following.format('reviewer.name')}), place + 1 FROM reviewer"
            " WHERE name IS NOT NULL AND place < ?) SELECT name FROM reviewer WHERE name IS NOT NULL ORDER BY place",
            (after or "", tenant_id, tenant_id, limit),
        )
        return tuple(PrincipalId(name) for (name,) in rows)

    def add_settlement(self, tenant_id: TenantId, settlement: Settlement) -> None:
        verify_key("ticket id", settlement.ticket_id)
        require_free(
            self._session,
            "SELECT 1 FROM settlement WHERE tenant_id = ? AND ticket_id = ?",
            (tenant_id, settlement.ticket_id),
            f"a settlement of `{settlement.ticket_id}`",
        )
        self._session.run(
            "INSERT INTO settlement (tenant_id, ticket_id, record) VALUES (?, ?, ?)",
            (tenant_id, settlement.ticket_id, write_record(settlement)),
        )
        self._session.run(
            "UPDATE ticket_place SET is_open = 0 WHERE ticket_id = ? AND tenant_id = ?",
            (settlement.ticket_id, tenant_id),
        )

    def find_settlement(self, tenant_id: TenantId, ticket_id: TicketId) -> Settlement | None:
        rows = self._session.query(
            "SELECT record FROM settlement WHERE tenant_id = ? AND ticket_id = ?", (tenant_id, ticket_id)
        )
        return read_record(rows[0][0], Settlement) if rows else None

    def settlements_on(self, tenant_id: TenantId, ticket_ids: Iterable[TicketId]) -> tuple[Settlement, ...]:
        return tuple(read_record(record, Settlement) for record in self._on("settlement", tenant_id, ticket_ids))

    def _on(self, table: str, tenant_id: TenantId, ticket_ids: Iterable[TicketId], *, order: str = "") -> Iterator[str]:
        for part in in_parts(ticket_ids):
            sql = f"SELECT record FROM {table} WHERE tenant_id = ? AND ticket_id IN ({marks(part)}){order}"  # noqa: S608 - ours
            yield from (record for (record,) in self._session.query(sql, (tenant_id, *part)))

    def _in_order(self, tenant_id: TenantId, rows: list[Row]) -> Iterator[tuple[Any, Ticket]]:
        """The tickets of these rows, each after what it is sorted by."""
        found = {one.id: one for one in self.find_tickets(tenant_id, (TicketId(name) for name, _ in rows))}
        for name, place in rows:
            if name not in found:
                raise DamagedRecordError(f"expected the ticket `{name!s:.80}` beside its place in the queue, got none")
            yield place, found[name]


class _Conditions(NamedTuple):
    sql: str
    given: tuple[object, ...]


def _conditions(
    *,
    is_open: int | None,
    kind: TicketKind | None,
    about: str | None = None,
    prefix: str | None = None,
    due_by: Instant | None = None,
) -> _Conditions:
    """Whether a ticket is open is no parameter: indexes of the open ones alone are used where the question says so."""
    parts: list[tuple[str, tuple[object, ...]]] = []
    if is_open is not None:
        parts.append((f"is_open = {is_open:d} AND ", ()))
    if kind is not None:
        parts.append(("kind = ? AND ", (kind.value,)))
    if about is not None:
        parts.append(("about = ? AND ", (about,)))
    if prefix is not None:
        parts.append(("substr(about, 1, ?) = ? AND ", (len(prefix), prefix)))
    if due_by is not None:
        parts.append(("due_at <= ? AND ", (sortable(due_by),)))
    return _Conditions("".join(sql for sql, _ in parts), tuple(one for _, given in parts for one in given))


def _ticket(record: str) -> Ticket:
    """What waits is looked at again and again, and judging a ticket costs far more than reading it."""
    # A damaged database can also hold a number where a text was.
    is_short = len(str(record)) <= _REMEMBERED_LENGTH
    return _judged(record) if is_short else read_record(record, Ticket)


@lru_cache(maxsize=1024)
def _judged(record: str) -> Ticket:
    """By its text, which never changes its mind."""
    return read_record(record, Ticket)
