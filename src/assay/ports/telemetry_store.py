"""Telemetry that was judged: known ids for ever, and a buffer that later windows look back at.

A record leaves the buffer when it is older than the retention; that is logged, and windows that reach back there are
in doubt from then on.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant


class KnownTelemetry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record's id and hash; `sequence_number` is that of its first verdict."""

    telemetry_id: str
    telemetry_hash: Digest
    subject: str
    as_of: Instant
    sequence_number: int


class BufferedText(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is kept of a record for windows; `text` is the JSON of a `BufferedRecord`."""

    subject: str
    as_of: Instant
    telemetry_id: str
    text: str


class TelemetryDrop(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Records of a subject up to `dropped_until` have left the buffer, so many at once."""

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


class TelemetryStore(Protocol):
    """Known ids and drops are added and never changed; only the buffer gives anything up."""

    def add_known(self, tenant_id: TenantId, known: KnownTelemetry) -> None:
        """An id that is taken is refused with `store.conflict`."""
        ...

    def add_known_many(self, tenant_id: TenantId, known: Sequence[KnownTelemetry]) -> None:
        """The same of many at once; where one is refused, the unit of work is over."""
        ...

    def find_known(self, tenant_id: TenantId, telemetry_id: str) -> KnownTelemetry | None: ...

    def find_known_many(self, tenant_id: TenantId, telemetry_ids: Iterable[str]) -> tuple[KnownTelemetry, ...]:
        """Those of these ids that are known, in any order."""
        ...

    def known(self, tenant_id: TenantId) -> Iterator[KnownTelemetry]:
        """In the order of the ledger, streamed."""
        ...

    def buffer(self, tenant_id: TenantId, record: BufferedText) -> None: ...

    def buffer_many(self, tenant_id: TenantId, records: Sequence[BufferedText]) -> None: ...

    def buffered(
        self, tenant_id: TenantId, subject: str, *, since: Instant | None = None, until: Instant
    ) -> tuple[BufferedText, ...]:
        """A subject's kept records after `since` and up to `until`, by time."""
        ...

    def extent(self, tenant_id: TenantId, subject: str) -> BufferExtent: ...

    def extents(self, tenant_id: TenantId) -> tuple[BufferExtent, ...]:
        """The extent of every subject that has records in the buffer, sorted by subject."""
        ...

    def find_ends(self, tenant_id: TenantId, subject: str) -> tuple[Instant, Instant] | None:
        """The times of a subject's oldest and newest kept records; None where none is kept."""
        ...

    def find_ends_many(self, tenant_id: TenantId, subjects: Iterable[str]) -> dict[str, tuple[Instant, Instant]]:
        """The same of many; without those of which none is kept."""
        ...

    def drop(self, tenant_id: TenantId, subject: str, *, until: Instant) -> tuple[int, Instant | None]:
        """Take records up to that instant out of the buffer: how many, and the latest of them."""
        ...

    def add_drop(self, tenant_id: TenantId, drop: TelemetryDrop) -> None: ...

    def dropped_until(self, tenant_id: TenantId, subject: str) -> Instant | None: ...
