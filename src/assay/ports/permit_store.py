"""Permits and mandates in the database: a row for each step of a permit, a row for each use of a mandate."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.ids import KeyId, PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.permits.mandate import MandateId
from assay.permits.permit import Effect, PermitId
from assay.ports.claims_store import ReceivedBundle


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
    """`is_late` is 1 where the report came after its time; it then tells reviewers something, and decides nothing.

    `detail` is the commitment of what the tool said, as JSON; empty where it said nothing.
    """

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


class SignedMandate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`text` is the terms, `seats` whose approval it replaces, `signed_by` its signers: each as canonical JSON."""

    mandate_id: MandateId
    agent: PrincipalId
    tool: str
    text: str
    seats: str
    signed_by: str
    proposed_by: PrincipalId
    ticket_id: TicketId
    signed_at: Instant
    expires_at: Instant
    sequence_number: int


class UsedMandate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`position` counts the uses 1, 2, 3 …; `total` is what is used of the budget after this one."""

    mandate_id: MandateId
    position: int
    bundle_hash: Digest
    amount: str
    total: str
    used_at: Instant
    sequence_number: int


class EndedMandate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    mandate_id: MandateId
    by: PrincipalId
    reason: str
    ended_at: Instant
    sequence_number: int


class ReleasedGatewayTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`text` is the rows as canonical JSON; the signature is by the node's review key, over their hash."""

    version: int
    text: str
    key_id: KeyId
    signature: str
    by: PrincipalId
    released_at: Instant
    sequence_number: int


class ApprovedDefinition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another definition of a tool that may be called; it holds until the next table."""

    tool: str
    definition_hash: Digest
    by: PrincipalId
    reason: str
    approved_at: Instant
    sequence_number: int


class GatewayCall(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call that went through a gateway; `threat` is the guardians' highest score of its result.

    `is_withheld` is 1 where the agent was not given the result.
    """

    tool: str
    agent: PrincipalId
    definition_hash: Digest
    arguments_hash: Digest
    result_hash: Digest
    permit_id: PermitId | None
    threat: str
    is_withheld: int
    called_at: Instant
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

    def find_mandate(self, tenant_id: TenantId, mandate_id: MandateId) -> SignedMandate | None: ...

    def mandates_for(self, tenant_id: TenantId, agent: PrincipalId, *, after: Instant) -> tuple[SignedMandate, ...]:
        """Return the mandates of an agent that expire after this, the next to expire first."""
        ...

    def mandate_page(
        self, tenant_id: TenantId, *, before: int, limit: int, agent: PrincipalId | None = None
    ) -> tuple[SignedMandate, ...]:
        """Return mandates, newest first."""
        ...

    def last_use(self, tenant_id: TenantId, mandate_id: MandateId) -> UsedMandate | None: ...

    def uses(self, tenant_id: TenantId, mandate_id: MandateId, *, before: int, limit: int) -> tuple[UsedMandate, ...]:
        """Return uses with a position below `before`, newest first."""
        ...

    def find_end(self, tenant_id: TenantId, mandate_id: MandateId) -> EndedMandate | None: ...

    def mandate_logged(self, tenant_id: TenantId, mandate_id: MandateId) -> Mapping[str, int]:
        """Return by kind the number of the newest entry about a mandate by the ledger's own index."""
        ...

    def gateway_table(self, tenant_id: TenantId) -> ReleasedGatewayTable | None:
        """Return the table that was released last."""
        ...

    def definitions(self, tenant_id: TenantId, *, after: int) -> tuple[ApprovedDefinition, ...]:
        """Return the definitions approved after an entry, in order."""
        ...

    def gateway_calls(
        self, tenant_id: TenantId, *, before: int, limit: int, agent: PrincipalId | None = None
    ) -> tuple[GatewayCall, ...]:
        """Return calls, newest first."""
        ...

    def bundles_of(self, tenant_id: TenantId, agent: PrincipalId, *, since: Instant) -> Iterator[ReceivedBundle]:
        """Return the bundles that an agent sent since then, oldest first."""
        ...
