"""The outbox in SQL: events in their tenant's order, and each subscriber's cursor."""

from msgspec import Raw

from assay.adapters.sql.session import SqlSession
from assay.adapters.sql.storable import verify_key
from assay.kernel.ids import TenantId, TicketId
from assay.kernel.instant import parse_instant
from assay.ports.events import OutboxEvent


class SqlOutboxStore:
    """Implements `ports.events.OutboxStore`."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    def events(self, tenant_id: TenantId, *, after: int, limit: int) -> tuple[OutboxEvent, ...]:
        rows = self._session.query(
            "SELECT position, ledger_sequence, type, subject, occurred_at, body FROM outbox"
            " WHERE tenant_id = ? AND position > ? ORDER BY position LIMIT ?",
            (tenant_id, after, limit),
        )
        return tuple(
            OutboxEvent(
                tenant_id=tenant_id,
                position=position,
                ledger_sequence=sequence,
                type=kind,
                subject=subject,
                occurred_at=parse_instant(occurred_at),
                body=Raw(body.encode()),
            )
            for position, sequence, kind, subject, occurred_at, body in rows
        )

    def entries_about(self, tenant_id: TenantId, ticket_id: TicketId) -> tuple[int, ...]:
        # The third condition is the index's own, word for word: without it no database would use it.
        rows = self._session.query(
            "SELECT ledger_sequence FROM outbox WHERE subject = ? AND tenant_id = ? AND substr(subject, 1, 4) = 'tkt_'"
            " ORDER BY position",
            (ticket_id, tenant_id),
        )
        return tuple(dict.fromkeys(int(number) for (number,) in rows))

    def newest(self, tenant_id: TenantId) -> int:
        rows = self._session.query(
            "SELECT position FROM outbox WHERE tenant_id = ? ORDER BY position DESC LIMIT 1", (tenant_id,)
        )
        return int(rows[0][0]) if rows else 0

    def cursor(self, tenant_id: TenantId, subscriber: str) -> int:
        rows = self._session.query(
            "SELECT position FROM outbox_cursor WHERE tenant_id = ? AND subscriber = ?", (tenant_id, subscriber)
        )
        return int(rows[0][0]) if rows else 0

    def confirm(self, tenant_id: TenantId, subscriber: str, position: int) -> None:
        verify_key("subscriber's name", subscriber)
        self._session.run(
            "INSERT INTO outbox_cursor (tenant_id, subscriber, position) VALUES (?, ?, ?)"
            " ON CONFLICT (tenant_id, subscriber) DO UPDATE SET position = excluded.position"
            " WHERE excluded.position > outbox_cursor.position",
            (tenant_id, subscriber, position),
        )
