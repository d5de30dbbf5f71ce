"""The outbox in SQL: events in their tenant's order, and each subscriber's cursor."""

from msgspec import Raw

from assay.adapters.sql.rows import Rows
from assay.adapters.sql.storable import verify_key
from assay.kernel.entry import MalformedEntryError, read_entry
from assay.kernel.ids import TenantId, TicketId
from assay.kernel.instant import parse_instant
from assay.ports.credential_seal import CredentialSeal, StoredCredential
from assay.ports.damage import DamagedRecordError
from assay.ports.events import OutboxEvent, OutboxRow

# Rows at the end of the outbox that are tried before the newest event is called damaged.
_TRIED = 64


class SqlOutboxStore:
    """Implements `ports.events.OutboxStore`."""

    def __init__(self, rows: Rows, seal: CredentialSeal | None = None) -> None:
        self._rows = rows
        self._session = rows.session
        self._seal = seal

    def events(self, tenant_id: TenantId, *, after: int, limit: int) -> tuple[OutboxEvent, ...]:
        rows = self._sound(
            tenant_id, "WHERE tenant_id = ? AND position > ? ORDER BY position LIMIT ?", (tenant_id, after, limit)
        )
        found = [row for place, row in enumerate(rows, after + 1) if row.position == place]
        if rows and not found:
            raise DamagedRecordError(
                f"`outbox`: expected the event at position {after + 1}, got none that its entry records",
                entry=rows[0].sequence_number,
            )
        return tuple(_event(tenant_id, row) for row in found)

    def entries_about(self, tenant_id: TenantId, ticket_id: TicketId) -> tuple[int, ...]:
        # The third condition is the index's own, word for word: without it no database would use it.
        rest = "WHERE subject = ? AND tenant_id = ? AND substr(subject, 1, 4) = 'tkt_' ORDER BY position"
        rows = self._sound(tenant_id, rest, (ticket_id, tenant_id))
        return tuple(dict.fromkeys(row.sequence_number for row in rows))

    def newest(self, tenant_id: TenantId) -> int:
        rest = "WHERE tenant_id = ? ORDER BY position DESC LIMIT ?"
        for limit in (1, _TRIED):
            rows = self._sound(tenant_id, rest, (tenant_id, limit))
            if rows:
                self._require_last(tenant_id, rows[0].position)
                return rows[0].position
        if len(self._session.query(f"SELECT position FROM outbox {rest}", (tenant_id, _TRIED))) == _TRIED:  # noqa: S608 - ours
            raise DamagedRecordError(f"`outbox`: the last {_TRIED} events are not what the ledger records")
        return 0

    def _require_last(self, tenant_id: TenantId, position: int) -> None:
        """A row after the last one that holds is passed over, unless its entry records an event in that place."""
        rows = self._session.query(
            "SELECT l.text FROM outbox AS o JOIN ledger AS l ON l.tenant_id = o.tenant_id AND l.sequence_number ="
            " o.sequence_number WHERE o.tenant_id = ? AND o.position = ?",
            (tenant_id, position + 1),
        )
        for (text,) in rows:
            events = read_entry(text).events
            if events is not None and events.after <= position < events.after + len(events.hashes):
                raise DamagedRecordError(
                    f"`outbox`: the event at position {position + 1} is not what its entry records"
                )

    def recorded_since(self, tenant_id: TenantId) -> int:
        known = self._rows.cache.recorded_since
        since = known.get(tenant_id, 0)
        if since > 0:
            return since
        number = -since
        rows = self._session.stream(
            "SELECT sequence_number, text FROM ledger WHERE tenant_id = ? AND sequence_number > ?"
            " ORDER BY sequence_number",
            (tenant_id, number),
        )
        for number, text in rows:
            # An entry of 0.1.0 has neither member; most of its entries do not even have these words.
            if (b'"events":' in text or b'"trace_id":' in text) and _records_events(text):
                known[tenant_id] = number
                return int(number)
        known[tenant_id] = -number
        return number + 1

    def cursor(self, tenant_id: TenantId, subscriber: str) -> int:
        rows = self._session.query(
            "SELECT position, mac FROM outbox_cursor WHERE tenant_id = ? AND subscriber = ?", (tenant_id, subscriber)
        )
        if not rows:
            return 0
        [(position, mac)] = rows
        if self._seal is None or self._seal.holds(_signed(tenant_id, subscriber, position), mac):
            return int(position)
        last = self._session.query(
            "SELECT max(position) FROM outbox WHERE tenant_id = ? AND sequence_number < ?",
            (tenant_id, self.recorded_since(tenant_id)),
        )[0][0]
        return min(int(position), int(last or 0)) if isinstance(position, int) else 0

    def confirm(self, tenant_id: TenantId, subscriber: str, position: int) -> None:
        verify_key("subscriber's name", subscriber)
        if position < self.cursor(tenant_id, subscriber):
            return
        mac = None if self._seal is None else self._seal.mac(_signed(tenant_id, subscriber, position))
        self._session.run(
            "INSERT INTO outbox_cursor (tenant_id, subscriber, position, mac) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (tenant_id, subscriber) DO UPDATE SET position = excluded.position, mac = excluded.mac",
            (tenant_id, subscriber, position, mac),
        )

    def _sound(self, tenant_id: TenantId, rest: str, parameters: tuple[object, ...]) -> tuple[OutboxRow, ...]:
        return self._rows.sound(OutboxRow, rest, parameters, lambda number: 0 < number < self.recorded_since(tenant_id))


def _event(tenant_id: TenantId, row: OutboxRow) -> OutboxEvent:
    return OutboxEvent(
        tenant_id=tenant_id,
        position=row.position,
        ledger_sequence=row.sequence_number,
        type=row.type,
        subject=row.subject,
        occurred_at=parse_instant(row.occurred_at),
        body=Raw(row.body.encode()),
    )


def _records_events(text: bytes) -> bool:
    try:
        entry = read_entry(text)
    except MalformedEntryError:
        return False
    return entry.events is not None or entry.trace_id is not None


def _signed(tenant_id: TenantId, subscriber: str, position: object) -> StoredCredential:
    """What the MAC of a cursor covers."""
    return StoredCredential(
        credential_id=subscriber, kind="outbox_cursor", tenant_id=tenant_id, principal_id="", record=str(position)
    )
