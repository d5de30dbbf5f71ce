"""Verdicts by what people ask for: telemetry, rule, subject, time, held or final.

The rows make entries of the ledger quick to find, and are compared with them. Counts that follow from verdicts (how
stable a rule is, which subjects no rule covers) have no rows: they are computed from the verdicts.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.ledger_store import ProvenEntry

# In the column `path` of a row whose verdict the second runtime reached.
V2_PATH = "v2"


class VerdictRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One verdict entry. `held_entry` is the number of the entry that a final one settles, `ticket_id` the question
    that a held one waits for, `attestation` the signature of the token that was used.

    `bound` is 1 where the entry says `ticket_id`, `held_entry` or the tier of runtime 2, which those of 0.1.0 do not.
    """

    sequence_number: int
    telemetry_id: str
    rule_id: str
    subject: str
    as_of: Instant
    standing: str
    verdict: str
    status: str
    tier: str
    path: str | None
    kg_version_hash: Digest
    recorded_at: Instant
    ticket_id: str | None = None
    held_entry: int | None = None
    attestation: str | None = None
    bound: int | None = None


class EgressNote(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """So many attempts to leave the perimeter at once; none at all says that a person looked into those before."""

    sequence_number: int
    attempts: int
    noted_at: Instant


class VerdictStore(Protocol):
    """Rows are recorded with their entries and never changed. A second settlement, or a token used twice, conflicts.

    Every row is compared with its entry when it is read.
    """

    def entries(self, tenant_id: TenantId, sequence_numbers: Iterable[int]) -> tuple[ProvenEntry, ...]:
        """The entries behind rows, in the order asked for; one that is gone is `store.damaged_record`."""
        ...

    def find(self, tenant_id: TenantId, sequence_number: int) -> VerdictRow | None: ...

    def of_telemetry(self, tenant_id: TenantId, telemetry_id: str) -> tuple[VerdictRow, ...]:
        """All of a record, held ones and what settled them, in the order of the ledger."""
        ...

    def of_rule(
        self, tenant_id: TenantId, rule_id: str, *, after: int = 0, before: int | None = None, limit: int
    ) -> tuple[VerdictRow, ...]:
        """What a rule came to between two entries, the newest first; without what settled a held verdict."""
        ...

    def find_by_ticket(self, tenant_id: TenantId, ticket_id: str) -> VerdictRow | None: ...

    def has_attestation(self, tenant_id: TenantId, attestation: str) -> bool: ...

    def held(self, tenant_id: TenantId, *, after: int = 0, limit: int = 100) -> tuple[VerdictRow, ...]:
        """Those that still wait for a person, the oldest first."""
        ...

    def page(
        self,
        tenant_id: TenantId,
        *,
        rule_id: str | None = None,
        subject: str | None = None,
        verdict: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        before: int | None = None,
        limit: int = 100,
        offset: int = 0,
        is_standing: bool = False,
    ) -> tuple[VerdictRow, ...]:
        """The newest first, before an entry's number; `since` and `until`, itself left out, are the record's own time.

        `verdict` asks for final ones: a held one is none, whatever its column shows. With `is_standing` a held one that
        was settled is left out, since what settled it stands in its place.
        `offset` passes over so many first: what is recorded meanwhile moves it, and each costs a row.
        """
        ...

    def all(self, tenant_id: TenantId, *, first: int = 1, last: int | None = None) -> Iterator[VerdictRow]:
        """In the order of the ledger, streamed."""
        ...

    def statuses(self, tenant_id: TenantId, limit: int) -> tuple[str, ...]:
        """What the verifier said of the latest verdicts that a model was asked for, the latest last."""
        ...

    def egress_notes(self) -> tuple[tuple[EgressNote, ...], ...]:
        """Of each tenant in the order of the ledger, of all tenants: what leaves a process leaves the whole node."""
        ...
