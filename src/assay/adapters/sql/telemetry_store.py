"""Known telemetry, the buffer that windows look back at, and what left it, in SQL."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from assay.adapters.sql.row import add_row, add_rows, columns_of, read_row, sortable, verify_row
from assay.adapters.sql.session import SqlSession
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, parse_instant
from assay.ports.telemetry_store import BufferedText, BufferExtent, KnownTelemetry, TelemetryDrop

_KNOWN = f"SELECT {', '.join(columns_of(KnownTelemetry))} FROM telemetry"  # noqa: S608 - our constants
_BUFFERED = f"SELECT {', '.join(columns_of(BufferedText))} FROM telemetry_buffer"  # noqa: S608 - our constants
# Places in one statement; every engine takes as many.
_AT_ONCE = 500
_OF_SUBJECT = " WHERE subject = ? AND tenant_id = ?"
# Each end is one step down the index; asked for together in one aggregate, they would be a walk over the whole buffer.
_ENDS = (
    f"SELECT (SELECT min(as_of) FROM telemetry_buffer{_OF_SUBJECT}),"  # noqa: S608 - our constants
    f" (SELECT max(as_of) FROM telemetry_buffer{_OF_SUBJECT})"
)
_ENDS_OF_MANY = (
    "WITH asked (subject) AS (VALUES {}) SELECT asked.subject,"
    " (SELECT min(as_of) FROM telemetry_buffer AS b WHERE b.subject = asked.subject AND b.tenant_id = ?),"
    " (SELECT max(as_of) FROM telemetry_buffer AS b WHERE b.subject = asked.subject AND b.tenant_id = ?) FROM asked"
)


class SqlTelemetryStore:
    """Implements `ports.telemetry_store.TelemetryStore`."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    def add_known(self, tenant_id: TenantId, known: KnownTelemetry) -> None:
        verify_row(known, "telemetry_id", "subject")
        add_row(self._session, "telemetry", tenant_id, known, f"the record `{known.telemetry_id}`")

    def add_known_many(self, tenant_id: TenantId, known: Sequence[KnownTelemetry]) -> None:
        for one in known:
            verify_row(one, "telemetry_id", "subject")
        add_rows(self._session, "telemetry", tenant_id, known, f"{len(known)} records")

    def find_known(self, tenant_id: TenantId, telemetry_id: str) -> KnownTelemetry | None:
        rows = self._session.query(f"{_KNOWN} WHERE telemetry_id = ? AND tenant_id = ?", (telemetry_id, tenant_id))
        return read_row(rows[0], KnownTelemetry) if rows else None

    def find_known_many(self, tenant_id: TenantId, telemetry_ids: Iterable[str]) -> tuple[KnownTelemetry, ...]:
        waiting, found = iter(dict.fromkeys(telemetry_ids)), list[KnownTelemetry]()
        while part := list(islice(waiting, _AT_ONCE)):
            sql = f"{_KNOWN} WHERE telemetry_id IN ({', '.join('?' * len(part))}) AND tenant_id = ?"
            found.extend(read_row(row, KnownTelemetry) for row in self._session.query(sql, (*part, tenant_id)))
        return tuple(found)

    def known(self, tenant_id: TenantId) -> Iterator[KnownTelemetry]:
        rows = self._session.stream(
            f"{_KNOWN} WHERE tenant_id = ? ORDER BY sequence_number, telemetry_id", (tenant_id,)
        )
        return (read_row(row, KnownTelemetry) for row in rows)

    def buffer(self, tenant_id: TenantId, record: BufferedText) -> None:
        verify_row(record, "subject", "telemetry_id")
        add_row(self._session, "telemetry_buffer", tenant_id, record, f"the record `{record.telemetry_id}`")

    def buffer_many(self, tenant_id: TenantId, records: Sequence[BufferedText]) -> None:
        for one in records:
            verify_row(one, "subject", "telemetry_id")
        add_rows(self._session, "telemetry_buffer", tenant_id, records, f"{len(records)} records")

    def buffered(
        self, tenant_id: TenantId, subject: str, *, since: Instant | None = None, until: Instant
    ) -> tuple[BufferedText, ...]:
        rows = self._session.query(
            f"{_BUFFERED}{_OF_SUBJECT} AND as_of > ? AND as_of <= ? ORDER BY as_of, telemetry_id",
            (subject, tenant_id, "" if since is None else sortable(since), sortable(until)),
        )
        return tuple(read_row(row, BufferedText) for row in rows)

    def extent(self, tenant_id: TenantId, subject: str) -> BufferExtent:
        ((records, oldest, newest),) = self._session.query(
            f"SELECT count(*), min(as_of), max(as_of) FROM telemetry_buffer{_OF_SUBJECT}",  # noqa: S608 - our constants
            (subject, tenant_id),
        )
        return read_row((subject, records, oldest, newest), BufferExtent)

    def extents(self, tenant_id: TenantId) -> tuple[BufferExtent, ...]:
        rows = self._session.query(
            "SELECT subject, count(*), min(as_of), max(as_of) FROM telemetry_buffer WHERE tenant_id = ?"
            " GROUP BY subject ORDER BY subject",
            (tenant_id,),
        )
        return tuple(read_row(row, BufferExtent) for row in rows)

    def find_ends(self, tenant_id: TenantId, subject: str) -> tuple[Instant, Instant] | None:
        ((oldest, newest),) = self._session.query(_ENDS, (subject, tenant_id, subject, tenant_id))
        return None if oldest is None else (parse_instant(oldest), parse_instant(newest))

    def find_ends_many(self, tenant_id: TenantId, subjects: Iterable[str]) -> dict[str, tuple[Instant, Instant]]:
        waiting, found = iter(dict.fromkeys(subjects)), dict[str, tuple[Instant, Instant]]()
        while part := list(islice(waiting, _AT_ONCE)):
            rows = self._session.query(
                _ENDS_OF_MANY.format(", ".join(["(?)"] * len(part))), (*part, tenant_id, tenant_id)
            )
            kept = [row for row in rows if row[1] is not None]
            found.update((name, (parse_instant(oldest), parse_instant(newest))) for name, oldest, newest in kept)
        return found

    def drop(self, tenant_id: TenantId, subject: str, *, until: Instant) -> tuple[int, Instant | None]:
        where, parameters = f"{_OF_SUBJECT} AND as_of <= ?", (subject, tenant_id, sortable(until))
        ((latest,),) = self._session.query(f"SELECT max(as_of) FROM telemetry_buffer{where}", parameters)  # noqa: S608 - our constants
        if latest is None:
            return 0, None
        return self._session.run(f"DELETE FROM telemetry_buffer{where}", parameters), parse_instant(latest)  # noqa: S608 - our constants

    def add_drop(self, tenant_id: TenantId, drop: TelemetryDrop) -> None:
        verify_row(drop, "subject")
        add_row(self._session, "telemetry_drop", tenant_id, drop, f"the drop of entry {drop.sequence_number}")

    def dropped_until(self, tenant_id: TenantId, subject: str) -> Instant | None:
        ((latest,),) = self._session.query(
            f"SELECT max(dropped_until) FROM telemetry_drop{_OF_SUBJECT}",  # noqa: S608 - our constants
            (subject, tenant_id),
        )
        return None if latest is None else parse_instant(latest)
