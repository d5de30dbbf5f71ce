"""Pages in SQL: one index walk each, from the newest entry down."""

from typing import TypeVar

from msgspec import Struct

from assay.adapters.sql.parts import marks
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
_LATEST_DECISION = (
    "(SELECT d.decision FROM claims_decision AS d WHERE d.bundle_hash = claims_bundle.bundle_hash"
    " AND d.tenant_id = claims_bundle.tenant_id ORDER BY d.position DESC LIMIT 1)"
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
        self,
        tenant_id: TenantId,
        *,
        submitted_by: PrincipalId | None = None,
        tier: str | None = None,
        bundle_id: str | None = None,
        decisions: tuple[str, ...] = (),
        before: int | None = None,
        limit: int,
    ) -> tuple[ReceivedBundle, ...]:
        chosen = {"bundle_id = ?": bundle_id, "submitted_by = ?": submitted_by, "tier = ?": tier}
        conditions = [sql for sql, value in chosen.items() if value is not None]
        given: list[object] = [value for value in chosen.values() if value is not None]
        if decisions:
            conditions.append(f"{_LATEST_DECISION} IN ({marks(decisions)})")
            given += decisions
        where = "".join(f"{one} AND " for one in conditions)
        return self._rows.all(
            ReceivedBundle,
            f"WHERE {where}tenant_id = ? AND sequence_number < ? ORDER BY sequence_number DESC LIMIT ?",
            (*given, tenant_id, _NEWEST if before is None else before, limit),
        )

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
