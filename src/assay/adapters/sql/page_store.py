"""Pages in SQL: one index walk each, from the newest entry down."""

from typing import TypeVar

from msgspec import Struct

from assay.adapters.sql.rows import Rows
from assay.kernel.ids import PrincipalId, TenantId
from assay.ports.claims_store import ReceivedBundle
from assay.ports.delivery_store import DeliveredAnswer, OpenedItem, StoredSignal

T = TypeVar("T", bound=Struct)
# An entry's number is a JSON integer, and this is beyond all of them.
_NEWEST = 2**53
_NOT_CONCLUDED = (
    " AND NOT EXISTS (SELECT 1 FROM root_cause_conclusion AS done"
    " WHERE done.item_id = root_cause.item_id AND done.tenant_id = root_cause.tenant_id)"
)


class SqlPageStore:
    """Implements `ports.page_store.PageStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def answers(
        self, tenant_id: TenantId, *, asked_by: PrincipalId | None = None, before: int | None = None, limit: int
    ) -> tuple[DeliveredAnswer, ...]:
        return self._page(DeliveredAnswer, tenant_id, ("asked_by", asked_by), before, limit)

    def outcomes(
        self, tenant_id: TenantId, *, answer_id: str | None = None, before: int | None = None, limit: int
    ) -> tuple[StoredSignal, ...]:
        return self._page(StoredSignal, tenant_id, ("answer_id", answer_id), before, limit)

    def bundles(
        self, tenant_id: TenantId, *, submitted_by: PrincipalId | None = None, before: int | None = None, limit: int
    ) -> tuple[ReceivedBundle, ...]:
        return self._page(ReceivedBundle, tenant_id, ("submitted_by", submitted_by), before, limit)

    def root_causes(
        self, tenant_id: TenantId, *, open_only: bool = False, before: int | None = None, limit: int
    ) -> tuple[OpenedItem, ...]:
        rest = f"WHERE tenant_id = ? AND sequence_number < ?{_NOT_CONCLUDED if open_only else ''}"
        values = (tenant_id, _NEWEST if before is None else before, limit)
        return self._rows.all(OpenedItem, f"{rest} ORDER BY sequence_number DESC LIMIT ?", values)

    def _page(
        self,
        kind: type[T],
        tenant_id: TenantId,
        of: tuple[str, str | None],
        before: int | None,
        limit: int,
    ) -> tuple[T, ...]:
        column, wanted = of
        chosen = "" if wanted is None else f"{column} = ? AND "
        values = (*(() if wanted is None else (wanted,)), tenant_id, _NEWEST if before is None else before, limit)
        rest = f"WHERE {chosen}tenant_id = ? AND sequence_number < ? ORDER BY sequence_number DESC LIMIT ?"
        return self._rows.all(kind, rest, values)
