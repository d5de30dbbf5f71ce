"""Tickets, answers and settlements in SQL."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from assay.adapters.sql.parts import in_parts, marks
from assay.adapters.sql.record import read_record, require_free, write_record
from assay.adapters.sql.session import SqlSession
from assay.adapters.sql.storable import verify_key
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import render_instant
from assay.review.answer import Answer
from assay.review.kind import TicketKind
from assay.review.progress import GivenAnswer
from assay.review.settle import Settlement
from assay.review.ticket import Ticket

__all__ = ["SqlReviewStore"]

_UNSETTLED = (
    " AND NOT EXISTS (SELECT 1 FROM settlement AS s WHERE s.tenant_id = t.tenant_id AND s.ticket_id = t.ticket_id)"
)
# Whoever is shown more than this is asked rarely; together they hold a few megabytes at the most.
_REMEMBERED_LENGTH = 8192


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

    def find_ticket(self, tenant_id: TenantId, ticket_id: TicketId) -> Ticket | None:
        rows = self._session.query(
            "SELECT record FROM ticket WHERE tenant_id = ? AND ticket_id = ?", (tenant_id, ticket_id)
        )
        return _ticket(rows[0][0]) if rows else None

    def find_tickets(self, tenant_id: TenantId, ticket_ids: Iterable[TicketId]) -> tuple[Ticket, ...]:
        return tuple(_ticket(record) for record in self._on("ticket", tenant_id, ticket_ids))

    def tickets(self, tenant_id: TenantId, *, unsettled_only: bool = False) -> tuple[Ticket, ...]:
        return tuple(_ticket(record) for record in self._of_tickets("record", tenant_id, unsettled_only))

    def ticket_ids(self, tenant_id: TenantId, *, unsettled_only: bool = False) -> tuple[TicketId, ...]:
        return tuple(TicketId(name) for name in self._of_tickets("ticket_id", tenant_id, unsettled_only))

    def open_tickets_about(self, tenant_id: TenantId, kind: TicketKind, about: str) -> tuple[Ticket, ...]:
        # As a value and not as a join: a server that has not counted yet would join by the tenant alone.
        rows = self._session.query(
            "SELECT record FROM ticket AS t WHERE about = ? AND kind = ? AND tenant_id = ?"
            " AND (SELECT s.ticket_id FROM settlement AS s WHERE s.tenant_id = t.tenant_id"
            " AND s.ticket_id = t.ticket_id) IS NULL ORDER BY position",
            (about, kind.value, tenant_id),
        )
        return tuple(_ticket(record) for (record,) in rows)

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

    def reviewers(self, tenant_id: TenantId) -> tuple[PrincipalId, ...]:
        rows = self._session.query(
            "SELECT DISTINCT answered_by FROM answer WHERE tenant_id = ? ORDER BY answered_by", (tenant_id,)
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

    def _of_tickets(self, column: str, tenant_id: TenantId, unsettled_only: bool) -> list[str]:  # noqa: FBT001 - ours
        rows = self._session.query(
            f"SELECT {column} FROM ticket AS t WHERE tenant_id = ?"  # noqa: S608 - both are our constants
            f"{_UNSETTLED if unsettled_only else ''} ORDER BY position",
            (tenant_id,),
        )
        return [value for (value,) in rows]


def _ticket(record: str) -> Ticket:
    """Every look at the desk reads all that wait there, and judging one costs far more than reading it."""
    # A damaged database can also hold a number where a text was.
    is_short = len(str(record)) <= _REMEMBERED_LENGTH
    return _judged(record) if is_short else read_record(record, Ticket)


@lru_cache(maxsize=1024)
def _judged(record: str) -> Ticket:
    """By its text, which never changes its mind."""
    return read_record(record, Ticket)
