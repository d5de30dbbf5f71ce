"""Pages in SQL: one index walk each, from the newest entry down."""

from typing import TypeVar

from msgspec import Struct

from assay.adapters.sql.row import columns_of, read_row
from assay.adapters.sql.session import SqlSession
from assay.kernel.ids import PrincipalId, TenantId
from assay.ports.claims_store import ReceivedBundle
from assay.ports.delivery_store import DeliveredAnswer, OpenedItem, StoredSignal

T = TypeVar("T", bound=Struct)
# An entry's number is a JSON integer, and this is beyond all of them.
_NEWEST = 2**53
_NOT_CONCLUDED = (
    " AND NOT EXISTS (SELECT 1 FROM root_cause_conclusion AS done"
    " WHERE done.item_id = one.item_id AND done.tenant_id = one.tenant_id)"
)


class SqlPageStore:
    """Implements `ports.page_store.PageStore`."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    def answers(
        self, tenant_id: TenantId, *, asked_by: PrincipalId | None = None, before: int | None = None, limit: int
    ) -> tuple[DeliveredAnswer, ...]:
        return self._page(DeliveredAnswer, "delivered_answer", tenant_id, ("asked_by", asked_by), before, limit)

    def outcomes(
        self, tenant_id: TenantId, *, answer_id: str | None = None, before: int | None = None, limit: int
    ) -> tuple[StoredSignal, ...]:
        return self._page(StoredSignal, "outcome_signal", tenant_id, ("answer_id", answer_id), before, limit)

    def bundles(
        self, tenant_id: TenantId, *, submitted_by: PrincipalId | None = None, before: int | None = None, limit: int
    ) -> tuple[ReceivedBundle, ...]:
        return self._page(ReceivedBundle, "claims_bundle", tenant_id, ("submitted_by", submitted_by), before, limit)

    def root_causes(
        self, tenant_id: TenantId, *, open_only: bool = False, before: int | None = None, limit: int
    ) -> tuple[OpenedItem, ...]:
        rows = self._session.query(
            f"SELECT {', '.join(columns_of(OpenedItem))} FROM root_cause AS one"  # noqa: S608 - our constants
            f" WHERE tenant_id = ? AND sequence_number < ?{_NOT_CONCLUDED if open_only else ''}"
            " ORDER BY sequence_number DESC LIMIT ?",
            (tenant_id, _NEWEST if before is None else before, limit),
        )
        return tuple(read_row(row, OpenedItem) for row in rows)

    def _page(
        self,
        kind: type[T],
        table: str,
        tenant_id: TenantId,
        of: tuple[str, str | None],
        before: int | None,
        limit: int,
    ) -> tuple[T, ...]:
        column, wanted = of
        chosen = "" if wanted is None else f"{column} = ? AND "
        rows = self._session.query(
            f"SELECT {', '.join(columns_of(kind))} FROM {table}"  # noqa: S608 - our constants
            f" WHERE {chosen}tenant_id = ? AND sequence_number < ? ORDER BY sequence_number DESC LIMIT ?",
            (*(() if wanted is None else (wanted,)), tenant_id, _NEWEST if before is None else before, limit),
        )
        return tuple(read_row(row, kind) for row in rows)
