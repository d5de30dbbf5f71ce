"""Known telemetry, the records that windows look back at, and which of them were dropped, in SQL."""

from collections.abc import Iterable

from assay.adapters.sql.parts import in_parts
from assay.adapters.sql.row import sortable
from assay.adapters.sql.rows import Rows
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant, parse_instant
from assay.ports.damage import DamagedRecordError
from assay.ports.telemetry_store import BufferedEntry, BufferEnds, BufferExtent, KnownTelemetry, TelemetryDrop
from assay.ports.verdict_store import VerdictRow

# What settles a held verdict is about the same record once more.
_OF_SUBJECT = "WHERE subject = ? AND tenant_id = ? AND held_entry IS NULL"
_DROPPED = (
    "coalesce((SELECT max(d.dropped_until) FROM telemetry_drop AS d"
    " WHERE d.subject = {0}.subject AND d.tenant_id = {0}.tenant_id), '')"
)
# Each end is one step down the index; asked for together in one aggregate, they would be a walk over the whole buffer.
_OF_ASKED = "FROM verdict_index AS v WHERE v.subject = asked.subject AND v.tenant_id = asked.tenant_id"
_ENDS = (
    "WITH asked (subject, tenant_id) AS (VALUES {}) SELECT asked.subject,"  # noqa: S608 - our constants
    f" (SELECT min(v.as_of) {_OF_ASKED} AND v.held_entry IS NULL AND v.as_of > {_DROPPED.format('asked')}),"
    f" (SELECT max(v.as_of) {_OF_ASKED} AND v.held_entry IS NULL), {_DROPPED.format('asked')} FROM asked"
)


class SqlTelemetryStore:
    """Implements `ports.telemetry_store.TelemetryStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._session = rows.session

    def find_known(self, tenant_id: TenantId, telemetry_id: str) -> KnownTelemetry | None:
        return next(iter(self.find_known_many(tenant_id, (telemetry_id,))), None)

    def find_known_many(self, tenant_id: TenantId, telemetry_ids: Iterable[str]) -> tuple[KnownTelemetry, ...]:
        first: dict[str, int] = {}
        for row in self._rows.among(VerdictRow, "telemetry_id", telemetry_ids, tenant_id):
            first[row.telemetry_id] = min(row.sequence_number, first.get(row.telemetry_id, row.sequence_number))
        known = self._rows.views(tenant_id, list(first.values()))
        return tuple(view for view in known if isinstance(view, KnownTelemetry))

    def buffered(
        self, tenant_id: TenantId, subject: str, *, since: Instant | None = None, until: Instant
    ) -> tuple[tuple[BufferedEntry, ...], Instant | None]:
        first: dict[str, VerdictRow] = {}
        dropped = self.dropped_until(tenant_id, subject)
        for row in self._kept(tenant_id, subject, since, until, dropped):
            if row.telemetry_id not in first or row.sequence_number < first[row.telemetry_id].sequence_number:
                first[row.telemetry_id] = row
        entries = self._rows.entries(tenant_id, [row.sequence_number for row in first.values()])
        kept = tuple(BufferedEntry(row, one.entry.body) for row, one in zip(first.values(), entries, strict=True))
        return kept, dropped

    def old(self, tenant_id: TenantId, subject: str, *, until: Instant) -> tuple[VerdictRow, ...]:
        return self._kept(tenant_id, subject, None, until, self.dropped_until(tenant_id, subject))

    def newest(self, tenant_id: TenantId, subject: str) -> VerdictRow | None:
        return self._rows.one(VerdictRow, f"{_OF_SUBJECT} ORDER BY as_of DESC LIMIT 1", (subject, tenant_id))

    def extents(self, tenant_id: TenantId) -> tuple[BufferExtent, ...]:
        counted = self._session.query(
            "SELECT v.subject, count(DISTINCT v.telemetry_id), min(v.as_of), max(v.as_of) FROM verdict_index AS v"  # noqa: S608 - ours
            f" WHERE v.tenant_id = ? AND v.held_entry IS NULL AND v.as_of > {_DROPPED.format('v')}"
            " GROUP BY v.subject ORDER BY v.subject",
            (tenant_id,),
        )
        found: list[BufferExtent] = []
        for subject, records, *ends in counted:
            oldest, newest = (
                self._rows.one(VerdictRow, f"{_OF_SUBJECT} AND as_of = ? LIMIT 1", (subject, tenant_id, end))
                for end in ends
            )
            if oldest is None or newest is None:
                raise DamagedRecordError("`verdict_index`: expected the rows that were counted, got others")
            found.append(BufferExtent(subject=subject, records=records, oldest_at=oldest.as_of, newest_at=newest.as_of))
        return tuple(found)

    def find_ends(self, tenant_id: TenantId, subjects: Iterable[str]) -> dict[str, BufferEnds]:
        found: dict[str, BufferEnds] = {}
        for part in in_parts(subjects):
            asked = [value for subject in part for value in (subject, tenant_id)]
            for subject, *times in self._session.query(_ENDS.format(", ".join(["(?, ?)"] * len(part))), asked):
                found[subject] = BufferEnds(*(parse_instant(time) if time else None for time in times))
        return found

    def dropped_until(self, tenant_id: TenantId, subject: str) -> Instant | None:
        rest = "WHERE subject = ? AND tenant_id = ? ORDER BY dropped_until DESC, sequence_number DESC LIMIT 1"
        latest = self._rows.one(TelemetryDrop, rest, (subject, tenant_id))
        return None if latest is None else latest.dropped_until

    def _kept(
        self, tenant_id: TenantId, subject: str, since: Instant | None, until: Instant, dropped: Instant | None
    ) -> tuple[VerdictRow, ...]:
        after = "" if since is None else sortable(since)
        after = after if dropped is None else max(after, sortable(dropped))
        rest = f"{_OF_SUBJECT} AND as_of > ? AND as_of <= ? ORDER BY as_of, telemetry_id, sequence_number"
        return self._rows.all(VerdictRow, rest, (subject, tenant_id, after, sortable(until)))
