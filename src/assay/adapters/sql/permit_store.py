"""Permits and mandates in SQL."""

from collections.abc import Iterable, Iterator, Mapping

from assay.adapters.sql.parts import in_parts, marks
from assay.adapters.sql.row import sortable
from assay.adapters.sql.rows import Rows
from assay.kernel.digest import Digest
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import EntryKind
from assay.permits.mandate import MandateId
from assay.permits.permit import PermitId
from assay.ports.claims_store import ReceivedBundle
from assay.ports.permit_store import (
    ApprovedDefinition,
    ClaimedPermit,
    EndedMandate,
    EndedPermit,
    GatewayCall,
    IssuedPermit,
    ReleasedGatewayTable,
    ReportedEffect,
    SignedMandate,
    UsedMandate,
)

_IN_ORDER = "ORDER BY sequence_number"
_OF_CLAIM = "permit_id = permit_claim.permit_id AND o.tenant_id = permit_claim.tenant_id"
# Neither reported nor ended; what is reported too late is in question from then on, by its own ticket.
_UNKNOWN = (
    f"NOT EXISTS (SELECT 1 FROM permit_report AS o WHERE o.{_OF_CLAIM})"  # noqa: S608 - our constants
    f" AND NOT EXISTS (SELECT 1 FROM permit_end AS o WHERE o.{_OF_CLAIM})"
)


class SqlPermitStore:
    """Implements `ports.permit_store.PermitStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def find(self, tenant_id: TenantId, permit_id: PermitId) -> IssuedPermit | None:
        return self._rows.one(IssuedPermit, "WHERE permit_id = ? AND tenant_id = ?", (permit_id, tenant_id))

    def of_bundle(self, tenant_id: TenantId, bundle_hash: Digest) -> tuple[IssuedPermit, ...]:
        rest = f"WHERE bundle_hash = ? AND tenant_id = ? {_IN_ORDER}"
        return self._rows.all(IssuedPermit, rest, (bundle_hash, tenant_id))

    def page(
        self, tenant_id: TenantId, *, before: int, limit: int, agent: PrincipalId | None = None
    ) -> tuple[IssuedPermit, ...]:
        of, given = ("", ()) if agent is None else ("agent = ? AND ", (agent,))
        rest = f"WHERE {of}tenant_id = ? AND sequence_number < ? {_IN_ORDER} DESC LIMIT ?"
        return self._rows.all(IssuedPermit, rest, (*given, tenant_id, before, limit))

    def claims(self, tenant_id: TenantId, permit_ids: Iterable[PermitId]) -> tuple[ClaimedPermit, ...]:
        return self._rows.among(ClaimedPermit, "permit_id", permit_ids, tenant_id)

    def reports(self, tenant_id: TenantId, permit_ids: Iterable[PermitId]) -> tuple[ReportedEffect, ...]:
        return self._rows.among(ReportedEffect, "permit_id", permit_ids, tenant_id, _IN_ORDER)

    def ends(self, tenant_id: TenantId, permit_ids: Iterable[PermitId]) -> tuple[EndedPermit, ...]:
        return self._rows.among(EndedPermit, "permit_id", permit_ids, tenant_id)

    def unreported(self, tenant_id: TenantId, at: Instant) -> tuple[ClaimedPermit, ...]:
        rest = f"WHERE tenant_id = ? AND report_due_at <= ? AND {_UNKNOWN} {_IN_ORDER}"
        return self._rows.all(ClaimedPermit, rest, (tenant_id, sortable(at)))

    def logged(self, tenant_id: TenantId, permit_ids: Iterable[PermitId]) -> tuple[int, ...]:
        found: list[int] = []
        for part in in_parts(permit_ids):
            sql = f"SELECT sequence_number FROM permit_logged WHERE permit_id IN ({marks(part)}) AND tenant_id = ?"  # noqa: S608 - marks
            found += (int(number) for (number,) in self._rows.session.query(sql, (*part, tenant_id)))
        return tuple(sorted(found))

    def logged_of_bundle(self, tenant_id: TenantId, bundle_hash: Digest) -> tuple[int, ...]:
        sql = f"SELECT sequence_number FROM permit_issued_logged WHERE bundle_hash = ? AND tenant_id = ? {_IN_ORDER}"  # noqa: S608 - ours
        return tuple(int(number) for (number,) in self._rows.session.query(sql, (bundle_hash, tenant_id)))

    def find_mandate(self, tenant_id: TenantId, mandate_id: MandateId) -> SignedMandate | None:
        return self._rows.one(SignedMandate, "WHERE mandate_id = ? AND tenant_id = ?", (mandate_id, tenant_id))

    def mandates_for(self, tenant_id: TenantId, agent: PrincipalId, *, after: Instant) -> tuple[SignedMandate, ...]:
        rest = "WHERE agent = ? AND tenant_id = ? AND expires_at > ? ORDER BY expires_at, sequence_number"
        return self._rows.all(SignedMandate, rest, (agent, tenant_id, sortable(after)))

    def mandate_page(
        self, tenant_id: TenantId, *, before: int, limit: int, agent: PrincipalId | None = None
    ) -> tuple[SignedMandate, ...]:
        of, given = ("", ()) if agent is None else ("agent = ? AND ", (agent,))
        rest = f"WHERE {of}tenant_id = ? AND sequence_number < ? {_IN_ORDER} DESC LIMIT ?"
        return self._rows.all(SignedMandate, rest, (*given, tenant_id, before, limit))

    def last_use(self, tenant_id: TenantId, mandate_id: MandateId) -> UsedMandate | None:
        rest = "WHERE mandate_id = ? AND tenant_id = ? ORDER BY position DESC LIMIT 1"
        return self._rows.one(UsedMandate, rest, (mandate_id, tenant_id))

    def uses(self, tenant_id: TenantId, mandate_id: MandateId, *, before: int, limit: int) -> tuple[UsedMandate, ...]:
        rest = "WHERE mandate_id = ? AND tenant_id = ? AND position < ? ORDER BY position DESC LIMIT ?"
        return self._rows.all(UsedMandate, rest, (mandate_id, tenant_id, before, limit))

    def find_end(self, tenant_id: TenantId, mandate_id: MandateId) -> EndedMandate | None:
        return self._rows.one(EndedMandate, "WHERE mandate_id = ? AND tenant_id = ?", (mandate_id, tenant_id))

    def mandate_logged(self, tenant_id: TenantId, mandate_id: MandateId) -> Mapping[str, int]:
        of = "mandate_id = ? AND tenant_id = ? AND kind = ?"
        sql = f"SELECT sequence_number FROM mandate_logged WHERE {of} {_IN_ORDER} DESC LIMIT 1"  # noqa: S608 - ours
        found: dict[str, int] = {}
        for kind in (EntryKind.MANDATE_SIGNED, EntryKind.MANDATE_USED, EntryKind.MANDATE_ENDED):
            rows = self._rows.session.query(sql, (mandate_id, tenant_id, kind.value))
            if rows:
                found[kind.value] = int(rows[0][0])
        return found

    def gateway_table(self, tenant_id: TenantId) -> ReleasedGatewayTable | None:
        rest = "WHERE tenant_id = ? ORDER BY version DESC LIMIT 1"
        return self._rows.one(ReleasedGatewayTable, rest, (tenant_id,))

    def definitions(self, tenant_id: TenantId, *, after: int) -> tuple[ApprovedDefinition, ...]:
        rest = f"WHERE tenant_id = ? AND sequence_number > ? {_IN_ORDER}"
        return self._rows.all(ApprovedDefinition, rest, (tenant_id, after))

    def gateway_calls(
        self, tenant_id: TenantId, *, before: int, limit: int, agent: PrincipalId | None = None
    ) -> tuple[GatewayCall, ...]:
        of, given = ("", ()) if agent is None else ("agent = ? AND ", (agent,))
        rest = f"WHERE {of}tenant_id = ? AND sequence_number < ? {_IN_ORDER} DESC LIMIT ?"
        return self._rows.all(GatewayCall, rest, (*given, tenant_id, before, limit))

    def bundles_of(self, tenant_id: TenantId, agent: PrincipalId, *, since: Instant) -> Iterator[ReceivedBundle]:
        rest = f"WHERE submitted_by = ? AND tenant_id = ? AND received_at > ? {_IN_ORDER}"
        return self._rows.stream(ReceivedBundle, rest, (agent, tenant_id, sortable(since)))
