"""Telemetry that was judged: known ids for ever, and the records that later windows look back at.

A record is an entry of the ledger with its verdict, and no row beside it. When it is older than the retention it is
dropped: that is logged, and windows that reach back there are in doubt from then on.
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from msgspec import Raw, Struct

from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.verdict_store import VerdictRow


class KnownTelemetry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record's id and hash; `sequence_number` is that of its first verdict. Read from that entry."""

    telemetry_id: str
    telemetry_hash: Digest
    subject: str
    as_of: Instant
    sequence_number: int


class BufferedEntry(NamedTuple):
    """A record for windows: the row of its first verdict, and the body of the entry, which has the record."""

    row: VerdictRow
    body: Raw


class TelemetryDrop(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Records of a subject up to `dropped_until` are dropped, so many at once."""

    subject: str
    dropped_until: Instant
    records: int
    dropped_at: Instant
    sequence_number: int


class BufferExtent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    subject: str
    records: int
    oldest_at: Instant | None
    newest_at: Instant | None


class BufferEnds(NamedTuple):
    """The times of a subject's oldest and newest kept records, and up to when others were dropped."""

    oldest: Instant | None = None
    newest: Instant | None = None
    dropped_until: Instant | None = None


class TelemetryStore(Protocol):
    """Records of a subject are kept that are later than the last ones that were dropped."""

    def find_known(self, tenant_id: TenantId, telemetry_id: str) -> KnownTelemetry | None: ...

    def find_known_many(self, tenant_id: TenantId, telemetry_ids: Iterable[str]) -> tuple[KnownTelemetry, ...]:
        """Those of these ids that are known, in any order."""
        ...

    def buffered(
        self, tenant_id: TenantId, subject: str, *, since: Instant | None = None, until: Instant
    ) -> tuple[tuple[BufferedEntry, ...], Instant | None]:
        """A subject's kept records after `since` and up to `until`, by time; and up to when others were dropped."""
        ...

    def old(self, tenant_id: TenantId, subject: str, *, until: Instant) -> tuple[VerdictRow, ...]:
        """The verdicts on kept records up to that instant, by time."""
        ...

    def newest(self, tenant_id: TenantId, subject: str) -> VerdictRow | None:
        """A verdict on the newest record of a subject."""
        ...

    def extents(self, tenant_id: TenantId) -> tuple[BufferExtent, ...]:
        """The extent of every subject that has kept records, sorted by subject.

        The ends are compared with their entries; how many records there are is counted by the database.
        """
        ...

    def find_ends(self, tenant_id: TenantId, subjects: Iterable[str]) -> dict[str, BufferEnds]:
        """The ends of each of these subjects, as the database has them: rows are not compared."""
        ...

    def dropped_until(self, tenant_id: TenantId, subject: str) -> Instant | None: ...
