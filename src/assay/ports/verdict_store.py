"""Verdicts by what people ask for: telemetry, rule, subject, time, held or final; and counts beside them.

The rows only make entries of the ledger quick to find; coverage and stability are counts that follow from them.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant


class VerdictRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One verdict entry. `held_entry` is the number of the entry that a final one settles, `ticket_id` the question
    that a held one waits for, `attestation` the signature of the token that was used.
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


class CoveredSubject(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of the Coverage Register; `text` is the JSON of a `CoverageEntry`."""

    subject: str
    text: str


class StableRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often in a row a rule came to the same assertions."""

    rule_id: str
    pattern: Digest
    count: int


class EgressNote(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """So many attempts to leave the perimeter at once; none at all says that a person looked into those before."""

    sequence_number: int
    attempts: int
    noted_at: Instant


class VerdictStore(Protocol):
    """Rows of verdicts are added and never changed; a second settlement, or a token used twice, is a conflict."""

    def add(self, tenant_id: TenantId, row: VerdictRow) -> None: ...

    def add_many(self, tenant_id: TenantId, rows: Sequence[VerdictRow]) -> None:
        """The same of many at once; where one is refused, the unit of work is over."""
        ...

    def find(self, tenant_id: TenantId, sequence_number: int) -> VerdictRow | None: ...

    def of_telemetry(self, tenant_id: TenantId, telemetry_id: str) -> tuple[VerdictRow, ...]:
        """All of a record, held ones and what settled them, in the order of the ledger."""
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

    def put_coverage(self, tenant_id: TenantId, covered: CoveredSubject) -> None: ...

    def find_coverage(self, tenant_id: TenantId, subject: str) -> CoveredSubject | None: ...

    def coverage(self, tenant_id: TenantId) -> tuple[CoveredSubject, ...]:
        """The coverage register, sorted by subject."""
        ...

    def put_stability(self, tenant_id: TenantId, stability: StableRule) -> None: ...

    def find_stability(self, tenant_id: TenantId, rule_id: str) -> StableRule | None: ...

    def stabilities(self, tenant_id: TenantId) -> tuple[StableRule, ...]:
        """The stability of every rule that has one, sorted by rule."""
        ...

    def add_egress(self, tenant_id: TenantId, note: EgressNote) -> None: ...

    def egress_notes(self, tenant_id: TenantId) -> tuple[EgressNote, ...]:
        """In the order of the ledger."""
        ...

    def egress_total(self) -> int:
        """All attempts that were ever noted, of every tenant: what leaves a process leaves the whole node."""
        ...

    def has_open_egress(self) -> bool:
        """Whether a tenant has attempts that nobody looked into since."""
        ...
