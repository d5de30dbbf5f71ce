"""Acts, escalations, leases, held answers, drafts and views in SQL."""

from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct

from assay.adapters.sql.parts import in_parts, marks
from assay.adapters.sql.row import add_row, columns_of, read_row, sortable, verify_row
from assay.adapters.sql.session import SqlSession
from assay.kernel.ids import PrincipalId, TenantId, TicketId
from assay.kernel.instant import Instant
from assay.ports.desk_store import HeldRow, SavedDraft, SavedView, StoredAct, StoredEscalation
from assay.review.lease import Lease

T = TypeVar("T", bound=Struct)


def _select(kind: type[Struct], table: str) -> str:
    return f"SELECT {', '.join(columns_of(kind))} FROM {table}"  # noqa: S608 - our constants


_ACT = _select(StoredAct, "desk_act")
_ESCALATION = _select(StoredEscalation, "desk_escalation")
_LEASE = _select(Lease, "desk_lease")
_HELD = _select(HeldRow, "desk_held")
_DRAFT = _select(SavedDraft, "desk_draft")
_VIEW = _select(SavedView, "desk_view")
_OF_TICKET = " WHERE ticket_id = ? AND tenant_id = ?"
_ONE = " WHERE ticket_id = ? AND made_by = ? AND tenant_id = ?"


class SqlDeskStore:
    """Implements `ports.desk_store.DeskStore`."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    def add_act(self, tenant_id: TenantId, act: StoredAct) -> None:
        verify_row(act, "ticket_id", "by")
        add_row(self._session, "desk_act", tenant_id, act, f"the act of entry {act.sequence_number}")

    def acts(self, tenant_id: TenantId, ticket_id: TicketId) -> tuple[StoredAct, ...]:
        return self._all(f"{_ACT}{_OF_TICKET} ORDER BY sequence_number", (ticket_id, tenant_id), StoredAct)

    def add_escalation(self, tenant_id: TenantId, escalation: StoredEscalation) -> None:
        verify_row(escalation, "ticket_id")
        what = f"the escalation `{escalation.stage}` of `{escalation.ticket_id}`"
        add_row(self._session, "desk_escalation", tenant_id, escalation, what)

    def escalations(self, tenant_id: TenantId, ticket_id: TicketId) -> tuple[StoredEscalation, ...]:
        sql = f"{_ESCALATION}{_OF_TICKET} ORDER BY sequence_number"
        return self._all(sql, (ticket_id, tenant_id), StoredEscalation)

    def acts_on(self, tenant_id: TenantId, ticket_ids: Iterable[TicketId]) -> tuple[StoredAct, ...]:
        return self._on(_ACT, tenant_id, ticket_ids, "sequence_number", StoredAct)

    def escalations_on(self, tenant_id: TenantId, ticket_ids: Iterable[TicketId]) -> tuple[StoredEscalation, ...]:
        return self._on(_ESCALATION, tenant_id, ticket_ids, "sequence_number", StoredEscalation)

    def leases_on(self, tenant_id: TenantId, ticket_ids: Iterable[TicketId]) -> tuple[Lease, ...]:
        return self._on(_LEASE, tenant_id, ticket_ids, "made_by", Lease)

    def put_lease(self, tenant_id: TenantId, lease: Lease) -> None:
        verify_row(lease, "ticket_id", "by")
        self._session.run(
            "INSERT INTO desk_lease (tenant_id, ticket_id, made_by, claimed_at, expires_at) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (ticket_id, made_by, tenant_id) DO UPDATE"
            " SET claimed_at = excluded.claimed_at, expires_at = excluded.expires_at",
            (tenant_id, lease.ticket_id, lease.by, sortable(lease.claimed_at), sortable(lease.expires_at)),
        )

    def leases(self, tenant_id: TenantId, ticket_id: TicketId) -> tuple[Lease, ...]:
        return self._all(f"{_LEASE}{_OF_TICKET} ORDER BY made_by", (ticket_id, tenant_id), Lease)

    def leases_of(self, tenant_id: TenantId, people: Iterable[PrincipalId]) -> tuple[Lease, ...]:
        return self._of(_LEASE, tenant_id, people, Lease)

    def drop_lease(self, tenant_id: TenantId, ticket_id: TicketId, by: PrincipalId) -> None:
        self._session.run(f"DELETE FROM desk_lease{_ONE}", (ticket_id, by, tenant_id))  # noqa: S608 - our constants

    def hold(self, tenant_id: TenantId, held: HeldRow) -> None:
        verify_row(held, "ticket_id", "by")
        add_row(self._session, "desk_held", tenant_id, held, f"an answer of `{held.by}` to `{held.ticket_id}`")

    def find_held(self, tenant_id: TenantId, ticket_id: TicketId, by: PrincipalId) -> HeldRow | None:
        return self._find(f"{_HELD}{_ONE}", (ticket_id, by, tenant_id), HeldRow)

    def held_of(self, tenant_id: TenantId, people: Iterable[PrincipalId]) -> tuple[HeldRow, ...]:
        return self._of(_HELD, tenant_id, people, HeldRow)

    def held_until(self, tenant_id: TenantId, at: Instant) -> tuple[HeldRow, ...]:
        sql = f"{_HELD} WHERE tenant_id = ? AND takes_effect_at <= ? ORDER BY takes_effect_at, ticket_id, made_by"
        return self._all(sql, (tenant_id, sortable(at)), HeldRow)

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
        return self._find(f"{_DRAFT}{_ONE}", (ticket_id, by, tenant_id), SavedDraft)

    def drop_draft(self, tenant_id: TenantId, ticket_id: TicketId, by: PrincipalId) -> None:
        self._session.run(f"DELETE FROM desk_draft{_ONE}", (ticket_id, by, tenant_id))  # noqa: S608 - our constants

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
        return self._find(f"{_VIEW} WHERE made_by = ? AND name = ? AND tenant_id = ?", (by, name, tenant_id), SavedView)

    def views(self, tenant_id: TenantId, by: PrincipalId) -> tuple[SavedView, ...]:
        sql = f"{_VIEW} WHERE tenant_id = ? AND (made_by = ? OR shared = 1) ORDER BY name, made_by"
        return self._all(sql, (tenant_id, by), SavedView)

    def drop_view(self, tenant_id: TenantId, by: PrincipalId, name: str) -> None:
        self._session.run(
            "DELETE FROM desk_view WHERE made_by = ? AND name = ? AND tenant_id = ?", (by, name, tenant_id)
        )

    def _on(
        self, select: str, tenant_id: TenantId, ticket_ids: Iterable[TicketId], order: str, kind: type[T]
    ) -> tuple[T, ...]:
        found: list[T] = []
        for part in in_parts(ticket_ids):
            sql = f"{select} WHERE ticket_id IN ({marks(part)}) AND tenant_id = ? ORDER BY {order}"
            found += self._all(sql, (*part, tenant_id), kind)
        return tuple(found)

    def _of(self, select: str, tenant_id: TenantId, people: Iterable[PrincipalId], kind: type[T]) -> tuple[T, ...]:
        found: list[T] = []
        for part in in_parts(people):
            found += self._all(f"{select} WHERE made_by IN ({marks(part)}) AND tenant_id = ?", (*part, tenant_id), kind)
        return tuple(found)

    def _all(self, sql: str, parameters: tuple[object, ...], kind: type[T]) -> tuple[T, ...]:
        return tuple(read_row(row, kind) for row in self._session.query(sql, parameters))

    def _find(self, sql: str, parameters: tuple[object, ...], kind: type[T]) -> T | None:
        rows = self._session.query(sql, parameters)
        return read_row(rows[0], kind) if rows else None
