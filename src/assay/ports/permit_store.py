"""Permits in the database: one row when issued, one when claimed, one for each report, one when ended by people."""

from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.permits.permit import Effect, PermitId


class IssuedPermit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`text` is the statement as canonical JSON, `key_id` the key that signed both of its forms."""

    permit_id: PermitId
    bundle_hash: Digest
    agent: PrincipalId
    text: str
    key_id: str
    expires_at: Instant
    sequence_number: int


class ClaimedPermit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    permit_id: PermitId
    claimed_by: PrincipalId
    claimed_at: Instant
    report_due_at: Instant
    sequence_number: int


class ReportedEffect(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`is_late` is 1 where the report came after its time; it then tells reviewers something, and decides nothing."""

    permit_id: PermitId
    effect: Effect
    result_hash: Digest | None
    detail: str
    reported_at: Instant
    is_late: int
    sequence_number: int


class EndedPermit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`how` is `revoked`, `happened` or `did_not_happen`; the last two are a reviewer's, by the ticket."""

    permit_id: PermitId
    how: str
    by: PrincipalId
    reason: str
    ticket_id: TicketId | None
    ended_at: Instant
    sequence_number: int


class PermitStore(Protocol):
    """Rows about permits, compared with their entries; the ledger's own index says which there must be."""

    def find(self, tenant_id: TenantId, permit_id: PermitId) -> IssuedPermit | None: ...

    def of_bundle(self, tenant_id: TenantId, bundle_hash: Digest) -> tuple[IssuedPermit, ...]:
        """Return every permit of a bundle, oldest first."""
        ...

    def page(
        self, tenant_id: TenantId, *, before: int, limit: int, agent: PrincipalId | None = None
    ) -> tuple[IssuedPermit, ...]:
        """Return permits, newest first."""
        ...

    def claims(self, tenant_id: TenantId, permit_ids: Iterable[PermitId]) -> tuple[ClaimedPermit, ...]: ...

    def reports(self, tenant_id: TenantId, permit_ids: Iterable[PermitId]) -> tuple[ReportedEffect, ...]: ...

    def ends(self, tenant_id: TenantId, permit_ids: Iterable[PermitId]) -> tuple[EndedPermit, ...]: ...

    def unreported(self, tenant_id: TenantId, at: Instant) -> tuple[ClaimedPermit, ...]:
        """Return claims whose report is overdue and that nobody has reconciled."""
        ...

    def logged(self, tenant_id: TenantId, permit_ids: Iterable[PermitId]) -> tuple[int, ...]:
        """Return the numbers of the entries about these permits by the ledger's own index, in order."""
        ...

    def logged_of_bundle(self, tenant_id: TenantId, bundle_hash: Digest) -> tuple[int, ...]:
        """Return the numbers of the `permit.issued` entries of a bundle by the ledger's own index."""
        ...
