"""Acts, escalations, leases, held answers, drafts and views in SQL."""

from collections.abc import Iterable

from assay.adapters.sql.row import add_row, sortable, verify_row
from assay.adapters.sql.rows import Rows
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.ports.desk_store import HeldRow, PendingPower, SavedDraft, SavedView, StoredAct, StoredEscalation
from assay.review.lease import Lease

_OF_TICKET = " WHERE ticket_id = ? AND tenant_id = ?"
_ONE = " WHERE ticket_id = ? AND made_by = ? AND tenant_id = ?"


class SqlDeskStore:
    """Implements `ports.desk_store.DeskStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._session = rows.session

    def acts(self, tenant_id: TenantId, ticket_id: TicketId) -> tuple[StoredAct, ...]:
        return self._rows.all(StoredAct, f"{_OF_TICKET} ORDER BY sequence_number", (ticket_id, tenant_id))

    def escalations(self, tenant_id: TenantId, ticket_id: TicketId) -> tuple[StoredEscalation, ...]:
        return self._rows.all(StoredEscalation, f"{_OF_TICKET} ORDER BY sequence_number", (ticket_id, tenant_id))

    def acts_on(self, tenant_id: TenantId, ticket_ids: Iterable[TicketId]) -> tuple[StoredAct, ...]:
        return self._rows.among(StoredAct, "ticket_id", ticket_ids, tenant_id, "ORDER BY sequence_number")

    def escalations_on(self, tenant_id: TenantId, ticket_ids: Iterable[TicketId]) -> tuple[StoredEscalation, ...]:
        return self._rows.among(StoredEscalation, "ticket_id", ticket_ids, tenant_id, "ORDER BY sequence_number")

    def leases_on(self, tenant_id: TenantId, ticket_ids: Iterable[TicketId]) -> tuple[Lease, ...]:
        return self._rows.among(Lease, "ticket_id", ticket_ids, tenant_id, "ORDER BY made_by")

    def put_lease(self, tenant_id: TenantId, lease: Lease) -> None:
        verify_row(lease, "ticket_id", "by")
        self._session.run(
            "INSERT INTO desk_lease (tenant_id, ticket_id, made_by, claimed_at, expires_at) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (ticket_id, made_by, tenant_id) DO UPDATE"
            " SET claimed_at = excluded.claimed_at, expires_at = excluded.expires_at",
            (tenant_id, lease.ticket_id, lease.by, sortable(lease.claimed_at), sortable(lease.expires_at)),
        )

    def leases(self, tenant_id: TenantId, ticket_id: TicketId) -> tuple[Lease, ...]:
        return self._rows.all(Lease, f"{_OF_TICKET} ORDER BY made_by", (ticket_id, tenant_id))

    def leases_of(self, tenant_id: TenantId, people: Iterable[PrincipalId]) -> tuple[Lease, ...]:
        return self._rows.among(Lease, "made_by", people, tenant_id)

    def drop_lease(self, tenant_id: TenantId, ticket_id: TicketId, by: PrincipalId) -> None:
        self._session.run(f"DELETE FROM desk_lease{_ONE}", (ticket_id, by, tenant_id))  # noqa: S608 - our constants

    def hold(self, tenant_id: TenantId, held: HeldRow) -> None:
        verify_row(held, "ticket_id", "by")
        add_row(self._session, "desk_held", tenant_id, held, f"an answer of `{held.by}` to `{held.ticket_id}`")

    def find_held(self, tenant_id: TenantId, ticket_id: TicketId, by: PrincipalId) -> HeldRow | None:
        return self._rows.one(HeldRow, _ONE, (ticket_id, by, tenant_id))

    def held_of(self, tenant_id: TenantId, people: Iterable[PrincipalId]) -> tuple[HeldRow, ...]:
        return self._rows.among(HeldRow, "made_by", people, tenant_id)

    def held_until(self, tenant_id: TenantId, at: Instant) -> tuple[HeldRow, ...]:
        rest = "WHERE tenant_id = ? AND takes_effect_at <= ? ORDER BY takes_effect_at, ticket_id, made_by"
        return self._rows.all(HeldRow, rest, (tenant_id, sortable(at)))

    def drop_held(self, tenant_id: TenantId, ticket_id: TicketId, by: PrincipalId) -> None:
        self._session.run(f"DELETE FROM desk_held{_ONE}", (ticket_id, by, tenant_id))  # noqa: S608 - our constants

    def save_draft(self, tenant_id: TenantId, draft: SavedDraft) -> None:
        verify_row(draft, "ticket_id", "by")
        self._session.run(
            "INSERT INTO desk_draft (tenant_id, ticket_id, made_by, text, saved_at) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (ticket_id, made_by, tenant_id) DO UPDATE"
            " SET text = excluded.text, saved_at = excluded.saved_at",
            (tenant_id, draft.ticket_id, draft.by, draft.text, sortable(draft.saved_at)),
        )

    def find_draft(self, tenant_id: TenantId, ticket_id: TicketId, by: PrincipalId) -> SavedDraft | None:
        return self._rows.one(SavedDraft, _ONE, (ticket_id, by, tenant_id))

    def drop_draft(self, tenant_id: TenantId, ticket_id: TicketId, by: PrincipalId) -> None:
        self._session.run(f"DELETE FROM desk_draft{_ONE}", (ticket_id, by, tenant_id))  # noqa: S608 - our constants

    def add_pending(self, tenant_id: TenantId, pending: PendingPower) -> None:
        verify_row(pending, "ticket_id")
        add_row(self._session, "desk_pending", tenant_id, pending, f"the amendment of `{pending.ticket_id}`")

    def find_pending(self, tenant_id: TenantId, ticket_id: TicketId) -> PendingPower | None:
        return self._rows.one(PendingPower, _OF_TICKET, (ticket_id, tenant_id))

    def drop_pending(self, tenant_id: TenantId, ticket_id: TicketId) -> None:
        self._session.run(f"DELETE FROM desk_pending{_OF_TICKET}", (ticket_id, tenant_id))  # noqa: S608 - our constants

    def clear_ticket(self, tenant_id: TenantId, ticket_id: TicketId) -> None:
        for table in ("desk_lease", "desk_draft"):
            self._session.run(f"DELETE FROM {table}{_OF_TICKET}", (ticket_id, tenant_id))  # noqa: S608 - our constants

    def save_view(self, tenant_id: TenantId, view: SavedView) -> None:
        verify_row(view, "by", "name")
        self._session.run(
            "INSERT INTO desk_view (tenant_id, made_by, name, shared, text, saved_at) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (made_by, name, tenant_id) DO UPDATE"
            " SET shared = excluded.shared, text = excluded.text, saved_at = excluded.saved_at",
            (tenant_id, view.by, view.name, view.shared, view.text, sortable(view.saved_at)),
        )

    def find_view(self, tenant_id: TenantId, by: PrincipalId, name: str) -> SavedView | None:
        return self._rows.one(SavedView, "WHERE made_by = ? AND name = ? AND tenant_id = ?", (by, name, tenant_id))

    def views(self, tenant_id: TenantId, by: PrincipalId) -> tuple[SavedView, ...]:
        rest = "WHERE tenant_id = ? AND (made_by = ? OR shared = 1) ORDER BY name, made_by"
        return self._rows.all(SavedView, rest, (tenant_id, by))

    def drop_view(self, tenant_id: TenantId, by: PrincipalId, name: str) -> None:
        self._session.run(
            "DELETE FROM desk_view WHERE made_by = ? AND name = ? AND tenant_id = ?", (by, name, tenant_id)
        )
