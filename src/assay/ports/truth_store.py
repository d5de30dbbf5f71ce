"""Truth's memory (Kaori 17): released contracts, Bronze records, Silver states; Gold is each key's latest state.

Each row is the projection of the ledger entry that its `sequence_number` names (`assay.facts.truth`): rows make entries
quick to find, and a replay reads the entries.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant


class RecordKind(StrEnum):
    """What a compilation reads besides the contract and the snapshot."""

    OBSERVATION = "observation"
    VOTE = "vote"
    AI_SCORE = "ai_score"
    FINGERPRINT = "fingerprint"
    WINDOW_EVENT = "window_event"


class ReleasedContract(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A contract as it was released: its canonical document, and the text of a schema it refers to."""

    claim_type: str
    claim_type_hash: str
    document: str
    schema_text: str | None
    released_at: Instant
    released_by: str
    sequence_number: int


class TruthRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One Bronze record of one key; `text` is its canonical JSON (`kaori-2.1`), `by` who made it.

    `occurred_at` is what it says of itself, `received_at` when it was recorded, which its maker cannot choose.

    A fingerprint's id begins with its method and its evidence; it counts under each key whose observations carry that
    evidence, and has a row under those that its entry names.
    """

    kind: RecordKind
    truthkey: str
    record_id: str
    record_hash: str
    by: str
    occurred_at: Instant
    received_at: Instant
    text: str
    sequence_number: int


class FrozenTrust(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A trust snapshot by the hash that states name; `text` is its canonical JSON."""

    snapshot_hash: str
    snapshot_time: Instant
    text: str
    sequence_number: int


class SilverState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One signed state; `version` counts a key's states from 1, `through` is the entry up to which records are in it.

    `due_at` is the next instant at which time alone may change it: None where it never does.
    INVARIANT: `compile_time` and `through` never fall from one version of a key to the next.
    """

    truthkey: str
    version: int
    claim_type: str
    status: str
    semantic_hash: str
    state_hash: str
    snapshot_hash: str
    compile_time: Instant
    due_at: Instant | None
    through: int
    text: str
    sequence_number: int


class DueState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A latest state that time alone may change, and when."""

    truthkey: str
    version: int
    due_at: Instant


class TruthStore(Protocol):
    """Rows are inserted by `unit.record`, never changed, and compared with their entries when they are read.

    There is one contract for each claim type, for ever (Kaori 6.4). Of one kind, an id names one record within a key,
    and so does a hash; an entry records one observation. A version that is not the next one of its key, or whose
    `compile_time` or `through` is below that of the version before it, is refused. A taken place is `store.conflict`.
    What is streamed must be read inside the unit of work that asked; what that unit writes meanwhile may or may not
    come by.
    """

    def find_contract(self, tenant_id: TenantId, claim_type: str) -> ReleasedContract | None: ...

    def contracts(self, tenant_id: TenantId) -> tuple[ReleasedContract, ...]:
        """Sorted by claim type."""
        ...

    def find_record(
        self,
        tenant_id: TenantId,
        kind: RecordKind,
        record_id: str,
        *,
        by: str | None = None,
        truthkey: str | None = None,
    ) -> TruthRecord | None:
        """The first that was recorded under this id, whoever made it and whichever key it belongs to if not told."""
        ...

    def find_observation(self, tenant_id: TenantId, observation_hash: str) -> TruthRecord | None: ...

    def fingerprints(
        self, tenant_id: TenantId, record_ids: Iterable[str], beginnings: Iterable[str]
    ) -> tuple[TruthRecord, ...]:
        """The fingerprints with one of these ids, or whose ids begin like this, under any key, in order of entries."""
        ...

    def records(self, tenant_id: TenantId, truthkey: str, *, through: int | None = None) -> Iterator[TruthRecord]:
        """All records of a key that were recorded up to an entry, sorted by kind and hash; streamed."""
        ...

    def observations(
        self,
        tenant_id: TenantId,
        *,
        truthkey: str | None = None,
        by: str | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> tuple[TruthRecord, ...]:
        """A page of Bronze in the order it was recorded, after an entry's number."""
        ...

    def observations_by(self, tenant_id: TenantId, by: str, *, before: int, limit: int) -> tuple[TruthRecord, ...]:
        """What one reporter said before an entry, the newest first."""
        ...

    def count_reports(self, tenant_id: TenantId, truthkey: str, by: str) -> int:
        """How many observations one reporter has made at a key."""
        ...

    def last_record(self, tenant_id: TenantId, truthkey: str) -> int:
        """The entry of a key's newest record, which is compared with it; 0 where there is none."""
        ...

    def keys(self, tenant_id: TenantId, *, stale_only: bool = False) -> Iterator[str]:
        """Keys with records, sorted; stale are those whose newest record is in no state yet."""
        ...

    def stale_since(self, tenant_id: TenantId, after: int) -> tuple[str, ...]:
        """The stale keys that got a record after an entry, sorted; no other key is looked at."""
        ...

    def find_snapshot(self, tenant_id: TenantId, snapshot_hash: str) -> FrozenTrust | None: ...

    def note_due(self, tenant_id: TenantId, truthkey: str, version: int, due_at: Instant | None) -> None:
        """Note when time alone may change the latest state of a key; with None it never does."""
        ...

    def find_state(self, tenant_id: TenantId, truthkey: str, *, known_at: Instant | None = None) -> SilverState | None:
        """The latest, or what was known at that instant: the last one compiled by then."""
        ...

    def find_state_by_hash(self, tenant_id: TenantId, state_hash: str) -> SilverState | None:
        """The first that was recorded with this hash."""
        ...

    def statuses(self, tenant_id: TenantId, truthkeys: Iterable[str]) -> dict[str, str]:
        """The status of the latest state of each of these keys; a key without a state is left out."""
        ...

    def history(self, tenant_id: TenantId, truthkey: str) -> tuple[SilverState, ...]:
        """Every state of a key, oldest first."""
        ...

    def gold(
        self,
        tenant_id: TenantId,
        *,
        claim_type: str | None = None,
        known_at: Instant | None = None,
        after: str | None = None,
    ) -> Iterator[SilverState]:
        """The latest state of each key, sorted by key; streamed. Of a claim type: where the latest state is of it.

        Only of the keys that come `after` one, for whoever reads page by page.
        """
        ...

    def due(self, tenant_id: TenantId, at: Instant) -> Iterator[SilverState]:
        """The latest states whose `due_at` has come, the longest due first; streamed. No other state is looked at."""
        ...
