"""Where the chain, its tree, its checkpoints and its erasable values are kept."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from msgspec import Struct

from assay.kernel.commitment import Disclosure
from assay.kernel.digest import Digest
from assay.kernel.entry import Entry
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind, Head
from assay.kernel.trace import TraceId


class ProvenEntry(NamedTuple):
    """An entry whose text was compared with the hash of its row, and that hash."""

    entry: Entry
    entry_hash: Digest


class StoredEntry(Struct, frozen=True, kw_only=True):
    """One row as it lies in the database: the proven text, and the columns that must say the same (SKI 7.1)."""

    tenant_id: str
    sequence_number: int
    previous_hash: str
    entry_hash: str
    leaf_hash: bytes
    timestamp: str
    kind: str
    telemetry_id: str | None
    telemetry_hash: str | None
    verdict: str | None
    rule_id: str | None
    kg_version_hash: str | None
    model_weight_hash: str | None
    llm_transcript: str | None
    verifier_result: str | None
    schema_version: str
    text: bytes
    # Last, so that rows of backups made before there were traces are read as they are.
    trace_id: str | None = None


class KeptCheckpoint(Struct, frozen=True, kw_only=True):
    """A signed note with what it says, so that it can be found by size."""

    tenant_id: TenantId
    size: int
    root_hash: Digest
    signed_at: Instant
    note: str


class DisclosureRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of `disclosure`: what opens the commitment at a pointer of an entry."""

    sequence_number: int
    pointer: str
    salt: str
    value: str


class LedgerStore(Protocol):
    """Reads see one consistent state; an append is part of the unit of work and durable when that returns."""

    def tenants(self) -> tuple[TenantId, ...]: ...

    def head(self, tenant_id: TenantId) -> Head: ...

    def find_kept_head(self, tenant_id: TenantId) -> Head | None:
        """What the chain's own row says its end is; `head` is what the entries say, and an auditor compares them."""
        ...

    def under(self, trace: TraceId | None) -> AbstractContextManager[None]:
        """Give entries that are appended inside the block this trace id, where they have none of their own."""
        ...

    def find_entry(self, tenant_id: TenantId, sequence_number: int) -> StoredEntry | None: ...

    def find_entries(self, tenant_id: TenantId, sequence_numbers: Iterable[int]) -> dict[int, StoredEntry]:
        """Those of them that are there, by number. A few questions, however many entries."""
        ...

    def entries_of_trace(self, tenant_id: TenantId, trace_id: str) -> tuple[StoredEntry, ...]:
        """The entries that one request wrote, in order."""
        ...

    def entries(
        self,
        tenant_id: TenantId,
        *,
        first: int = 1,
        last: int | None = None,
        kinds: Iterable[EntryKind] | None = None,
    ) -> Iterator[StoredEntry]:
        """In order, streamed; what is missing is simply not there, and finding that out is the auditor's work."""
        ...

    def select(
        self,
        tenant_id: TenantId,
        *,
        kind: str | None = None,
        first: int = 1,
        last: int | None = None,
        newest: bool = False,
        limit: int,
    ) -> list[StoredEntry]:
        """At most `limit` stored entries of a range, of one kind or all, by number up or down; read by an index."""
        ...

    def count(self, tenant_id: TenantId, *, first: int, last: int, kind: str | None = None) -> int:
        """How many of these entries are there, of one kind or all; fewer than their numbers say is a gap."""
        ...

    def count_kind(self, tenant_id: TenantId, kind: EntryKind) -> int:
        """How many entries of a kind are stored; what the open unit of work appended is not among them."""
        ...

    def find_latest(self, tenant_id: TenantId, kind: EntryKind) -> int | None:
        """The number of the newest stored entry of a kind; what the open unit of work appended is not among them.

        Quick for the kinds that bring something into force, of which there are few: whoever goes by a row about such a
        thing asks here whether it is the newest.
        """
        ...

    def texts(self, tenant_id: TenantId, sequence_numbers: Iterable[int]) -> dict[int, bytes]:
        """The proven texts of these entries by number, as few questions as may be; what is missing is not there."""
        ...

    def texts_from(self, tenant_id: TenantId, first: int, limit: int) -> list[tuple[int, bytes]]:
        """The numbers and proven texts of at most `limit` stored entries from `first` on, in order."""
        ...

    def tile(self, tenant_id: TenantId, level: int, index: int, width: int) -> bytes:
        """`width` hashes of a tile, 32 bytes each; `ledger.tile_missing` when they are not all there."""
        ...

    def add_checkpoint(self, checkpoint: KeptCheckpoint) -> None: ...

    def find_checkpoint(self, tenant_id: TenantId, *, at_most: int | None = None) -> KeptCheckpoint | None:
        """The newest checkpoint, or the newest that covers at most so many entries."""
        ...

    def last_checkpoint_number(self, tenant_id: TenantId) -> int:
        """Checkpoints are numbered from 1 without gaps; 0 where there is none."""
        ...

    def checkpoints(self, tenant_id: TenantId, *, after: int = 0) -> Iterator[KeptCheckpoint]:
        """All that cover more than `after` entries, by size and then in the order they were signed."""
        ...

    def disclosures(self, tenant_id: TenantId, sequence_number: int) -> tuple[Disclosure, ...]: ...

    def erase(self, tenant_id: TenantId, sequence_number: int, pointers: tuple[str, ...] | None) -> tuple[str, ...]:
        """Delete the salts and values behind an entry's commitments (all, or those named); say which were there."""
        ...
